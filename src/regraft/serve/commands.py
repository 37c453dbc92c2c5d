"""Carries out the loop's commands on an estate: each ends in the event that answers it.

Designing runs in a thread of its own: the event loop stays free for the estate and for people.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from regraft.estate.protocol import Away, DiskFull, Estate, Known, TellProgress
from regraft.estate.windows import MeasuredWindow, WindowAndCounts
from regraft.loop import commands as c
from regraft.loop import events as e
from regraft.loop.repairing import wanted_topology
from regraft.loop.values import Ended, Window
from regraft.model import BadInput, Plan, RegraftError, Topology
from regraft.model.changes import changed
from regraft.model.outcome import Outcome
from regraft.model.plan_files import plan_from
from regraft.model.workload import Workload
from regraft.serve.designing import Assessed, TopologyDesigner
from regraft.serve.history import History, PlanDocument, plan_document

log = logging.getLogger("regraft.loop")
KEPT = 12
"""How many windows with their traffic, and how many plans, are kept in memory."""
T = TypeVar("T")


class CommandResult(NamedTuple):
    """The event that answers a command, and what people are shown of it."""

    event: e.Event
    window: tuple[WindowAndCounts, float] | None = None
    """And how long the measurement took, in seconds."""
    assessed: Assessed | None = None
    plan: PlanDocument | None = None
    after: dict[str, float | None] | None = None
    """Numbers of the topology that the plan leads to."""
    outcome: Outcome | None = None


class CommandRunner:
    """Keeps what the loop knows by name only: windows by their ids, plans by their hashes."""

    def __init__(self, estate: Estate, designer: TopologyDesigner, history: History) -> None:
        self.estate = estate
        self.designer = designer
        self._history = history
        self.windows: OrderedDict[str, MeasuredWindow] = OrderedDict()
        self._plans: OrderedDict[str, Plan] = OrderedDict()
        self._designing = ThreadPoolExecutor(1, "designing")

    def close(self) -> None:
        self._designing.shutdown(wait=False, cancel_futures=True)

    async def warm(self) -> None:
        """Prepare the estate for measuring and load compiled code, before the first window ends."""
        await asyncio.gather(self.estate.warm(), self.in_design_thread(self.designer.warm))

    async def do(self, command: c.Command, tell: TellProgress) -> CommandResult:
        """Carry the command out; a fault becomes the event `Failed` with the part that failed."""
        ticket = getattr(command, "ticket", None)
        try:
            return await self._do(command, tell)
        except DiskFull as fault:
            return CommandResult(e.Failed(at=time.time(), part="disk", reason=str(fault), ticket=ticket))
        except Away as fault:
            return CommandResult(
                e.Failed(at=time.time(), part="coordination", reason=str(fault), ticket=ticket)
            )
        except Exception as fault:
            part = PARTS.get(type(command), "deploy")
            reason = str(fault) or "it took too long"
            if not isinstance(fault, RegraftError | OSError):  # a defect of ours: logged, the loop continues
                log.exception("%s failed", type(command).__name__)
                reason = f"{type(fault).__name__}: {fault}"
            return CommandResult(e.Failed(at=time.time(), part=part, reason=reason, ticket=ticket))

    async def _do(self, command: c.Command, tell: TellProgress) -> CommandResult:
        match command:
            case c.Measure():
                return await self._measure(command)
            case c.Assess():
                return await self._assess(command)
            case c.Design():
                return await self._design(command)
            case c.MakePlan():
                return await self._plan(command)
            case c.Repair():
                return await self._repair(command)
            case c.Deploy() | c.Resume():
                return await self._deploy(command, tell)
        raise RegraftError(f"{type(command).__name__} is not a command that is answered")

    async def _measure(self, command: c.Measure) -> CommandResult:
        began = time.monotonic()
        found = await self.estate.measure(command.start, command.end)
        measured = found.window
        if (known := self.estate.known) is not None:
            await self.in_design_thread(self.designer.network.learn, measured.round_trips, known.topology)
        self.windows[measured.id] = measured
        while len(self.windows) > KEPT:
            self.windows.popitem(last=False)
        window = Window(
            id=measured.id, start=measured.start, end=measured.end, publications=measured.publications
        )
        await self._tell_healing(measured)
        event = e.Measured(at=time.time(), ticket=command.ticket, window=window)
        return CommandResult(event, window=(found, time.monotonic() - began))

    async def _tell_healing(self, measured: MeasuredWindow) -> None:
        if not measured.workload.traffic:
            return
        try:
            costs = await self.in_design_thread(self._costs_for_repairs)
            await self.estate.tell_healing(measured, costs)
        except Away as fault:  # until the next window, repairs use the traffic measured before
            log.warning("the measured traffic cannot be written: %s", fault)

    def _costs_for_repairs(self) -> Topology | None:
        known = self.estate.known
        return self.designer.network.for_repairs(known.topology) if known is not None else None

    async def _assess(self, command: c.Assess) -> CommandResult:
        topology, _ = self._known()
        window = await self.window(command.window)
        proposal = command.proposal.candidate if command.proposal else None
        found = await self.in_design_thread(
            self.designer.assess, topology, window, command.candidate, proposal
        )
        event = e.Judged(
            at=time.time(),
            ticket=command.ticket,
            window=command.window,
            current=found.current,
            cost=found.cost,
            candidate=found.candidate,
            candidate_saved=found.candidate_saved,
            proposal=found.proposal,
        )
        return CommandResult(event, assessed=found)

    async def _design(self, command: c.Design) -> CommandResult:
        topology, epoch = self._known()
        recent = list(self.windows.values())[-command.windows :]
        if not recent or recent[-1].id != command.window.id:
            recent = [await self.window(command.window)]
        found = await self.in_design_thread(
            self.designer.design, topology, epoch, recent, command.max_actions
        )
        reason = found if isinstance(found, str) else ""
        candidate = None if isinstance(found, str) else found
        return CommandResult(
            e.Designed(at=time.time(), ticket=command.ticket, candidate=candidate, reason=reason)
        )

    async def _plan(self, command: c.MakePlan) -> CommandResult:
        topology, epoch = self._known()
        goal = changed(topology, command.candidate.added, command.candidate.removed)
        return await self._planned(command.ticket, topology, epoch, goal)

    async def _repair(self, command: c.Repair) -> CommandResult:
        topology, epoch = await self.estate.refresh()
        last = next(reversed(self.windows.values()), None)
        traffic = last.workload.traffic if last else ()
        intents = [each.intent for each in command.wanted]
        most = self.designer.limits.max_degree
        goal = await self.in_design_thread(wanted_topology, topology, intents, traffic, most)
        if isinstance(goal, str):
            return CommandResult(e.PlanMade(at=time.time(), ticket=command.ticket, reason=goal))
        return await self._planned(command.ticket, topology, epoch, goal)

    async def _planned(self, ticket: int, topology: Topology, epoch: int, goal: Topology) -> CommandResult:
        last = next(reversed(self.windows.values()), None)
        workload = last.workload if last else Workload()
        seconds = last.seconds if last else 1.0
        found = await self.in_design_thread(self.designer.plan, topology, epoch, goal, workload, seconds)
        if isinstance(found, str):
            return CommandResult(e.PlanMade(at=time.time(), ticket=ticket, reason=found))
        plan, planned = found
        self._keep(plan.sha256, plan)
        annotated = self.designer.network.annotated(goal)
        seen = await self.in_design_thread(self.designer.seen, annotated, workload, seconds)
        event = e.PlanMade(at=time.time(), ticket=ticket, planned=planned)
        return CommandResult(
            event, plan=plan_document(plan, topology, last), after=dict(seen.assessment.numbers)
        )

    async def _deploy(self, command: c.Deploy | c.Resume, tell: TellProgress) -> CommandResult:
        """Carry out exactly the plan with that hash, or nothing."""
        running = command.running
        before = self._known().topology
        plan = self.plan(running.plan) if running.plan is not None else None
        result: Outcome | Ended
        if isinstance(command, c.Resume):
            result = await self.estate.resume(plan, running.back, tell)
        elif running.back:
            result = await self.estate.roll_back(tell)
        else:
            if plan is None:
                raise BadInput(str(running.plan), "the plan is not known any more")
            result = await self.estate.carry_out(plan, tell)
        await self.estate.refresh()
        if isinstance(result, Ended):
            return CommandResult(e.Deployed(at=time.time(), ticket=command.ticket, ended=result))
        event = e.Deployed(at=time.time(), ticket=command.ticket, ended=_ended(result, before))
        return CommandResult(event, outcome=result)

    def plan(self, sha256: str) -> Plan | None:
        """The plan with this hash; after a restart it comes from the history."""
        if sha256 not in self._plans and (stored := self._history.plan(sha256)) is not None:
            self._keep(sha256, plan_from(stored.document))
        return self._plans.get(sha256)

    def _keep(self, sha256: str, plan: Plan) -> None:
        """Keep the last plans in memory; all of them are in the history."""
        self._plans[sha256] = plan
        while len(self._plans) > KEPT:
            self._plans.popitem(last=False)

    async def window(self, window: Window) -> MeasuredWindow:
        return await self.window_of(window.id, window.start, window.end)

    async def window_of(self, id: str, start: float, end: float) -> MeasuredWindow:
        """The window from memory, or else from the tables that the estate keeps."""
        if id not in self.windows:
            return await self.estate.read_window(start, end)
        return self.windows[id]

    def _known(self) -> Known:
        if self.estate.known is None:
            raise RegraftError("no topology is known")
        return self.estate.known

    async def in_design_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._designing, work, *arguments)


def _ended(outcome: Outcome, before: Topology | None) -> Ended:
    """The outcome of a run as the loop is told it."""
    old = set(before.by_ends) if before is not None else set(outcome.topology.by_ends)
    new = set(outcome.topology.by_ends)
    seen = outcome.canaries
    return Ended(
        run=outcome.run,
        state=outcome.state,
        reason=outcome.reason,
        back=outcome.back,
        reached=outcome.goal,
        epoch=outcome.epoch,
        topology=outcome.topology.sha256,
        actions=sum(action.state == "done" for action in outcome.actions),
        added=tuple(sorted(new - old)),
        removed=tuple(sorted(old - new)),
        seconds=outcome.seconds,
        lost=seen.lost if seen else None,
        duplicated=seen.duplicated if seen else None,
        reordered=seen.reordered if seen else None,
    )


PARTS = {
    c.Measure: "measure",
    c.Assess: "measure",
    c.Design: "design",
    c.MakePlan: "plan",
    c.Repair: "plan",
}
