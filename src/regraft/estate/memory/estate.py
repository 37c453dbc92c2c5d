"""`MemoryEstate`: a network in memory as one loop uses it. Its windows are made up."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from regraft.costs import RoundTrips
from regraft.estate.memory.network import MemoryNetwork
from regraft.estate.protocol import (
    AnotherLoop,
    Away,
    BrokerFacts,
    ChangeLimits,
    Guarantees,
    HealingRecord,
    HealingRules,
    Known,
    LastRun,
    TellProgress,
    WantedOfRun,
)
from regraft.estate.windows import MeasuredWindow, WindowAndCounts
from regraft.loop.values import Ended
from regraft.model import BadInput, Plan, RegraftError, Topology
from regraft.model.outcome import Outcome
from regraft.model.snapshot import Counts
from regraft.model.workload import Workload

NO_HEALING = "no destination database runs for this overlay: it does not heal by itself"


COUNTS = Counts(read=10, kept=10)


class MadeUpWindows:
    """Every window has the current `workload` and `round_trips`; while `fails` is not empty, measuring raises
    it as a fault."""

    def __init__(self, workload: Workload, counts: Counts = COUNTS) -> None:
        self.workload = workload
        self.round_trips: RoundTrips = {}
        self.counts = counts
        self.fails = ""
        self.measured = 0

    def warm(self) -> None:
        return

    def measure(self, start: float, end: float) -> WindowAndCounts:
        if self.fails:
            raise RegraftError(self.fails)
        self.measured += 1
        return WindowAndCounts(self.read(start, end), self.counts, end)

    def read(self, start: float, end: float) -> MeasuredWindow:
        total = round(sum(demand for _, demand in self.workload.traffic))
        return MeasuredWindow(
            start, end, self.workload, total, total, 2, 1.0, 2.0, 3.0, 0, {}, self.round_trips
        )

    def check_disk(self) -> None:
        return

    def abandon(self) -> None:
        return

    def stop(self) -> None:
        return


class MemoryEstate:
    """Made by `opened`."""

    guarantees = Guarantees("exactly once", "publisher")
    limits = ChangeLimits(at_once=1)

    def __init__(self, network: MemoryNetwork, windows: MadeUpWindows, name: str) -> None:
        self.network = network
        self.windows = windows
        self.told: MeasuredWindow | None = None
        """The window that healing was told last."""
        self._name = name
        self._known: Known | None = None

    @classmethod
    @asynccontextmanager
    async def opened(cls, network: MemoryNetwork, windows: MadeUpWindows) -> AsyncIterator["MemoryEstate"]:
        """`BadInput` if another loop runs on the network, or the network has not been started."""
        if network.held_by is not None:
            raise BadInput("", f"another loop runs on this overlay: {network.held_by}")
        network.loops += 1
        estate = cls(network, windows, f"loop on a network in memory, number {network.loops}")
        await estate.refresh()
        network.held_by = estate._name
        try:
            yield estate
        finally:
            if network.held_by == estate._name:
                network.held_by = None

    @property
    def known(self) -> Known | None:
        return self._known

    async def refresh(self) -> Known:
        self._known = self.network.known
        return self._known

    async def probe(self) -> Known:
        self.network.check()
        if self.network.held_by not in (None, self._name):
            raise AnotherLoop(f"another loop runs on this overlay: {self.network.held_by}")
        self.network.held_by = self._name
        return await self.refresh()

    async def follow(self, changed: Callable[[Known], None], failed: Callable[[str], None]) -> None:
        def took(known: Known) -> None:
            self._known = known
            changed(known)

        await self.network.follow(took, failed)

    async def brokers(self) -> Mapping[str, BrokerFacts]:
        near = self.network.known.topology.neighbours
        return {id: BrokerFacts(alive=True, links=dict.fromkeys(sorted(near[id]), "up")) for id in near}

    async def warm(self) -> None:
        self.windows.warm()

    async def measure(self, start: float, end: float) -> WindowAndCounts:
        return self.windows.measure(start, end)

    async def read_window(self, start: float, end: float) -> MeasuredWindow:
        return self.windows.read(start, end)

    def check_disk(self) -> None:
        self.windows.check_disk()

    async def carry_out(self, plan: Plan, tell: TellProgress) -> Outcome:
        self._may_change()
        if plan.initial != self.network.known.topology.sha256:
            raise BadInput(plan.sha256[:12], "the plan does not start from the current topology")
        steps = [[(action.operation, *action.brokers) for action in step] for step in plan.steps]
        self.network.begin(plan.sha256, plan.goal, steps)
        return await self.network.run_to_its_end(tell)

    async def resume(self, plan: Plan | None, back: bool, tell: TellProgress) -> Outcome | Ended:
        self._may_change()
        run = self.network.run
        if run is None or (plan is not None and run.plan != plan.sha256):
            raise BadInput("", "the run had not begun when it was interrupted")
        if run.state == "running":
            return await self.network.run_to_its_end(tell)
        if back and not run.back:
            return await self.roll_back(tell)
        known = await self.refresh()
        return Ended(
            run=run.id,
            state=run.state,
            reason=run.reason,
            back=run.back,
            reached=run.state == "done" and (run.back or known.topology.sha256 == run.goal),
            epoch=known.epoch,
            topology=known.topology.sha256,
            actions=run.actions,
        )

    async def roll_back(self, tell: TellProgress) -> Outcome:
        self._may_change()
        self.network.begin_back()
        return await self.network.run_to_its_end(tell)

    def _may_change(self) -> None:
        self.network.check()
        if self.network.held_by != self._name:
            raise Away("the right to change the network is lost")

    async def ask(self, wanted: WantedOfRun) -> None:
        self.network.check()
        run = self.network.run
        if run is None or run.state != "running":
            raise BadInput("", "no run is under way")
        run.wanted = wanted

    async def interrupted(self) -> str | None:
        self.network.check()
        run = self.network.run
        is_left = run is not None and run.state == "running" and not self.network.is_deploying
        return run.plan if run is not None and is_left else None

    async def last_run(self) -> LastRun | None:
        self.network.check()
        run = self.network.run
        return None if run is None else LastRun(run.id, run.plan, run.state, run.back)

    async def tell_healing(self, measured: MeasuredWindow, network: Topology | None) -> None:
        self.network.check()
        self.told = measured

    async def rules(self) -> HealingRules:
        return HealingRules(note=NO_HEALING)

    async def put_rules(
        self, rules: Mapping[str, str], definitions: Mapping[str, float | str | bool]
    ) -> HealingRules:
        raise Away(NO_HEALING)

    async def adaptations(self, limit: int) -> tuple[HealingRecord, ...]:
        return ()
