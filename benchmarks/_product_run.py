"""The course of the product's soak: everything runs, hot spots move, something fails, memory is sampled."""

import asyncio
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from benchmarks._product_failures import Failure, Striker, Supervisor, kinds, spark_java
from benchmarks._product_memory import (
    MIB,
    Growth,
    as_json,
    descendants,
    folder_bytes,
    growths,
    read,
    take,
)
from benchmarks._product_traffic import Latencies, everybody, hottest, rates

from regraft.demo.network import SMALL, network
from regraft.demo.running import Options, Scene, running, scene
from regraft.demo.tally import Counts
from regraft.model import Topology
from regraft.serve import views as v
from regraft.serve.service import Service

SAMPLE_SECONDS = 10.0
DISK_SECONDS = 60.0
COUNT_SECONDS = 300.0
WHOLE_SECONDS = 120.0
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Asked:
    small: bool = False
    seconds: float = 3600.0
    every: float = 60.0
    shift: float = 240.0
    rate: float = 60.0
    seed: int = 1

    @property
    def options(self) -> Options:
        """The loop as somebody would run it who wants much of it, with little kept."""
        return Options(
            cities=SMALL if self.small else (),
            rate=self.rate,
            window=20.0,
            settings={
                "loop": {"confirm": 2, "least_gain": 0.05, "cool_down": "60s", "settle": "2s"},
                "telemetry": {"keep": "10m"},
                "state": {"windows": 30},
                "automatic": {"actions_per_hour": 0, "transformations_per_hour": 0},
            },
        )


@dataclass
class Soaked:
    asked: Asked
    counts: Counts = field(default_factory=Counts)
    failures: list[Failure] = field(default_factory=list)
    end: str = ""
    """`yes`, or what is not as it should be."""
    latencies: Latencies = field(default_factory=Latencies)
    shifts: int = 0
    loop: dict[str, Any] = field(default_factory=dict)
    adaptations: dict[str, int] = field(default_factory=dict)
    unasked: list[tuple[float, str]] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
    disk: list[tuple[float, dict[str, int]]] = field(default_factory=list)
    series: list[tuple[float, dict[str, int]]] = field(default_factory=list)

    @property
    def loop_text(self) -> str:
        done = self.loop.get("operations", {}).get("done", 0)
        decided = self.loop.get("decisions", {})
        said = ", ".join(f"{count} {kind}" for kind, count in sorted(decided.items()))
        return f"{self.shifts}; {self.loop.get('windows', 0)} windows measured, {done} changes done ({said})"

    @property
    def healing_text(self) -> str:
        return ", ".join(f"{count} {what}" for what, count in sorted(self.adaptations.items())) or "none"

    @property
    def disks(self) -> dict[str, tuple[int, int]]:
        if not self.disk:
            return {}
        early, late = self.disk[len(self.disk) // 3][1], self.disk[-1][1]
        return {name: (early.get(name, 0), late[name]) for name in late}

    def as_json(self) -> dict[str, Any]:
        return {
            "asked": asdict(self.asked),
            "counts": msgspec.to_builtins(self.counts),
            "failures": [asdict(each) for each in self.failures],
            "ended_by_themselves": self.unasked,
            "end": self.end,
            "p50_ms": self.latencies.quantile(0.5),
            "p99_ms": self.latencies.quantile(0.99),
            "worst_ms": self.latencies.worst,
            "hot_spots_moved": self.shifts,
            "loop": self.loop,
            "adaptations": self.adaptations,
            "memory": [as_json(each) for each in self.growths],
            "memory_series": self.series,
            "disk": self.disk,
        }


async def soak(asked: Asked, folder: Path) -> Soaked:
    """Ctrl-C or a polite kill ends it early; what there was is counted all the same."""
    rng = Random(asked.seed)
    options = asked.options
    work = everybody(network(options.cities).ids, asked.rate, rng)
    seen = scene(options, _say, work)
    soaking = Soaking(asked, seen, folder, rng)
    async with running(seen, options, folder):
        await soaking.run()
    return soaking.soaked


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}", file=sys.stderr, flush=True)


class Soaking:
    def __init__(self, asked: Asked, seen: Scene, folder: Path, rng: Random) -> None:
        self.soaked = Soaked(asked)
        self._asked = asked
        self._seen = seen
        self._folder = folder
        self._rng = rng
        self._samples = folder / "memory.ndjson"
        self._stop = asyncio.Event()
        self._began = time.time()

    @property
    def _service(self) -> Service:
        assert self._seen.service is not None
        return self._seen.service

    async def run(self) -> None:
        stage = self._seen.stage
        assert stage is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._stop.set)
        self._began = time.time()
        self._supervisor = Supervisor(stage, Random(self._rng.random()))
        self._striker = Striker(self._seen, self._supervisor, Random(self._rng.random()))
        async with self._beside():
            await self._fail()
            await self._settled()
            await self._end()
        self._tell()

    @asynccontextmanager
    async def _beside(self) -> AsyncIterator[None]:
        """What goes on all the time; a fault of its own ends the soak."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(each)
                for each in (self._supervisor.run(), self._move(), self._sample(), self._drain())
            ]
            yield
            for task in tasks:
                task.cancel()

    async def _fail(self) -> None:
        """One failure each time, whether or not the one before is healed."""
        chosen = kinds(Random(self._rng.random()))
        strikes: list[asyncio.Task[Failure]] = []
        due = self._began + self._asked.every
        while due < self._began + self._asked.seconds and not await self._stopped(due):
            strikes.append(asyncio.create_task(self._strike(next(chosen))))
            due += self._asked.every
        await self._stopped(self._began + self._asked.seconds)
        await asyncio.gather(*strikes)

    async def _strike(self, kind: str) -> Failure:
        failure = await self._striker.strike(kind)
        took = f"healed after {failure.healed:.1f} s" if failure.healed is not None else "NOT HEALED"
        _say(f"{kind} {failure.victim}: {took} {failure.note}")
        return failure

    async def _stopped(self, until: float) -> bool:
        """Whether somebody has asked for the end before that moment."""
        try:
            async with asyncio.timeout(max(until - time.time(), 0)):
                await self._stop.wait()
        except TimeoutError:
            return False
        return True

    async def _move(self) -> None:
        assert self._seen.stage is not None
        while True:
            await asyncio.sleep(self._asked.shift)
            now = rates(self._seen.work, self._asked.rate, self._rng)
            self._seen.stage.set_rates(now)
            self.soaked.shifts += 1
            _say(f"hot: {', '.join(hottest(now))}")

    async def _drain(self) -> None:
        """Latencies are counted, not kept."""
        stage = self._seen.stage
        assert stage is not None
        while True:
            await asyncio.sleep(1.0)
            samples, stage.samples = stage.samples, []
            stage.published.clear()
            self.soaked.latencies.add(ms for _, ms in samples)

    # Memory and disk

    async def _sample(self) -> None:
        due, disk = time.time(), 0.0
        while True:
            await asyncio.sleep(max(due - time.time(), 0))
            now = round(time.time() - self._began, 1)
            totals = await asyncio.to_thread(self._measure, now)
            self.soaked.series.append((now, {kind: used // 1024 for kind, used in totals.items()}))
            if now - disk >= DISK_SECONDS:
                disk = now
                self.soaked.disk.append((now, await asyncio.to_thread(self._on_disk)))
                self._progress(now, totals)
            due += SAMPLE_SECONDS

    def _measure(self, now: float) -> dict[str, int]:
        return take(self._processes(), now, self._samples)

    def _processes(self) -> dict[int, tuple[str, str]]:
        stage = self._seen.stage
        assert stage is not None
        found = {os.getpid(): ("loop", "loop"), stage.clients.pid: ("clients", "clients")}
        found |= {process.pid: ("nodes", id) for id, process in dict(stage.nodes.running).items()}
        found |= {process.pid: ("databases", id) for id, process in dict(stage.databases.running).items()}
        if (java := spark_java(stage)) is not None:
            found[java] = ("java", "spark")
            found |= dict.fromkeys(descendants(java), ("workers of spark", ""))
        if (zookeeper := stage.ensemble.nodes[0].pid) is not None:
            found[zookeeper] = ("zookeeper", "")
        return found

    def _on_disk(self) -> dict[str, int]:
        assert self._seen.stage is not None
        zookeeper = self._seen.stage.ensemble.nodes[0].place
        places = {
            "telemetry": self._folder / "telemetry",
            "tables": self._folder / "loop" / "tables",
            "loop": self._folder / "loop",
            "zookeeper": zookeeper,
        }
        return {name: folder_bytes(place) for name, place in places.items()}

    def _progress(self, now: float, totals: Mapping[str, int]) -> None:
        assert self._seen.stage is not None
        so_far = self._seen.stage.so_far
        wrong = sum(so_far.get(name, 0) for name in ("duplicated", "reordered", "unwanted"))
        used = ", ".join(f"{kind} {total / MIB:.0f}" for kind, total in sorted(totals.items()))
        disk = ", ".join(f"{name} {size / MIB:.0f}" for name, size in self.soaked.disk[-1][1].items())
        _say(
            f"{now:.0f} of {self._asked.seconds:.0f} s: {so_far.get('published', 0)} published, "
            f"{so_far.get('delivered', 0)} delivered, {so_far.get('lost', 0)} under way, {wrong} wrong; "
            f"{len(self._seen.brokers)} brokers, loop {self._service.state().standing}; "
            f"MiB: {used}; disk: {disk}"
        )

    # The end

    async def _settled(self) -> None:
        """Everybody is back."""
        deadline = time.monotonic() + WHOLE_SECONDS
        while (wrong := self._not_whole()) and time.monotonic() < deadline:
            await asyncio.sleep(POLL_SECONDS)
        self.soaked.end = wrong or "yes"

    def _not_whole(self) -> str:
        ids = set(self._seen.net.ids)
        if missing := ids - set(self._seen.brokers):
            return f"not in the overlay: {', '.join(sorted(missing))}"
        if down := [id for id in ids if not self._supervisor.up(id)]:
            return f"not running: {', '.join(sorted(down))}"
        now = Topology.of(self._seen.links, sorted(ids))  # which cannot be made of what is no tree
        if len(now.links) != len(ids) - 1:
            return "no tree"
        checks = self._service.health().checks
        return "; ".join(f"{part}: {said}" for part, said in checks.items() if said != "ok")

    async def _end(self) -> None:
        stage = self._seen.stage
        assert stage is not None
        adaptations = await self._service.adaptations(10_000)
        self._service.pause("the soak counts", "soak")
        stage.finish()
        deadline = time.monotonic() + COUNT_SECONDS
        while stage.counts is None and time.monotonic() < deadline:
            await asyncio.sleep(POLL_SECONDS)
        self.soaked.counts = Counts(**(stage.counts or stage.so_far))
        if isinstance(adaptations, v.Refused):
            self.soaked.adaptations = {adaptations.reason: 1}
        else:
            self.soaked.adaptations = dict(Counter(f"{one.kind} {one.outcome}" for one in adaptations))
        while self._service.state().phase != "waiting" and time.monotonic() < deadline:
            await asyncio.sleep(POLL_SECONDS)

    def _tell(self) -> None:
        service, soaked = self._service, self.soaked
        soaked.failures = self._striker.failures
        soaked.unasked = [(at - self._began, id) for at, id in self._supervisor.unasked]
        soaked.growths = growths(read(self._samples))
        soaked.loop = {
            "decisions": dict(Counter(each.kind for each in service.decisions(1_000_000))),
            "operations": dict(Counter(each.state for each in service.operations(100_000))),
            "windows": sum(1 for each in service.snapshots(100_000) if each.publications),
            "seconds_to_measure": [round(each.seconds, 1) for each in service.snapshots(100_000)][::-1],
            "degraded": [each.text for each in service.decisions(1000, kind="degraded")],
        }
