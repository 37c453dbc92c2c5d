"""What a window has shown of round trips and processor time, and what the last windows say together."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any, NamedTuple

from regraft.costs.costs import LEAST_MS, Costs
from regraft.model import Ends, ends

RECENT = 60
"""From how many windows the least round trip is taken: a single one may have met a busy moment."""
LEAST_MESSAGES = 1000
"""With fewer messages in a window, most of a broker's processor time goes into other work."""


class MeasuredCosts(NamedTuple):
    """The least round trip of each pair of brokers in milliseconds, and the processor time of each broker for
    one message that it took or sent, in microseconds."""

    round_trips: Mapping[Ends, float]
    processor: Mapping[str, float]

    @classmethod
    def of_rows(
        cls, links: Iterable[Mapping[str, Any]], load: Iterable[Mapping[str, Any]]
    ) -> "MeasuredCosts":
        """From rows of the tables `link_costs` (from, to, round_trip) and `broker_load`."""
        trips: dict[Ends, float] = {}
        for row in links:
            pair, took = ends(row["from"], row["to"]), row["round_trip"]
            if took is not None and took > 0 and pair[0] != pair[1]:
                trips[pair] = min(took / 1000, trips.get(pair, took / 1000))
        seconds, messages = Counter[str](), Counter[str]()
        for row in load:
            handled = sum(row[name] or 0 for name in ("publications", "hops_in", "hops_out", "deliveries"))
            if row["cpu"] and handled >= LEAST_MESSAGES:
                seconds[row["broker"]] += row["cpu"]
                messages[row["broker"]] += handled
        return cls(trips, {id: 1e6 * took / messages[id] for id, took in seconds.items()})


class RecentCosts:
    """Takes windows in order. What a link of typical length is stays what it was when round trips were first
    known: the costs of two windows can be compared."""

    def __init__(self) -> None:
        self._recent: deque[MeasuredCosts] = deque(maxlen=RECENT)
        self._typical: float | None = None

    def take(self, measured: MeasuredCosts) -> Costs | None:
        """What is known after this window; None as long as no round trip was measured."""
        self._recent.append(measured)
        trips: dict[Ends, float] = {}
        processor: dict[str, list[float]] = {}
        for each in self._recent:
            for pair, took in each.round_trips.items():
                trips[pair] = min(took, trips.get(pair, took))
            for id, cost in each.processor.items():
                processor.setdefault(id, []).append(cost)
        if not trips:
            return None
        if self._typical is None:
            self._typical = median(max(took, LEAST_MS) for took in trips.values())
        return Costs(trips, {id: median(costs) for id, costs in processor.items()}, self._typical)
