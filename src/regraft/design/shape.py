"""The shape of an overlay: degrees, and the diameter of each topic (kTCO §VIII-D)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numba import njit

from regraft.design.check import arcs
from regraft.design.check_kernel import Ints, topic_graph
from regraft.model import Topology


@dataclass(frozen=True)
class Degrees:
    average: float
    most: int


def degrees(topology: Topology) -> Degrees:
    """Over all brokers, also those without a link."""
    counts = [len(near) for near in topology.neighbours.values()]
    return Degrees(sum(counts) / len(counts) if counts else 0.0, max(counts, default=0))


def topic_diameters(topology: Topology, interest: Mapping[str, Iterable[str]]) -> dict[str, int | None]:
    """The most hops between two nodes of each topic, within the topic; None if it is not connected."""
    number = {name: place for place, name in enumerate(topology.ids)}
    start, near = arcs(len(number), [(number[one], number[other]) for one, other in topology.by_ends])
    place = np.full(len(number), -1, np.int64)
    found: dict[str, int | None] = {}
    for topic, nodes in interest.items():
        members = np.array(sorted(number[name] for name in set(nodes)), np.int64)
        hops = int(diameter(*topic_graph(members, place, start, near)))
        found[topic] = None if hops < 0 else hops
    return found


@njit(cache=True, nogil=True)
def diameter(start: Ints, near: Ints) -> int:
    """By a breadth-first search from every node; −1 if the graph is not connected."""
    nodes = start.size - 1
    queue, hops = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    longest = 0
    for source in range(nodes):
        hops[:] = -1
        queue[0], hops[source], head, tail = source, 0, 0, 1
        while head < tail:
            v = queue[head]
            head += 1
            for at in range(start[v], start[v + 1]):
                w = near[at]
                if hops[w] < 0:
                    hops[w] = hops[v] + 1
                    queue[tail] = w
                    tail += 1
        if tail < nodes:
            return -1
        longest = max(longest, hops[queue[tail - 1]])
    return longest
