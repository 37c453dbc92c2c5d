"""Traffic whose hot spots move: every few minutes other cities publish most of the events."""

from collections import Counter
from collections.abc import Iterable
from math import ceil, log
from random import Random

from regraft.demo.demands import Workload, workload

HOT = 4
"""Cities that are hot at a time."""
HOT_SHARE = 0.75
"""Of the events, theirs."""
WANTED = 8
"""Cities that a city subscribes to."""
FINEST = 0.1
STEP = 1.05
"""Latencies are counted in buckets, each so much wider than the one before."""


def everybody(cities: Iterable[str], rate: float, rng: Random) -> Workload:
    """Every city publishes, and subscribes to some of the others; some are hot."""
    names = list(cities)
    work = workload(names, rate, publishers=len(names))
    known = sorted(work.rates)
    wants = {
        city: tuple(sorted(rng.sample([each for each in known if each != city], min(WANTED, len(known) - 1))))
        for city in known
    }
    return Workload(rates(work, rate, rng), wants)


def rates(work: Workload, rate: float, rng: Random) -> dict[str, float]:
    """Other hot spots."""
    cities = sorted(work.rates)
    hot = set(rng.sample(cities, min(HOT, len(cities))))
    others = len(cities) - len(hot)
    return {
        city: rate * (HOT_SHARE / len(hot) if city in hot else (1 - HOT_SHARE) / max(others, 1))
        for city in cities
    }


def hottest(rates: dict[str, float]) -> list[str]:
    return sorted(rates, key=lambda city: (-rates[city], city))[:HOT]


class Latencies:
    """Counts in buckets: an hour of them takes as much room as a minute."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self.count = 0
        self.worst = 0.0

    def add(self, milliseconds: Iterable[float]) -> None:
        for each in milliseconds:
            self._buckets[ceil(log(max(each, FINEST) / FINEST) / log(STEP))] += 1
            self.count += 1
            self.worst = max(self.worst, each)

    def quantile(self, share: float) -> float | None:
        """The upper edge of the bucket that it is in: at most 5 % too much."""
        left = share * self.count
        for bucket, count in sorted(self._buckets.items()):
            left -= count
            if left <= 0:
                return float(FINEST * STEP**bucket)
        return None
