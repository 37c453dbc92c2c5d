"""`scripts/bench heal`, the repair decision: a dead broker of degree 20 in an overlay of 1,000 brokers."""

import time
from collections.abc import Iterator
from random import Random
from statistics import median

from benchmarks._table import Line

from regraft.heal.repair import Join, join, repaired
from regraft.model import Topology
from regraft.model.traffic import Traffic, TrafficClass

BROKERS, DEGREE, TIMES = 1_000, 20, 15
WANTED_MS = 20.0
CLASSES = ((100, 4), (1_000, 4), (1_000, 10), (5_000, 10))
"""Traffic classes, and the most members of one."""


def lines() -> Iterator[Line]:
    for classes, members in CLASSES:
        times, exact = [], True
        for seed in range(TIMES):
            rng = Random(seed)
            tree = overlay(rng)
            traffic = demands(rng, tree, classes, members)
            tree.neighbours  # noqa: B018 (whoever keeps the overlay has it)
            begun = time.perf_counter()
            found = join(tree, ["hub"], traffic)
            times.append(1000 * (time.perf_counter() - begun))
            assert isinstance(found, Join)
            repaired(tree, ["hub"], found)  # raises if it is no tree
            exact &= found.exact
        middle, worst = median(times), max(times)
        yield Line(
            f"repair decision, degree {DEGREE} of {BROKERS} brokers, {classes} classes of up to {members}",
            f"{WANTED_MS:g} ms",
            f"{middle:.1f} ms (worst of {TIMES}: {worst:.1f}){', proven cheapest' if exact else ''}",
            middle <= WANTED_MS,
            {"median_ms": middle, "worst_ms": worst, "exact": exact},
        )


def overlay(rng: Random) -> Topology:
    links = [("hub", f"n{i}") for i in range(DEGREE)]
    names = [f"n{i}" for i in range(DEGREE)]
    for i in range(BROKERS - DEGREE - 1):
        links.append((rng.choice(names), f"x{i}"))
        names.append(f"x{i}")
    return Topology.of(links)


def demands(rng: Random, tree: Topology, classes: int, members: int) -> Traffic:
    return tuple(
        TrafficClass(frozenset(rng.sample(tree.ids, rng.randint(2, members))), float(rng.randint(1, 50)))
        for _ in range(classes)
    )
