"""What is known of brokers and links beside which there are: costs, latencies, places, possible links."""

import math
from dataclasses import dataclass
from pathlib import Path

from regraft.model import Broker, Ends, Link, Topology
from regraft.model.topology_files import read_topology

EARTH_KM = 6371.0
KM_PER_MS = 200.0
"""Light in glass."""


@dataclass(frozen=True)
class Network:
    """`stated` is the file's; without one, every pair of brokers may be linked and everything costs 1."""

    stated: Topology | None = None

    @classmethod
    def of(cls, path: Path | None) -> "Network":
        return cls(read_topology(path) if path is not None else None)

    def dressed(self, topology: Topology) -> Topology:
        """The topology with what is known of its brokers and links."""
        if self.stated is None:
            return topology
        known = {broker.id: broker for broker in self.stated.brokers}
        brokers = tuple(known.get(id) or Broker(id) for id in topology.ids)
        where = {broker.id: broker for broker in brokers}
        links = tuple(self._link(pair, where) for pair in topology.by_ends)
        return Topology(brokers, links, topology.kind)

    def _link(self, pair: Ends, brokers: dict[str, Broker]) -> Link:
        """One that is not in the file takes as long as light between its ends, if their places are known."""
        assert self.stated is not None
        return self.stated.by_ends.get(pair) or Link(
            pair, latency_ms=_distance_ms(brokers[pair[0]], brokers[pair[1]])
        )

    def possible(self, topology: Topology) -> Topology | None:
        """The links that a tree over these brokers may use: those of a mesh in the file, and those it has.

        A file that holds a tree says what things cost, not that nothing else can be linked.
        """
        if self.stated is None or self.stated.kind == "tree" or len(self.stated.links) < len(self.stated.ids):
            return None
        dressed = self.dressed(topology)
        known = set(topology.ids)
        possible = {pair: link for pair, link in self.stated.by_ends.items() if known.issuperset(pair)}
        links = {link.ends: link for link in dressed.links} | possible
        return Topology(dressed.brokers, tuple(links.values()), "mesh")


def _distance_ms(one: Broker, other: Broker) -> float | None:
    places = (one.latitude, one.longitude, other.latitude, other.longitude)
    if any(place is None for place in places):
        return None
    a, b, c, d = (math.radians(place) for place in places if place is not None)
    half = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(half)) / KM_PER_MS
