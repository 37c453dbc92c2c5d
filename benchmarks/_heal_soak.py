"""`scripts/bench heal --part soak`: 15 nodes, one killed every 3 s for 5 minutes, at 500 messages/s.

Meanwhile one of two destination databases is killed, and one of three ZooKeeper servers; the server stays
away, the database is started again. Killed nodes are started again after a moment and join. Victims are
drawn from all nodes that run, leaders and nodes with deputies included. Nothing may be lost, duplicated or
reordered, and at the end the topology is a tree of all that live.
"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks._table import Line

from regraft.broker.io.running import run
from regraft.heal.database.records import Adaptation
from regraft.heal.limits import RemovalLimits
from regraft.model import Topology
from regraft.node.healing.settings import NodeSettings
from regraft.testing.healing_overlay import HealingOverlay, healing_overlay
from regraft.testing.healing_traffic import HealingTraffic, Wrong

NODES = 15
REST_SECONDS = 1.0
"""Before a killed node is started again."""
SETTLE_SECONDS = 120.0
DEGREE = 4


@dataclass
class Soaked:
    killed: list[str] = field(default_factory=list)
    wrong: Wrong = field(default_factory=lambda: Wrong(0, 0, 0))
    published: int = 0
    latencies: list[float] = field(default_factory=list)
    adaptations: tuple[Adaptation, ...] = ()
    whole: bool = False
    """At the end every node is in the overlay again, and it is a tree."""


def lines(seconds: float, every: float, rate: float, seed: int) -> Iterator[Line]:
    with TemporaryDirectory(prefix="regraft-bench-") as folder:
        soaked = run(soak(Path(folder), seconds, every, rate, Random(seed)))
    what = f"soak, {NODES} nodes, {len(soaked.killed)} kills in {seconds:g} s at {rate:g} messages/s"
    lost, duplicated, reordered = soaked.wrong
    yield Line(
        f"{what}: lost, duplicated, reordered of {soaked.published:,}",
        "0, 0, 0",
        f"{lost}, {duplicated}, {reordered}",
        soaked.wrong == (0, 0, 0),
        soaked.wrong._asdict(),
    )
    yield Line(f"{what}: at the end a tree of all nodes", "yes", str(soaked.whole), soaked.whole, {})
    times = sorted(1000 * each for each in soaked.latencies)
    if times:
        yield Line(
            f"{what}: delivery",
            "-",
            f"p50 {median(times):.1f} ms, p99 {times[int(0.99 * len(times))]:.0f}, worst {times[-1]:.0f}",
            None,
            {"p50_ms": median(times), "worst_ms": times[-1]},
        )
    done = [each for each in soaked.adaptations if each.outcome == "done"]
    kinds = {kind: sum(each.kind == kind for each in done) for kind in ("delete", "add")}
    yield Line(f"{what}: adaptations done", "-", f"{kinds['delete']} delete, {kinds['add']} add", None, kinds)


def tree(rng: Random) -> Topology:
    """Random, with at most so many links at a broker."""
    ids = [f"n{number:02d}" for number in range(NODES)]
    degrees = {ids[0]: 0}
    links = []
    for id in ids[1:]:
        near = rng.choice([each for each, degree in degrees.items() if degree < DEGREE])
        links.append((near, id))
        degrees[near] += 1
        degrees[id] = 1
    return Topology.of(links, ids)


async def soak(folder: Path, seconds: float, every: float, rate: float, rng: Random) -> Soaked:
    topology = tree(rng)
    soaked = Soaked()

    def change(settings: NodeSettings) -> NodeSettings:
        return replace(settings, removals=RemovalLimits(removals=1000, healthy=0))

    async with healing_overlay(topology, folder, change, servers=3) as overlay:
        homes = list(topology.ids)
        publishers, subscribers = rng.sample(homes, 5), rng.sample(homes, 4)
        async with HealingTraffic(overlay.nodes.addresses, publishers, subscribers, rate) as traffic:
            traffic.begin()
            starting: list[asyncio.Task[None]] = []
            others = asyncio.create_task(_kill_others(overlay, seconds, rng))
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                await asyncio.sleep(every)
                await _restart_ended(overlay)
                victim = rng.choice(sorted(overlay.nodes.running))
                soaked.killed.append(victim)
                await overlay.nodes.kill(victim)
                starting.append(asyncio.create_task(_again(overlay, victim)))
            await asyncio.gather(others, *starting)
            soaked.whole = await _whole(overlay, topology)
            soaked.wrong = await traffic.finish(SETTLE_SECONDS)
            soaked.published = sum(traffic.published)
            soaked.latencies = traffic.latencies()
        soaked.adaptations = await overlay.adaptations(10_000)
    return soaked


async def _again(overlay: HealingOverlay, id: str) -> None:
    await asyncio.sleep(REST_SECONDS)
    await overlay.nodes.restart(id)


async def _kill_others(overlay: HealingOverlay, seconds: float, rng: Random) -> None:
    """A database after a third of the time, a ZooKeeper server, whichever, after two thirds."""
    await asyncio.sleep(seconds / 3)
    await overlay.databases.kill("d1")
    await asyncio.sleep(seconds / 6)
    await overlay.databases.start("d1")
    await asyncio.sleep(seconds / 6)
    rng.choice(overlay.ensemble.nodes).kill()


async def _whole(overlay: HealingOverlay, topology: Topology) -> bool:
    deadline = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < deadline:
        now = await overlay.topology()  # which cannot be built if it is no tree
        if set(now.ids) == set(topology.ids):
            return True
        await _restart_ended(overlay)
        await asyncio.sleep(0.5)
    return False


async def _restart_ended(overlay: HealingOverlay) -> None:
    """One that was taken for dead has ended; it comes back as a newcomer."""
    for id, process in dict(overlay.nodes.running).items():
        if process.returncode is not None:
            await overlay.nodes.restart(id)
