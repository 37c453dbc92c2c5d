"""What the deployer does next: the decision core, without input or output (IPITT §IV-C).

It proceeds step by step. The actions of a step begin together, as far as they share no link and the budget
allows. Like the agent's core it compares what the journal says with what has been reported, and keeps
nothing: a deployer that takes over continues where the last one was. Every transaction that it returns
happens only while the deployer holds the lease, and only if what it was based on has not changed.

| the action is | and | then |
|---|---|---|
| pending | nothing prevents it | preparing: the brokers that take part are commanded |
| committed | all of them report done | the topology has changed; the next change of the action, or done |
| aborted | all of them report so | pending again, or after too many attempts the run has failed |

A run that has failed, or is to be stopped, begins nothing new and ends when nothing is under way. The states
of actions and runs, and what may follow what, are in `states`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import msgspec

from regraft.coord import Record
from regraft.coord.layout import Layout
from regraft.deploy.records import Command, Current, Doing, Run, Status
from regraft.deploy.states import ActionState, Reported, RunOrder, RunState
from regraft.model.changes import apply, concerned

R = TypeVar("R", bound=Record)


class KnownRecord(NamedTuple, Generic[R]):
    """A record as it was read. Version −1: the node does not exist yet."""

    value: R
    version: int


class Put(NamedTuple):
    """Write the record if the node still has this version (−1: if it does not exist)."""

    path: str
    record: Record
    version: int


class Same(NamedTuple):
    """The transaction holds only if the node still has this version."""

    path: str
    version: int


TOGETHER = 100
"""How many actions may end in one transaction, because ZooKeeper limits it to 1 MiB."""
Transaction = list[Put | Same]
"""It is written as a whole or not at all."""


@dataclass
class RunView:
    """What the deployer sees at one moment; any of it may be out of date."""

    run: KnownRecord[Run]
    topology: KnownRecord[Current]
    actions: Mapping[str, KnownRecord[Doing]]
    """The actions of the step under way, by their nodes."""
    commands: Mapping[str, KnownRecord[Command]]
    statuses: Mapping[str, Status]
    queues: Mapping[str, int] = field(default_factory=dict)
    """How many bytes each broker holds."""


@dataclass(frozen=True)
class Budget:
    """The limit above which no change begins."""

    queue_bytes: int = 0
    """No change begins while a broker that takes part in it holds more; 0: no limit."""


class Deployer:
    def __init__(self, layout: Layout, budget: Budget = Budget()) -> None:  # noqa: B008 — a frozen value
        self.layout = layout
        self.budget = budget

    def next(self, view: RunView, now: float) -> list[Transaction]:
        """Transactions to write now, independent of each other. Ask again after any change."""
        run = view.run.value
        if run.state != RunState.RUNNING:
            return []
        if ended := self._end(view, now):
            return [ended]
        states = [known.value.state for known in view.actions.values()]
        if all(state == ActionState.DONE for state in states):
            return [[Put(self.layout.plan, _next_step(run), view.run.version)]]
        at_rest = all(state in (ActionState.DONE, ActionState.PENDING) for state in states)
        if at_rest and (run.reason or run.wanted not in (RunOrder.RUN, RunOrder.PAUSE)):
            state = RunState.FAILED if run.reason else RunState.STOPPED
            still = [Same(path, known.version) for path, known in sorted(view.actions.items())]
            return [[Put(self.layout.plan, run.become(state), view.run.version), *still]]
        if run.reason or run.wanted != RunOrder.RUN:
            return []
        return self._begin(view, now)

    # Beginning

    def _begin(self, view: RunView, now: float) -> list[Transaction]:
        run = view.run.value
        under_way = [
            each.value
            for each in view.actions.values()
            if each.value.state not in (ActionState.DONE, ActionState.PENDING)
        ]
        taken = {link for doing in under_way for link in concerned(doing.changes[doing.at])}
        busy = Counter(broker for doing in under_way for broker in doing.change.brokers)
        commands = dict(view.commands)
        begun: Transaction = []
        count = len(under_way)
        for path, (doing, version) in sorted(view.actions.items()):
            change = doing.changes[doing.at]
            if (
                doing.state != ActionState.PENDING
                or taken & concerned(change)
                or self._held_up(change[1:], view)
            ):
                continue
            if (run.at_once and count >= run.at_once) or self._too_busy(run, busy, change[1:]):
                continue
            taken |= concerned(change)
            busy.update(change[1:])
            count += 1
            preparing = doing.become(ActionState.PREPARING, begun=doing.begun or now)
            begun.append(Put(path, preparing, version))
            self._command(path, change[1:], commands, preparing)
        if not begun:
            return []
        # `Same`: not if the run was stopped, or has entered another step, in the meantime.
        return [[*begun, Same(self.layout.plan, view.run.version), *self._changed(commands, view.commands)]]

    def _too_busy(self, run: Run, busy: Counter[str], brokers: Sequence[str]) -> bool:
        return bool(run.per_broker) and any(busy[each] >= run.per_broker for each in brokers)

    def _held_up(self, brokers: Sequence[str], view: RunView) -> bool:
        limit = self.budget.queue_bytes
        return bool(limit) and any(view.queues.get(each, 0) > limit for each in brokers)

    # Ending

    def _end(self, view: RunView, now: float) -> Transaction:
        """End all actions that are over, in one transaction; with the last one of a step, enter the next."""
        run, current = view.run.value, view.topology.value
        commands = dict(view.commands)
        ended: dict[str, Doing] = {}
        for path, (doing, _) in sorted(view.actions.items()):
            if len(ended) == TOGETHER or not _is_over(doing, view.statuses):
                continue
            self._command(path, doing.change.brokers, commands, None)
            if doing.state == ActionState.COMMITTED:
                ended[path], current = _succeeded(doing, now), _after_change(doing, current)
                continue
            ended[path] = doing.become(ActionState.PENDING, attempt=doing.attempt + 1)
            if doing.attempt >= run.attempts and not run.reason:
                run = _with(run, reason=f"{doing.change} in step {run.step}: {doing.reason}")
        if not ended:
            return []
        after = [ended.get(path, known.value) for path, known in view.actions.items()]
        if all(doing.state == ActionState.DONE for doing in after):
            run = _next_step(run)
        puts: Transaction = [Put(path, doing, view.actions[path].version) for path, doing in ended.items()]
        if current is not view.topology.value:
            puts.append(Put(self.layout.topology, current, view.topology.version))
        if run is not view.run.value:
            puts.append(Put(self.layout.plan, run, view.run.version))
        return [*puts, *self._changed(commands, view.commands)]

    # Commands

    def _command(
        self,
        path: str,
        brokers: Iterable[str],
        commands: dict[str, KnownRecord[Command]],
        doing: Doing | None,
    ) -> None:
        """Command these brokers to take part in the action, or (None) to take part no longer."""
        for name in brokers:
            command, version = commands.get(name, KnownRecord(Command(), -1))
            actions = tuple(each for each in command.actions if each != path)
            begun = {each: other for each, other in command.begun.items() if each in actions}
            if doing is not None:
                actions, begun = (*actions, path), begun | {path: doing}
            commands[name] = KnownRecord(Command(actions=actions, begun=begun), version)

    def _changed(
        self, commands: Mapping[str, KnownRecord[Command]], before: Mapping[str, KnownRecord[Command]]
    ) -> list[Put]:
        return [
            Put(self.layout.command(name), known.value, known.version)
            for name, known in sorted(commands.items())
            if before.get(name) != known
        ]


def _is_over(doing: Doing, statuses: Mapping[str, Status]) -> bool:
    if doing.state not in (ActionState.COMMITTED, ActionState.ABORTED):
        return False
    done = doing.state == ActionState.COMMITTED
    finished = (Reported.DONE,) if done else (Reported.ABORTED, Reported.REFUSED)
    id = doing.change.id
    return all(statuses.get(name, Status()).stage(id) in finished for name in doing.change.brokers)


def _after_change(doing: Doing, current: Current) -> Current:
    brokers, links = apply(doing.changes[doing.at], current.brokers, current.links)
    return _with(current, epoch=current.epoch + 1, brokers=brokers, links=links)


def _next_step(run: Run) -> Run:
    return run.become(RunState.DONE) if run.step >= len(run.steps) else _with(run, step=run.step + 1)


def _succeeded(doing: Doing, now: float) -> Doing:
    if doing.at + 1 < len(doing.changes):
        return doing.become(ActionState.PENDING, at=doing.at + 1, attempt=1, reason="")
    return doing.become(ActionState.DONE, reason="", ended=now)


def _with(record: R, **fields: object) -> R:
    return msgspec.structs.replace(record, **fields)
