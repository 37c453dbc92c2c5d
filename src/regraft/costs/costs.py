"""C_l and C_b of OCBR's cost function, from measured times.

A link costs its round trip, divided by that of a typical link; a broker costs its processor time for a
message, divided by that of a typical broker. So costs are about 1, and α, β and the prices of changes mean
the same as where nothing was measured. Differences that say nothing are left out: round trips below a
millisecond count as one, because on a local network they are mostly noise; processor times are rounded
to half a power of two. A pair that nobody has measured has an estimated round trip (`coordinates`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from statistics import median

import numpy as np

from regraft.costs.coordinates import Coordinates, fitted
from regraft.model import Broker, Ends, Link, Topology, ends

LEAST_MS = 1.0
LEAST_BROKER, MOST_BROKER = 0.25, 4.0
"""No broker is so cheap, or so dear, that links hardly count beside it."""
MOST_DENSE = 300
"""With more brokers, a network has only the nearest ones of each: it would have too many links."""
NEAREST = 32
PLAIN = Link(("", ""))


@dataclass(frozen=True, eq=False)
class Costs:
    """`round_trips` in milliseconds, by pairs in sorted order; `processor` in microseconds for a message."""

    round_trips: Mapping[Ends, float]
    processor: Mapping[str, float]
    typical_ms: float

    def link(self, pair: Ends) -> Link:
        """The link between two brokers, with its latency in one direction and its cost; without both if
        nothing is known of one of them."""
        took = self.round_trip(pair)
        if took is None:
            return Link(pair)
        cost = max(took, LEAST_MS) / self.typical_ms
        return Link(pair, latency_ms=round(took / 2, 3), cost=round(cost, 3))

    def round_trip(self, pair: Ends) -> float | None:
        """Measured, or else estimated; None if one of the brokers was never measured."""
        if (took := self.round_trips.get(pair)) is not None:
            return took
        number = self._numbers
        if pair[0] not in number or pair[1] not in number:
            return None
        one, other = (np.array([number[id]]) for id in pair)
        return float(self._coordinates.between(one, other)[0])

    def broker_cost(self, id: str) -> float:
        took = self.processor.get(id)
        if took is None or took <= 0:
            return 1.0
        typical = median(self.processor.values())
        steps = round(2 * math.log2(took / typical)) if typical > 0 else 0
        return min(MOST_BROKER, max(LEAST_BROKER, math.exp2(steps / 2)))

    def annotated(self, topology: Topology) -> Topology:
        """The topology with what was measured; what it states itself stays."""
        brokers = tuple(
            replace(each, cost=self.broker_cost(each.id)) if each.cost == Broker("").cost else each
            for each in topology.brokers
        )
        links = tuple(
            self.link(each.ends) if (each.cost, each.latency_ms) == (PLAIN.cost, PLAIN.latency_ms) else each
            for each in topology.links
        )
        return Topology(brokers, links, topology.kind)

    def network(self, topology: Topology) -> Topology | None:
        """The links that these brokers may have; None if all pairs may be linked at the same cost."""
        ids = set(topology.ids)
        known = (pair for pair in self.round_trips if ids.issuperset(pair))
        if all(self.link(pair).cost == PLAIN.cost for pair in known):
            return None
        return self.whole_network(topology)

    def whole_network(self, topology: Topology) -> Topology:
        """All pairs of the topology's brokers with their costs; with many brokers, the nearest ones of each
        and the topology's links."""
        ids = set(topology.ids)
        now = self.annotated(topology)
        pairs = combinations(sorted(ids), 2) if len(ids) <= MOST_DENSE else iter(self._near(sorted(ids)))
        links = {pair: self.link(pair) for pair in pairs} | dict(now.by_ends)
        return Topology(now.brokers, tuple(links.values()), "mesh")

    def _near(self, ids: list[str]) -> list[Ends]:
        """Each broker's nearest ones, measured or estimated; none for brokers of which nothing is known."""
        ids = [id for id in ids if id in self._numbers]
        rows = np.array([self._numbers[id] for id in ids])
        place = {id: at for at, id in enumerate(ids)}
        found = set[Ends]()
        measured = dict[int, list[tuple[int, float]]]()
        for (one, other), took in self.round_trips.items():
            if one in place and other in place:
                measured.setdefault(place[one], []).append((place[other], took))
                measured.setdefault(place[other], []).append((place[one], took))
        for at, id in enumerate(ids):
            times = self._coordinates.between(np.full(len(ids), rows[at]), rows)
            for number, took in measured.get(at, ()):
                times[number] = took
            times[at] = math.inf
            nearest = np.argpartition(times, NEAREST)[:NEAREST].tolist()
            found.update(ends(id, ids[number]) for number in nearest)
        return sorted(found)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {
            id: number for number, id in enumerate(sorted({id for pair in self.round_trips for id in pair}))
        }

    @cached_property
    def _coordinates(self) -> Coordinates:
        number = self._numbers
        one, other = (np.array([number[pair[end]] for pair in self.round_trips], np.int64) for end in (0, 1))
        times = np.array(list(self.round_trips.values()))
        return fitted(len(number), one, other, np.maximum(times, 1e-3))
