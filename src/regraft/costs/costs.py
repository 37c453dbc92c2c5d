"""C_l of OCBR's cost function, from measured round trips.

A link costs its round trip, divided by that of a typical link. So costs are about 1, and α, β and the prices
of changes mean the same as where nothing was measured. Round trips below a millisecond count as one, because
on a local network their differences are mostly noise. A pair that nobody has measured has an estimated round
trip (`coordinates`).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from regraft.costs.coordinates import Coordinates, fitted
from regraft.model import Ends, Link, Topology, ends

LEAST_MS = 1.0
MOST_DENSE = 300
"""With more brokers, a network has only the nearest ones of each: it would have too many links."""
NEAREST = 32


@dataclass(frozen=True, eq=False)
class Costs:
    """`round_trips` in milliseconds, by pairs in sorted order."""

    round_trips: Mapping[Ends, float]
    typical_ms: float

    def links(self, pairs: Iterable[Ends]) -> dict[Ends, Link]:
        """The links between these brokers, with their latencies in one direction and their costs; without
        both where nothing is known of one of the ends."""
        return {pair: self._priced(pair, took) for pair, took in self.known(pairs).items()}

    def known(self, pairs: Iterable[Ends]) -> dict[Ends, float | None]:
        """The round trips of these pairs, measured or else estimated; None if one of the brokers was never
        measured."""
        found = {pair: self.round_trips.get(pair) for pair in pairs}
        number = self._numbers
        guessed = [pair for pair, took in found.items() if took is None and number.keys() >= set(pair)]
        if guessed:
            one, other = (np.array([number[pair[end]] for pair in guessed]) for end in (0, 1))
            found.update(zip(guessed, self._coordinates.between(one, other).tolist(), strict=True))
        return found

    def _priced(self, pair: Ends, took: float | None) -> Link:
        if took is None:
            return Link(pair)
        cost = max(took, LEAST_MS) / self.typical_ms
        return Link(pair, latency_ms=round(took / 2, 3), cost=round(cost, 3))

    def annotated(self, topology: Topology) -> Topology:
        """The topology with what was measured; what it states itself stays."""
        measured = self.links(each.ends for each in topology.links if each == Link(each.ends))
        links = tuple(measured.get(each.ends, each) for each in topology.links)
        return Topology(topology.brokers, links, topology.kind)

    def network(self, topology: Topology) -> Topology | None:
        """The links that these brokers may have; None if all pairs may be linked at the same cost."""
        ids = set(topology.ids)
        measured = self.links(pair for pair in self.round_trips if ids.issuperset(pair))
        if all(link.cost == Link(pair).cost for pair, link in measured.items()):
            return None
        return self.whole_network(topology)

    def whole_network(self, topology: Topology, dense: int = MOST_DENSE, nearest: int = NEAREST) -> Topology:
        """All pairs of the topology's brokers with their costs; with more than `dense` brokers, the `nearest`
        ones of each and the topology's links."""
        ids = sorted(topology.ids)
        now = self.annotated(topology)
        pairs = combinations(ids, 2) if len(ids) <= dense else iter(self._near(ids, nearest))
        links = self.links(pairs) | dict(now.by_ends)
        return Topology(now.brokers, tuple(links.values()), "mesh")

    def _near(self, ids: list[str], nearest: int) -> list[Ends]:
        """Each broker's nearest ones, measured or estimated; none for brokers of which nothing is known."""
        ids = [id for id in ids if id in self._numbers]
        rows = np.array([self._numbers[id] for id in ids])
        place = {id: at for at, id in enumerate(ids)}
        measured = dict[int, list[tuple[int, float]]]()
        for (one, other), took in self.round_trips.items():
            if one in place and other in place:
                measured.setdefault(place[one], []).append((place[other], took))
                measured.setdefault(place[other], []).append((place[one], took))
        found = set[Ends]()
        most = min(nearest, len(ids) - 1)
        for at, id in enumerate(ids):
            times = self._coordinates.between(np.full(len(ids), rows[at]), rows)
            for number, took in measured.get(at, ()):
                times[number] = took
            times[at] = math.inf
            found.update(ends(id, ids[number]) for number in np.argsort(times, kind="stable")[:most].tolist())
        return sorted(found)

    def estimate(self) -> None:
        """Find the estimates now, which may take a second: later they are there at once."""
        if len(self.round_trips) < math.comb(len(self._numbers), 2):
            _ = self._coordinates

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
