"""What is known about brokers and links: costs, latencies, places, and which links are possible.

A file states it; without a file, it is what the brokers have measured.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path

from regraft.costs import Costs, RecentCosts, RoundTrips
from regraft.model import Broker, Ends, Link, Topology
from regraft.model.topology_files import read_topology

EARTH_KM = 6371.0
KM_PER_MS = 200.0
"""How far light travels through glass fibre."""
FEW = 16
"""How many of the nearest brokers of each one healing is told."""


@dataclass
class NetworkFacts:
    """`stated` is what the file holds. Without a file, every pair may be linked, and costs what was measured;
    without measurements (`measures` is false, or there are none yet) everything costs 1."""

    stated: Topology | None = None
    measures: bool = False
    _recent: RecentCosts = field(default_factory=RecentCosts, compare=False, repr=False)
    _costs: Costs | None = field(default=None, compare=False, repr=False)
    """Replaced as a whole: threads that design go on with what they have begun with."""

    @classmethod
    def of(cls, path: Path | None, measures: bool = False) -> "NetworkFacts":
        return cls(read_topology(path) if path is not None else None, measures)

    def learn(self, measured: RoundTrips, topology: Topology) -> None:
        """Take in what a window has shown of the topology's brokers. Windows come in order."""
        if self.measures and self.stated is None:
            ids = set(topology.ids)
            costs = self._recent.take({pair: took for pair, took in measured.items() if ids.issuperset(pair)})
            if costs is not None:
                costs.estimate()
            self._costs = costs

    @property
    def typical_ms(self) -> float | None:
        """The round trip of a measured link that costs 1. It is kept over restarts, as are costs by that."""
        return self._recent.typical_ms

    @typical_ms.setter
    def typical_ms(self, known: float | None) -> None:
        self._recent.typical_ms = known

    def for_repairs(self, topology: Topology) -> Topology | None:
        """What healing is told: few links, because it has to be small. A broker that is joined anew is joined
        to one that is near."""
        if self.stated is not None or (costs := self._costs) is None:
            return self.stated
        return costs.whole_network(topology, FEW, FEW)

    def annotated(self, topology: Topology) -> Topology:
        """The topology with the facts that are known about its brokers and links."""
        if self.stated is None:
            return topology if (costs := self._costs) is None else costs.annotated(topology)
        known = {broker.id: broker for broker in self.stated.brokers}
        brokers = tuple(known.get(id) or Broker(id) for id in topology.ids)
        where = {broker.id: broker for broker in brokers}
        links = tuple(self._link(pair, where) for pair in topology.by_ends)
        return Topology(brokers, links, topology.kind)

    def _link(self, pair: Ends, brokers: dict[str, Broker]) -> Link:
        """A link that the file lacks has the latency of light between its ends, if their places are known."""
        assert self.stated is not None
        return self.stated.by_ends.get(pair) or Link(
            pair, latency_ms=_distance_ms(brokers[pair[0]], brokers[pair[1]])
        )

    def possible(self, topology: Topology) -> Topology | None:
        """The links that a tree over these brokers may use: those of a mesh in the file, and its own ones.

        None if every pair may be linked at the same cost: a file that holds a tree states costs, and forbids
        no links.
        """
        if (costs := self._costs) is not None:
            return costs.network(topology)
        if self.stated is None or self.stated.kind == "tree" or len(self.stated.links) < len(self.stated.ids):
            return None
        annotated = self.annotated(topology)
        known = set(topology.ids)
        possible = {pair: link for pair, link in self.stated.by_ends.items() if known.issuperset(pair)}
        links = {link.ends: link for link in annotated.links} | possible
        return Topology(annotated.brokers, tuple(links.values()), "mesh")


def _distance_ms(one: Broker, other: Broker) -> float | None:
    places = (one.latitude, one.longitude, other.latitude, other.longitude)
    if any(place is None for place in places):
        return None
    a, b, c, d = (math.radians(place) for place in places if place is not None)
    half = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(half)) / KM_PER_MS
