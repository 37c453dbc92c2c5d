"""What the deployer does next: the decision core, without input or output (IPITT §IV-C).

Step by step, the actions of a step at once as far as they share no link and the budget allows. Like the
agent's it compares what the journal says with what has been reported, and keeps nothing: a deployer that
takes over goes on where the last one was. Every transaction it asks for happens only while it holds the
lease, and only if what it was based on has not changed.

| the action is | and | then |
|---|---|---|
| pending | nothing in its way | preparing: the brokers that take part are commanded |
| committed | all of them report done | the topology has changed; the next change of the action, or done |
| aborted | all of them report so | pending again, or after too many attempts the run has failed |

A run that has failed, or is to be stopped, begins nothing new and ends when nothing is under way.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import msgspec

from regraft.coord import Record
from regraft.coord.layout import Layout
from regraft.deploy.changes import apply, concerned
from regraft.deploy.records import (
    ABORTED,
    COMMITTED,
    DONE,
    FAILED,
    PAUSE,
    PENDING,
    PREPARING,
    REFUSED,
    RUN,
    RUNNING,
    STOPPED,
    Command,
    Current,
    Doing,
    Run,
    Status,
)

R = TypeVar("R", bound=Record)


class Known(NamedTuple, Generic[R]):
    """A record as it was read; version −1: there is none yet."""

    value: R
    version: int


class Put(NamedTuple):
    """Write the record if the node still has this version (−1: if there is none)."""

    path: str
    record: Record
    version: int


class Same(NamedTuple):
    """Only if the node still has this version."""

    path: str
    version: int


TOGETHER = 100
"""Actions that end in one transaction, which ZooKeeper wants below 1 MiB."""
Transaction = list[Put | Same]
"""All or nothing."""


@dataclass
class View:
    """What the deployer sees at one moment; any of it may be old."""

    run: Known[Run]
    topology: Known[Current]
    actions: Mapping[str, Known[Doing]]
    """Those of the step under way, by their nodes."""
    commands: Mapping[str, Known[Command]]
    statuses: Mapping[str, Status]
    queues: Mapping[str, int] = field(default_factory=dict)
    """Bytes held by each broker."""


@dataclass(frozen=True)
class Budget:
    """When to begin nothing new for a while."""

    queue_bytes: int = 0
    """Some broker that would take part holds more; 0: no limit."""


class Deployer:
    def __init__(self, layout: Layout, budget: Budget = Budget()) -> None:  # noqa: B008 — a frozen value
        self.layout = layout
        self.budget = budget

    def next(self, view: View, now: float) -> list[Transaction]:
        """Transactions that can be done now, each for itself; ask again when something has changed."""
        run = view.run.value
        if run.state != RUNNING:
            return []
        if ended := self._end(view, now):
            return [ended]
        states = [known.value.state for known in view.actions.values()]
        if all(state == DONE for state in states):
            return [[Put(self.layout.plan, _next_step(run), view.run.version)]]
        at_rest = all(state in (DONE, PENDING) for state in states)
        if at_rest and (run.reason or run.wanted not in (RUN, PAUSE)):
            state = FAILED if run.reason else STOPPED
            still = [Same(path, known.version) for path, known in sorted(view.actions.items())]
            return [[Put(self.layout.plan, _with(run, state=state), view.run.version), *still]]
        if run.reason or run.wanted != RUN:
            return []
        return self._begin(view, now)

    # Beginning

    def _begin(self, view: View, now: float) -> list[Transaction]:
        run = view.run.value
        under_way = [each.value for each in view.actions.values() if each.value.state not in (DONE, PENDING)]
        taken = {link for doing in under_way for link in concerned(doing.changes[doing.at])}
        busy = Counter(broker for doing in under_way for broker in doing.change.brokers)
        commands = dict(view.commands)
        begun: Transaction = []
        count = len(under_way)
        for path, (doing, version) in sorted(view.actions.items()):
            change = doing.changes[doing.at]
            if doing.state != PENDING or taken & concerned(change) or self._held_up(change[1:], view):
                continue
            if (run.at_once and count >= run.at_once) or self._too_busy(run, busy, change[1:]):
                continue
            taken |= concerned(change)
            busy.update(change[1:])
            count += 1
            preparing = doing.next(state=PREPARING, begun=doing.begun or now)
            begun.append(Put(path, preparing, version))
            self._command(path, change[1:], commands, preparing)
        if not begun:
            return []
        # Not if the run was stopped or goes on to another step meanwhile.
        return [[*begun, Same(self.layout.plan, view.run.version), *self._changed(commands, view.commands)]]

    def _too_busy(self, run: Run, busy: Counter[str], brokers: Sequence[str]) -> bool:
        return bool(run.per_broker) and any(busy[each] >= run.per_broker for each in brokers)

    def _held_up(self, brokers: Sequence[str], view: View) -> bool:
        limit = self.budget.queue_bytes
        return bool(limit) and any(view.queues.get(each, 0) > limit for each in brokers)

    # Ending

    def _end(self, view: View, now: float) -> Transaction:
        """All that is over, at once; with the last action of a step, the next step."""
        run, current = view.run.value, view.topology.value
        commands = dict(view.commands)
        ended: dict[str, Doing] = {}
        for path, (doing, _) in sorted(view.actions.items()):
            if len(ended) == TOGETHER or not _all_through(doing, view.statuses):
                continue
            self._command(path, doing.change.brokers, commands, None)
            if doing.state == COMMITTED:
                ended[path], current = _succeeded(doing, now), _moved_on(doing, current)
                continue
            ended[path] = doing.next(state=PENDING, attempt=doing.attempt + 1)
            if doing.attempt >= run.attempts and not run.reason:
                run = _with(run, reason=f"{doing.change} in step {run.step}: {doing.reason}")
        if not ended:
            return []
        after = [ended.get(path, known.value) for path, known in view.actions.items()]
        if all(doing.state == DONE for doing in after):
            run = _next_step(run)
        puts: Transaction = [Put(path, doing, view.actions[path].version) for path, doing in ended.items()]
        if current is not view.topology.value:
            puts.append(Put(self.layout.topology, current, view.topology.version))
        if run is not view.run.value:
            puts.append(Put(self.layout.plan, run, view.run.version))
        return [*puts, *self._changed(commands, view.commands)]

    # Commands

    def _command(
        self, path: str, brokers: Iterable[str], commands: dict[str, Known[Command]], doing: Doing | None
    ) -> None:
        """The brokers take part in what is being done, or (None) not any more."""
        for name in brokers:
            command, version = commands.get(name, Known(Command(), -1))
            actions = tuple(each for each in command.actions if each != path)
            begun = {each: other for each, other in command.begun.items() if each in actions}
            if doing is not None:
                actions, begun = (*actions, path), begun | {path: doing}
            commands[name] = Known(Command(actions=actions, begun=begun), version)

    def _changed(
        self, commands: Mapping[str, Known[Command]], before: Mapping[str, Known[Command]]
    ) -> list[Put]:
        return [
            Put(self.layout.command(name), known.value, known.version)
            for name, known in sorted(commands.items())
            if before.get(name) != known
        ]


def _all_through(doing: Doing, statuses: Mapping[str, Status]) -> bool:
    if doing.state not in (COMMITTED, ABORTED):
        return False
    through = (DONE,) if doing.state == COMMITTED else (ABORTED, REFUSED)
    id = doing.change.id
    return all(statuses.get(name, Status()).stage(id) in through for name in doing.change.brokers)


def _moved_on(doing: Doing, current: Current) -> Current:
    brokers, links = apply(doing.changes[doing.at], current.brokers, current.links)
    return _with(current, epoch=current.epoch + 1, brokers=brokers, links=links)


def _next_step(run: Run) -> Run:
    return _with(run, state=DONE) if run.step >= len(run.steps) else _with(run, step=run.step + 1)


def _succeeded(doing: Doing, now: float) -> Doing:
    if doing.at + 1 < len(doing.changes):
        return doing.next(state=PENDING, at=doing.at + 1, attempt=1, reason="")
    return doing.next(state=DONE, reason="", ended=now)


def _with(record: R, **fields: object) -> R:
    return msgspec.structs.replace(record, **fields)
