"""`RegraftEstate`: our own network as the loop sees it.

On failure: a fault of ZooKeeper becomes `Away` in every request. A measurement that takes too long is
abandoned together with its Spark session; the next one starts another session.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from typing import TypeVar

from regraft.coord import CoordError
from regraft.deploy.begin import RunSettings
from regraft.deploy.control import order_run
from regraft.estate.protocol import (
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
from regraft.estate.regraft import runs
from regraft.estate.regraft.expecting import Expecting
from regraft.estate.regraft.healing import HealingDatabases
from regraft.estate.regraft.measuring import Measurer
from regraft.estate.regraft.overlay import RunningOverlay
from regraft.estate.regraft.tables import TABLES, TREE_TABLES
from regraft.estate.regraft.zookeeper import ensemble
from regraft.estate.settings import EstateSettings
from regraft.estate.windows import MeasuredWindow, WindowAndCounts, Windows
from regraft.heal.measured_demand import demand_of, publish
from regraft.loop.values import Ended
from regraft.model import Plan, RegraftError, Topology
from regraft.model.outcome import Outcome

T = TypeVar("T")
TABLES_FOLDER = "tables"


@contextmanager
def _faults_as_away() -> Iterator[None]:
    try:
        yield
    except CoordError as fault:
        raise Away(str(fault)) from fault


class RegraftEstate:
    """Made by `opened`. Spark runs in a thread of its own: the event loop stays free for ZooKeeper."""

    guarantees = Guarantees("exactly once", "publisher")

    def __init__(
        self,
        overlay: RunningOverlay,
        windows: Windows,
        deploy: RunSettings,
        spark_seconds: float,
        expecting: Expecting | None,
    ) -> None:
        self.limits = ChangeLimits(deploy.at_once or None, deploy.per_broker or None)
        self._overlay = overlay
        self._windows = windows
        self._deploy = deploy
        self._spark_seconds = spark_seconds
        self._expecting = expecting
        self._healing = HealingDatabases(overlay.coord, overlay.layout)
        self._measuring = ThreadPoolExecutor(1, "measuring")

    @classmethod
    @asynccontextmanager
    async def opened(
        cls, settings: EstateSettings, windows: Windows | None = None
    ) -> AsyncIterator["RegraftEstate"]:
        """`windows` measures instead of our own Spark session. `BadInput` if ZooKeeper cannot be reached, no
        overlay is there, or another loop runs on it."""
        where, layout = ensemble(settings.zookeeper, settings.overlay)
        deploy = RunSettings(**asdict(settings.deploy), gives_way=True)
        async with RunningOverlay.connected(where, layout) as overlay:
            measurer = windows or measurer_of(settings, overlay.known)
            estate = cls(overlay, measurer, deploy, settings.spark.time_limit, _expecting(settings))
            try:
                yield estate
            finally:
                measurer.stop()
                estate._measuring.shutdown(wait=False, cancel_futures=True)

    @property
    def known(self) -> Known | None:
        return self._overlay.known

    async def refresh(self) -> Known:
        with _faults_as_away():
            return await self._overlay.refresh()

    async def probe(self) -> Known:
        with _faults_as_away():
            return await self._overlay.probe()

    async def follow(self, changed: Callable[[Known], None], failed: Callable[[str], None]) -> None:
        await self._overlay.follow(changed, failed)

    async def brokers(self) -> Mapping[str, BrokerFacts]:
        with _faults_as_away():
            return await self._overlay.brokers()

    async def warm(self) -> None:
        await self._in_thread(self._windows.warm)

    async def measure(self, start: float, end: float) -> WindowAndCounts:
        try:
            async with asyncio.timeout(self._spark_seconds):
                return await self._in_thread(self._measured, start, end)
        except TimeoutError:
            # The thread may hang in the session for ever, so it is left behind, too.
            self._windows.abandon()
            self._measuring.shutdown(wait=False, cancel_futures=True)
            self._measuring = ThreadPoolExecutor(1, "measuring")
            raise RegraftError(f"Spark has not answered within {self._spark_seconds:g} s") from None

    def _measured(self, start: float, end: float) -> WindowAndCounts:
        """With what to expect after the window."""
        found = self._windows.measure(start, end)
        return found._replace(window=self._expecting.after(found.window)) if self._expecting else found

    async def _in_thread(self, work: Callable[..., T], *arguments: float) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._measuring, work, *arguments)

    async def read_window(self, start: float, end: float) -> MeasuredWindow:
        return await asyncio.to_thread(self._windows.read, start, end)

    def check_disk(self) -> None:
        self._windows.check_disk()

    async def carry_out(self, plan: Plan, tell: TellProgress) -> Outcome:
        with _faults_as_away():
            return await runs.carry_out(self._overlay, plan, self._deploy, runs.telling(tell))

    async def resume(self, plan: Plan | None, back: bool, tell: TellProgress) -> Outcome | Ended:
        with _faults_as_away():
            return await runs.finish_interrupted(self._overlay, plan, back, self._deploy, runs.telling(tell))

    async def roll_back(self, tell: TellProgress) -> Outcome:
        with _faults_as_away():
            return await runs.take_back(self._overlay, self._deploy, runs.telling(tell))

    async def ask(self, wanted: WantedOfRun) -> None:
        with _faults_as_away():
            await order_run(self._overlay.coord, self._overlay.layout, wanted)

    async def interrupted(self) -> str | None:
        with _faults_as_away():
            return await runs.interrupted(self._overlay)

    async def last_run(self) -> LastRun | None:
        with _faults_as_away():
            run = await runs.run_of_journal(self._overlay)
        return None if run is None else LastRun(run.id, run.sha256, run.state, run.back)

    async def tell_healing(self, measured: MeasuredWindow, network: Topology | None) -> None:
        demand = demand_of(measured.id, measured.workload.traffic, network)
        with _faults_as_away():
            await publish(self._overlay.coord, self._overlay.layout, demand)

    async def rules(self) -> HealingRules:
        with _faults_as_away():
            return await self._healing.rules()

    async def put_rules(
        self, rules: Mapping[str, str], definitions: Mapping[str, float | str | bool]
    ) -> HealingRules:
        with _faults_as_away():
            return await self._healing.put_rules(rules, definitions)

    async def adaptations(self, limit: int) -> tuple[HealingRecord, ...]:
        with _faults_as_away():
            return await self._healing.adaptations(limit)


def _expecting(settings: EstateSettings) -> Expecting | None:
    if settings.forecast is None:
        return None
    return Expecting(settings.state.folder / TABLES_FOLDER, settings.window, *settings.forecast)


def measurer_of(settings: EstateSettings, known: Known | None) -> Measurer:
    is_tree = known is not None and known.topology.kind == "tree"
    return Measurer(
        settings.telemetry,
        settings.spark,
        settings.state.folder / TABLES_FOLDER,
        settings.window,
        settings.state.least_free,
        tables=TREE_TABLES if is_tree else TABLES,
        windows=settings.state.windows,
    )
