"""What an agent does next: the decision core, without input or output.

It compares what the journal says with how far its broker is, and returns what is to be done. It keeps only
when it first heard of each change, so it can be asked again at any time: after a restart, after a lost
session, or because something has changed.

| the journal says | the broker is | the agent |
|---|---|---|
| preparing | not concerned | tells it to prepare; reports a refusal |
| | prepared, ready | reports it |
| | in doubt, and was never ready | decides: aborted |
| | (all participants are ready) | decides: committed |
| | (one refused, or it takes too long) | decides: aborted |
| committed | ready, in doubt | tells it to commit |
| | finished with it | reports done |
| aborted | prepared, ready, in doubt | tells it to abort |
| | not concerned any more | reports aborted |

A decision is a compare-and-set, so that of several only the first counts. The states of the action and of the
reports are in `states`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import msgspec

from regraft.deploy.records import Command, Doing, LinkChange, Stage, Status, run_number
from regraft.deploy.states import IN_DOUBT, ActionState, Reported


class Prepare(NamedTuple):
    change: LinkChange


class Commit(NamedTuple):
    id: str


class Abort(NamedTuple):
    id: str


class Report(NamedTuple):
    """Write the broker's status."""

    status: Status


class Decide(NamedTuple):
    """Write the action's state, if neither its node nor the broker's command has changed since.

    The nodes of actions are created again for every run, with versions from 0, so a decision that was delayed
    for long would fit one of a later run. Commands are never deleted, and change when an action is over.
    """

    path: str
    version: int
    doing: Doing
    command: int


Do: TypeAlias = Prepare | Commit | Abort | Report | Decide


RANK_SECONDS = 0.1
"""Seconds that the second broker of a change waits for the first one to decide; the third waits twice as
long."""


class KnownAction(NamedTuple):
    """An action as it was read. Version −1: its node has not been read, and this is what the command says."""

    doing: Doing
    version: int


@dataclass
class AgentView:
    """What the agent sees at one moment; any of it may be out of date."""

    command: Command
    actions: Mapping[str, KnownAction]
    """The commanded actions, and those of all changes that the broker knows, by their nodes."""
    statuses: Mapping[str, Status]
    """The statuses of all brokers that take part in these actions."""
    stages: Mapping[str, str] | None
    """How far the broker is with each change that it knows; None if it cannot be reached."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Changes that the broker refused to prepare, and why."""
    run: str = ""
    """The id of the run in the journal."""
    commanded: int = 0
    """The version of the command's node."""


class Agent:
    """The agent of one broker."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.since: dict[str, float] = {}
        self._all_ready: dict[str, float] = {}
        """When all participants were first known to be ready."""

    def react(self, view: AgentView, now: float) -> list[Do]:
        mine = view.statuses.get(self.broker, Status())
        out: list[Do] = []
        changes: dict[str, Stage] = {}
        for path in view.command.actions:
            known = view.actions.get(path)
            if known is None or self.broker not in known.doing.change.brokers:
                continue
            change = known.doing.change
            self.since.setdefault(change.id, now)
            out += self._tell_broker(known.doing, view, mine)
            stage = self._stage(known.doing, view, mine)
            if stage.stage:
                changes[change.id] = self._timed(stage, mine, change.id, now)
            out += self._decide(path, known, view, changes, now)
        out += self._strays(view)
        if self.since:  # every change that all are ready for is in it
            ids = {known.doing.change.id for known in view.actions.values()}
            self.since = {id: at for id, at in self.since.items() if id in ids}
            self._all_ready = {id: at for id, at in self._all_ready.items() if id in ids}
        if changes != mine.changes:
            out.append(Report(msgspec.structs.replace(mine, changes=changes)))
        return out

    def _tell_broker(self, doing: Doing, view: AgentView, mine: Status) -> list[Do]:
        """What the broker has to be told about this action."""
        id = doing.change.id
        if view.stages is None:
            return []
        stage = view.stages.get(id, "")
        is_told = stage or mine.stage(id) or id in view.refused
        if doing.state == ActionState.PREPARING and not is_told:
            return [Prepare(doing.change)]
        if doing.state == ActionState.COMMITTED and stage in (Reported.READY, IN_DOUBT):
            return [Commit(id)]
        if doing.state == ActionState.ABORTED and stage and stage != Reported.COMMITTED:
            return [Abort(id)]
        return []

    def _stage(self, doing: Doing, view: AgentView, mine: Status) -> Stage:
        """What is to be reported about this action."""
        id = doing.change.id
        before = mine.changes.get(id, Stage(stage=Reported.NOTHING))
        if view.stages is None:
            return before
        stage = view.stages.get(id, "")
        report = before
        if doing.state == ActionState.PREPARING:
            if stage in (Reported.PREPARED, Reported.READY):
                report = Stage(stage=Reported(stage))
            elif (
                id in view.refused and not stage and not before.stage
            ):  # told twice, the broker refuses the second
                report = Stage(stage=Reported.REFUSED, reason=view.refused[id])
        elif doing.state == ActionState.COMMITTED:
            was_ready = before.stage in (Reported.READY, Reported.COMMITTED, Reported.DONE)
            if stage == Reported.COMMITTED:
                report = Stage(stage=Reported.COMMITTED)
            elif not stage and was_ready:
                report = Stage(stage=Reported.DONE)
        elif doing.state == ActionState.ABORTED and not stage:
            report = Stage(stage=Reported.ABORTED, reason=before.reason)
        return report

    def _timed(self, stage: Stage, mine: Status, id: str, now: float) -> Stage:
        before = mine.changes.get(id)
        if before is not None and before.stage == stage.stage:
            return before
        return msgspec.structs.replace(stage, milliseconds=round(1000 * (now - self.since[id]), 3))

    def _decide(
        self, path: str, known: KnownAction, view: AgentView, changes: Mapping[str, Stage], now: float
    ) -> list[Do]:
        doing, version = known
        if doing.state != ActionState.PREPARING or version < 0:
            return []
        id = doing.change.id
        others = {name: view.statuses.get(name, Status()) for name in doing.change.brokers}
        nothing = Stage(stage=Reported.NOTHING)
        stages = {name: status.changes.get(id, nothing) for name, status in others.items()}
        if all(stage.stage == Reported.READY for stage in stages.values()):
            rank = doing.change.brokers.index(self.broker)
            waited = now - self._all_ready.setdefault(id, now)
            if waited < rank * RANK_SECONDS:
                return []  # one decision is enough; those of the others would only fail
            return [Decide(path, version, doing.become(ActionState.COMMITTED), view.commanded)]
        refusals = [f"{name}: {s.reason}" for name, s in stages.items() if s.stage == Reported.REFUSED]
        reason = refusals[0] if refusals else ""
        if view.stages is not None:
            mine, said = view.stages.get(id, ""), stages[self.broker].stage
            if mine == IN_DOUBT and said != Reported.READY:
                reason = f"{self.broker} crashed while it prepared"
            elif not mine and said in (Reported.PREPARED, Reported.READY):
                reason = f"{self.broker} has forgotten the change"
        if not reason and now - self.since[id] > doing.seconds:
            missing = sorted(name for name, stage in stages.items() if stage.stage != Reported.READY)
            reason = f"not ready within {doing.seconds:g} s: {', '.join(missing)}"
        if not reason:
            return []
        return [Decide(path, version, doing.become(ActionState.ABORTED, reason=reason), view.commanded)]

    def _strays(self, view: AgentView) -> list[Do]:
        """Abort changes that are over, but that the broker was told too late. That is safe: the journal
        continues only when all participants have reported that they have finished a change."""
        if not view.stages:
            return []
        commanded = {_id(view, path) for path in view.command.actions if path in view.actions}
        by_name = {known.doing.name: known.doing for known in view.actions.values()}
        out: list[Do] = []
        for id, stage in view.stages.items():
            if id in commanded or stage == Reported.COMMITTED:
                continue
            run, name, at, attempt = id.split(":")
            doing = by_name.get(name)
            over = run_number(view.run) > run_number(run)
            if doing is not None and doing.run == run:
                earlier = (int(at), int(attempt)) < (doing.at + 1, doing.attempt)
                over = earlier or doing.state == ActionState.DONE
            if over:
                out.append(Abort(id))
        return out


def _id(view: AgentView, path: str) -> str:
    return view.actions[path].doing.change.id
