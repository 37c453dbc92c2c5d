"""The soak's own parts: growth is found where there is some, hot spots move, every kind of failure comes."""

from itertools import islice
from pathlib import Path
from random import Random

import pytest
from benchmarks._product_failures import DECK, kinds
from benchmarks._product_memory import MIB, Sample, growth, memory, read, take, theil_sen
from benchmarks._product_traffic import Latencies, everybody, hottest, rates

from regraft.demo.network import SMALL


def life(pid: int, began: float, seconds: int, per_hour: float, level: float = 100 * MIB) -> list[Sample]:
    """A sample every ten seconds; while it warms up it grows much."""
    found = []
    for age in range(0, seconds, 10):
        used = round(level - 50 * MIB * max(0, 200 - age) / 200 + per_hour * age / 3600)
        noise = 3 * MIB if age % 170 == 0 else 0
        found.append(Sample(began + age, "nodes", f"n{pid}", pid, used, used + noise))
    return found


@pytest.mark.parametrize(("per_hour", "flat"), [(0.0, True), (4 * MIB, True), (8 * MIB, False)])
def test_growth_is_that_within_lives_whatever_dies_meanwhile(per_hour: float, flat: bool) -> None:
    samples = [
        each for pid, began in enumerate((0.0, 1300.0, 2600.0)) for each in life(pid, began, 1200, per_hour)
    ]
    found = growth("nodes", samples)
    assert found.slope == pytest.approx(per_hour, abs=0.2 * MIB)
    assert (found.lives, found.flat) == (3, flat)


def test_of_short_lives_nothing_is_said() -> None:
    found = growth("nodes", life(1, 0.0, 500, 100 * MIB))
    assert (found.slope, found.flat, found.lives) == (None, None, 0)


def test_single_peaks_do_not_move_the_slope() -> None:
    points = [(float(at), 1000.0 * (at == 50)) for at in range(100)]
    assert theil_sen(points) == 0.0


def test_a_sample_is_of_processes_that_live(tmp_path: Path) -> None:
    import os

    out = tmp_path / "memory.ndjson"
    totals = take({os.getpid(): ("loop", "loop"), 2**22 + 1: ("nodes", "gone")}, 1.0, out)
    (sample,) = read(out)
    assert (sample.kind, sample.at, totals) == ("loop", 1.0, {"loop": sample.used})
    assert 0 < sample.used <= sample.resident
    assert memory(2**22 + 1) is None


def test_every_kind_of_failure_comes_as_often_as_it_is_in_the_deck() -> None:
    drawn = list(islice(kinds(Random(3)), 3 * len(DECK)))
    for first in range(0, len(drawn), len(DECK)):
        assert sorted(drawn[first : first + len(DECK)]) == sorted(DECK)
    assert drawn[: len(DECK)] != drawn[len(DECK) : 2 * len(DECK)]


def test_hot_spots_move_and_the_rate_stays() -> None:
    rng = Random(1)
    work = everybody(SMALL, 60.0, rng)
    moved = rates(work, 60.0, rng)
    assert sum(work.rates.values()) == pytest.approx(60.0)
    assert sum(moved.values()) == pytest.approx(60.0)
    assert hottest(moved) != hottest(work.rates)
    assert all(city not in wanted for city, wanted in work.wants.items())


def test_latencies_are_counted_to_five_per_cent() -> None:
    latencies = Latencies()
    latencies.add(float(each) for each in range(1, 1001))
    assert latencies.quantile(0.5) == pytest.approx(500, rel=0.05)
    assert latencies.quantile(0.99) == pytest.approx(990, rel=0.05)
    assert (latencies.count, latencies.worst) == (1000, 1000.0)
