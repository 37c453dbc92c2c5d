"""What a window has shown of round trips, and what the last windows say together."""

from collections import deque
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any, TypeAlias

from regraft.costs.costs import LEAST_MS, Costs
from regraft.model import Ends, ends

RoundTrips: TypeAlias = Mapping[tuple[str, str], float]
"""The least round trip that a broker has measured to another, in milliseconds."""
MOST_MICROSECONDS = 1e7
"""Probes give up long before; a record that says more is wrong."""
BLOCKS, BLOCK = 6, 10
"""The least round trip of the last 50 to 60 windows counts: a single one may have met a busy moment. They are
kept as the least ones of blocks of windows."""


def round_trips(rows: Iterable[Mapping[str, Any]]) -> RoundTrips:
    """From rows of the table `link_costs` (from, to, round_trip)."""
    found: dict[tuple[str, str], float] = {}
    for row in rows:
        pair, took = (row["from"], row["to"]), row["round_trip"]
        if took is not None and 0 < took <= MOST_MICROSECONDS and pair[0] != pair[1]:
            _take_least(found, {pair: took / 1000})
    return found


class RecentCosts:
    """Takes windows in order. What a link of typical length is stays what it was when round trips were first
    known, or what it is told to be: the costs of two windows can be compared."""

    def __init__(self, typical_ms: float | None = None) -> None:
        self._blocks: deque[dict[tuple[str, str], float]] = deque(maxlen=BLOCKS)
        self._windows = 0
        self.typical_ms = typical_ms

    def take(self, measured: RoundTrips) -> Costs | None:
        """What is known after this window; None as long as no round trip was measured.

        Where both brokers have measured, the longer of their round trips counts: a broker that lies can make
        its links dearer, and not draw others' links to itself.
        """
        if self._windows % BLOCK == 0:
            self._blocks.append({})
        self._windows += 1
        _take_least(self._blocks[-1], measured)
        least: dict[tuple[str, str], float] = {}
        for block in self._blocks:
            _take_least(least, block)
        if not least:
            return None
        found: dict[Ends, float] = {}
        for (one, other), took in least.items():
            found[ends(one, other)] = max(took, least.get((other, one), 0.0))
        if self.typical_ms is None:
            self.typical_ms = median(max(took, LEAST_MS) for took in found.values())
        return Costs(found, self.typical_ms)


def _take_least(known: dict[tuple[str, str], float], more: RoundTrips) -> None:
    for pair, took in more.items():
        if took < known.get(pair, float("inf")):
            known[pair] = took
