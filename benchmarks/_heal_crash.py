"""`scripts/bench heal`, the experiment of Mimosa Pudica §5: random brokers crash under 1,250 events/s.

*Simple*: one path of five brokers. *Bottleneck*: paths of five that cross in one broker, which is the one
that crashes. After each crash the killed node is started again, and when it has joined the paths are made
as they were: every crash meets the same overlay. The peak is the longest delivery around a crash; the four
phases are those that the leader has written down.
"""

import asyncio
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks._table import Line

from regraft.broker.io.running import run
from regraft.deploy.begin import RunSettings
from regraft.deploy.execute import execute
from regraft.heal.database.records import Adaptation
from regraft.model import BadInput, Plan, Topology
from regraft.plan import make_plan, verify
from regraft.testing.healing_overlay import HealingOverlay, healing_overlay
from regraft.testing.healing_traffic import HealingTraffic, Wrong

RATE = 1250.0
PUBLICATIONS = 50
"""Between two crashes, at least."""
AROUND = 0.05
WANTED_MS = 60.0
SEED = {"simple": "65-85 ms, 30 + 8 + 15 + 18", "bottleneck": "65-85 ms, 30 + 15 + 22 + 20"}


class Setting(NamedTuple):
    """`homes`: of publishers and of subscribers; `victims`: one of them crashes."""

    name: str
    topology: Topology
    publishers: list[str]
    subscribers: list[str]
    victims: list[str]


class Crash(NamedTuple):
    victim: str
    peak_ms: float
    healed_s: float
    """Until the dead broker was out of the overlay."""
    adaptation: Adaptation


class Measured(NamedTuple):
    normal: list[float]
    crashes: list[Crash]
    wrong: Wrong
    published: int


def simple() -> Setting:
    ids = [f"b{number}" for number in range(5)]
    return Setting("simple", Topology.of(pairwise(ids), ids), [ids[0]] * 5, [ids[-1]], ids[1:-1])


def bottleneck() -> Setting:
    paths = [[f"{path}0", f"{path}1", "hub", f"{path}3", f"{path}4"] for path in "ac"]
    links = [link for path in paths for link in pairwise(path)]
    firsts, lasts = [path[0] for path in paths], [path[-1] for path in paths]
    return Setting("bottleneck", Topology.of(links), firsts * 2, lasts, ["hub"])


def lines(rounds: int, seed: int, only: str = "") -> Iterator[Line]:
    for setting in (simple(), bottleneck()):
        if only not in ("", setting.name):
            continue
        with TemporaryDirectory(prefix="regraft-bench-") as folder:
            measured = run(measure(setting, Path(folder), rounds, Random(seed)))
        yield from judged(setting, measured)


def judged(setting: Setting, measured: Measured) -> Iterator[Line]:
    crashes = measured.crashes
    peaks = sorted(crash.peak_ms for crash in crashes)
    normal = sorted(1000 * each for each in measured.normal)
    phases = ("timeout_ms", "vote_ms", "election_ms", "adaptation_ms")
    middle = {name: median(getattr(crash.adaptation, name) for crash in crashes) for name in phases}
    what = f"{setting.name} crash, {len(crashes)} of them at {RATE:g} events/s"
    yield Line(
        f"{what}: normal latency",
        "8-12 ms (seed)",
        f"{median(normal):.1f} ms, p99 {normal[int(0.99 * len(normal))]:.1f}",
        None,
        {"median_ms": median(normal)},
    )
    yield Line(
        f"{what}: peak latency",
        f"{WANTED_MS:g} ms median (seed: {SEED[setting.name]})",
        f"{median(peaks):.1f} ms (least {peaks[0]:.1f}, worst {peaks[-1]:.1f})",
        median(peaks) <= WANTED_MS,
        {"peaks_ms": [crash.peak_ms for crash in crashes]},
    )
    yield Line(
        f"{what}: timeout + vote + election + adaptation",
        "-",
        " + ".join(f"{value:.1f}" for value in middle.values()) + " ms (medians)",
        None,
        {**middle, "all": [[getattr(crash.adaptation, name) for name in phases] for crash in crashes]},
    )
    yield Line(
        f"{what}: the dead broker is out of the overlay after",
        "-",
        f"{median(crash.healed_s for crash in crashes):.2f} s",
        None,
        {"healed_s": [crash.healed_s for crash in crashes]},
    )
    lost, duplicated, reordered = measured.wrong
    yield Line(
        f"{what}: lost, duplicated, reordered of {measured.published:,}",
        "0, 0, 0",
        f"{lost}, {duplicated}, {reordered}",
        measured.wrong == (0, 0, 0),
        measured.wrong._asdict(),
    )


async def measure(setting: Setting, folder: Path, rounds: int, rng: Random) -> Measured:
    async with healing_overlay(setting.topology, folder) as overlay:
        homes = (setting.publishers, setting.subscribers)
        async with HealingTraffic(overlay.nodes.addresses, *homes, RATE) as traffic:
            traffic.begin()
            await asyncio.sleep(1.0)
            begun = time.monotonic()
            await asyncio.sleep(2.0)
            normal = traffic.latencies(begun, begun + 1.5)
            crashes = [await crash(overlay, traffic, setting, rng) for _ in range(rounds)]
            wrong = await traffic.finish()
            return Measured(normal, crashes, wrong, sum(traffic.published))


async def crash(overlay: HealingOverlay, traffic: HealingTraffic, setting: Setting, rng: Random) -> Crash:
    await asyncio.sleep(PUBLICATIONS / RATE + rng.uniform(0.3, 0.5))
    victim = rng.choice(setting.victims)
    known = {each.id for each in await overlay.adaptations()}
    killed = time.monotonic()
    await overlay.nodes.kill(victim)
    await overlay.without(victim)
    healed = time.monotonic() - killed
    await asyncio.sleep(0.2)
    peak = max(traffic.latencies(killed - AROUND, killed + 0.5))
    adaptation = await _adaptation(overlay, known, victim)
    await overlay.nodes.restart(victim)
    await overlay.nodes.joined(victim)
    await _restored(overlay, setting.topology)
    return Crash(victim, 1000 * peak, healed, adaptation)


async def _adaptation(overlay: HealingOverlay, known: set[str], victim: str) -> Adaptation:
    while True:
        for each in await overlay.adaptations():
            if each.id not in known and each.kind == "delete" and victim in each.cause and each.intents:
                return each
        await asyncio.sleep(0.05)


async def _restored(overlay: HealingOverlay, goal: Topology) -> None:
    """The paths as they were before the crash."""
    while (now := await overlay.topology()).sha256 != goal.sha256:
        plan = make_plan(now, goal)
        assert isinstance(plan, Plan)
        try:
            await execute(plan, overlay.coord, overlay.layout, verify, RunSettings(canaries=0))
        except BadInput:  # another run is not over yet
            await asyncio.sleep(0.1)
