"""The loop's commands, done: each coroutine ends in the event that answers it.

Thinking runs in one thread, Spark in another: the event loop stays free for ZooKeeper and for people.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from regraft.app.carrying_out import carry_out, ended, go_on, take_back
from regraft.app.ledger import Ledger, PlanDocument, plan_document
from regraft.app.measured_demand import demand_of, publish
from regraft.app.measuring import DiskFull, Measurer
from regraft.app.overlay import AnotherLoop, Known, RunningOverlay
from regraft.app.repairing import wanted_topology
from regraft.app.thinking import Assessed, Thinker, changed
from regraft.app.workloads import Measured
from regraft.coord import CoordError
from regraft.deploy.begin import Settings
from regraft.deploy.deployer import Tell
from regraft.loop import commands as c
from regraft.loop import events as e
from regraft.loop.values import Ended, Window
from regraft.model import BadInput, Plan, RegraftError, Topology
from regraft.model.outcome import Outcome
from regraft.model.plan_files import plan_from
from regraft.model.snapshot import Counts
from regraft.model.workload import Workload

log = logging.getLogger("regraft.loop")
KEPT = 12
"""Windows whose traffic is in memory, and plans."""
T = TypeVar("T")


class Done(NamedTuple):
    """The event that answers a command, and what people are shown of it."""

    event: e.Event
    window: tuple[Measured, Counts, float] | None = None
    assessed: Assessed | None = None
    plan: PlanDocument | None = None
    after: dict[str, float | None] | None = None
    """Numbers of the topology that the plan leads to."""
    outcome: Outcome | None = None


class Works:
    """Holds what the values of the loop stand for: windows by id, plans by hash."""

    def __init__(
        self,
        overlay: RunningOverlay,
        measurer: Measurer,
        thinker: Thinker,
        settings: Settings,
        ledger: Ledger,
        spark_seconds: float,
    ) -> None:
        self.overlay = overlay
        self.measurer = measurer
        self.thinker = thinker
        self._settings = replace(settings, gives_way=True)
        self._ledger = ledger
        self._spark_seconds = spark_seconds
        self.windows: OrderedDict[str, Measured] = OrderedDict()
        self._plans: OrderedDict[str, Plan] = OrderedDict()
        self._thinking = ThreadPoolExecutor(1, "thinking")
        self._measuring = ThreadPoolExecutor(1, "measuring")

    def close(self) -> None:
        self.measurer.stop()
        for pool in (self._thinking, self._measuring):
            pool.shutdown(wait=False, cancel_futures=True)

    async def warm(self) -> None:
        """Spark is started, and what is compiled is loaded, before the first window is over."""
        await asyncio.gather(
            self._in(self._measuring, self.measurer.warm),
            self.think(self.thinker.warm),
        )

    async def do(self, command: c.Command, tell: Tell) -> Done:
        """What the command asks for; a fault becomes `Failed`, with the part that it is of."""
        ticket = getattr(command, "ticket", None)
        try:
            return await self._do(command, tell)
        except DiskFull as fault:
            return Done(e.Failed(at=time.time(), part="disk", reason=str(fault), ticket=ticket))
        except (CoordError, AnotherLoop) as fault:
            return Done(e.Failed(at=time.time(), part="coordination", reason=str(fault), ticket=ticket))
        except Exception as fault:
            part = PARTS.get(type(command), "deploy")
            reason = str(fault) or "it took too long"
            if not isinstance(fault, RegraftError | OSError):  # a fault of ours must not end the loop
                log.exception("%s failed", type(command).__name__)
                reason = f"{type(fault).__name__}: {fault}"
            return Done(e.Failed(at=time.time(), part=part, reason=reason, ticket=ticket))

    async def _do(self, command: c.Command, tell: Tell) -> Done:
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

    async def _measure(self, command: c.Measure) -> Done:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._spark_seconds):
                found = await self._in(self._measuring, self.measurer.measure, command.start, command.end)
        except TimeoutError:
            self.measurer.abandon()
            self._measuring.shutdown(wait=False, cancel_futures=True)
            self._measuring = ThreadPoolExecutor(1, "measuring")
            raise RegraftError(f"Spark has not answered within {self._spark_seconds:g} s") from None
        measured = found.measured
        self.windows[measured.id] = measured
        while len(self.windows) > KEPT:
            self.windows.popitem(last=False)
        window = Window(
            id=measured.id, start=measured.start, end=measured.end, publications=measured.publications
        )
        await self._tell_those_who_mend(measured)
        event = e.Measured(at=time.time(), ticket=command.ticket, window=window)
        return Done(event, window=(measured, found.counts, time.monotonic() - began))

    async def _tell_those_who_mend(self, measured: Measured) -> None:
        if not measured.workload.traffic:
            return
        demand = demand_of(measured.id, measured.workload.traffic, self.thinker.network.stated)
        try:
            await publish(self.overlay.coord, self.overlay.layout, demand)
        except CoordError as fault:  # they go on with what was measured before
            log.warning("the measured traffic can not be written: %s", fault)

    async def _assess(self, command: c.Assess) -> Done:
        topology, _ = self._known()
        window = await self.window(command.window)
        proposal = command.proposal.candidate if command.proposal else None
        found = await self.think(self.thinker.assess, topology, window, command.candidate, proposal)
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
        return Done(event, assessed=found)

    async def _design(self, command: c.Design) -> Done:
        topology, epoch = self._known()
        recent = list(self.windows.values())[-command.windows :]
        if not recent or recent[-1].id != command.window.id:
            recent = [await self.window(command.window)]
        found = await self.think(self.thinker.design, topology, epoch, recent, command.max_actions)
        reason = found if isinstance(found, str) else ""
        candidate = None if isinstance(found, str) else found
        return Done(e.Designed(at=time.time(), ticket=command.ticket, candidate=candidate, reason=reason))

    async def _plan(self, command: c.MakePlan) -> Done:
        topology, epoch = self._known()
        goal = changed(topology, command.candidate.added, command.candidate.removed)
        return await self._planned(command.ticket, topology, epoch, goal)

    async def _repair(self, command: c.Repair) -> Done:
        topology, epoch = await self.overlay.refresh()
        last = next(reversed(self.windows.values()), None)
        traffic = last.workload.traffic if last else ()
        intents = [each.intent for each in command.wanted]
        most = self.thinker.limits.max_degree
        goal = await self.think(wanted_topology, topology, intents, traffic, most)
        if isinstance(goal, str):
            return Done(e.PlanMade(at=time.time(), ticket=command.ticket, reason=goal))
        return await self._planned(command.ticket, topology, epoch, goal)

    async def _planned(self, ticket: int, topology: Topology, epoch: int, goal: Topology) -> Done:
        last = next(reversed(self.windows.values()), None)
        workload = last.workload if last else Workload()
        seconds = last.seconds if last else 1.0
        found = await self.think(self.thinker.plan, topology, epoch, goal, workload, seconds)
        if isinstance(found, str):
            return Done(e.PlanMade(at=time.time(), ticket=ticket, reason=found))
        plan, planned = found
        self._keep(plan.sha256, plan)
        dressed = self.thinker.network.dressed(goal)
        seen = await self.think(self.thinker.seen, dressed, workload, seconds)
        event = e.PlanMade(at=time.time(), ticket=ticket, planned=planned)
        return Done(event, plan=plan_document(plan, topology, last), after=dict(seen.assessment.numbers))

    async def _deploy(self, command: c.Deploy | c.Resume, tell: Tell) -> Done:
        """What is carried out is the plan of that hash, or nothing."""
        running, settings = command.running, self._settings
        before = self._known().topology
        plan = self.plan(running.plan) if running.plan is not None else None
        result: Outcome | Ended
        if isinstance(command, c.Resume):
            result = await go_on(self.overlay, plan, running.back, settings, tell)
        elif running.back:
            result = await take_back(self.overlay, settings, tell)
        else:
            if plan is None:
                raise BadInput(str(running.plan), "the plan is not known any more")
            result = await carry_out(self.overlay, plan, settings, tell)
        await self.overlay.refresh()
        if isinstance(result, Ended):
            return Done(e.Deployed(at=time.time(), ticket=command.ticket, ended=result))
        event = e.Deployed(at=time.time(), ticket=command.ticket, ended=ended(result, before))
        return Done(event, outcome=result)

    def plan(self, sha256: str) -> Plan | None:
        """By its hash, also after a restart."""
        if sha256 not in self._plans and (stored := self._ledger.plan(sha256)) is not None:
            self._keep(sha256, plan_from(stored.document))
        return self._plans.get(sha256)

    def _keep(self, sha256: str, plan: Plan) -> None:
        """The last ones; the others are in the ledger."""
        self._plans[sha256] = plan
        while len(self._plans) > KEPT:
            self._plans.popitem(last=False)

    async def window(self, window: Window) -> Measured:
        return await self.window_of(window.id, window.start, window.end)

    async def window_of(self, id: str, start: float, end: float) -> Measured:
        """From memory, else from its tables."""
        if id not in self.windows:
            return await asyncio.to_thread(self.measurer.read, start, end)
        return self.windows[id]

    def _known(self) -> Known:
        if self.overlay.known is None:
            raise RegraftError("no topology is known")
        return self.overlay.known

    async def think(self, work: Callable[..., T], *arguments: Any) -> T:
        return await self._in(self._thinking, work, *arguments)

    async def _in(self, pool: ThreadPoolExecutor, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)


PARTS = {
    c.Measure: "measure",
    c.Assess: "measure",
    c.Design: "design",
    c.MakePlan: "plan",
    c.Repair: "plan",
}
