"""The clients of the IPITT workload (§VI-A) as small tables, computed on the driver.

There are ten classes with two attributes between 0 and 1000. A subscriber's filter has one class, drawn by
Zipf with a = 1.1, and for each attribute a range between two uniform values. The subscriber is at a
uniformly drawn leaf. All publishers are at the root, the tree's first broker.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from regraft.model import BadInput, Topology
from regraft.model.tree_index import TreeIndex

Flags = npt.NDArray[np.bool_]

CLASSES = 10
LARGEST = 1000.0
ZIPF = 1.1
DEFAULT_LATENCY_MS = 30.0
"""For a link without a latency; the middle of IPITT's 10 to 50."""


class Subscriber(NamedTuple):
    """`way` is the latency from the root in microseconds; `crosses`: a changed link lies on it."""

    name: str
    broker: str
    topic: int
    low: tuple[float, float]
    high: tuple[float, float]
    way: int
    crosses: bool

    def filter(self) -> str:
        ranges = (
            f"{name} >= {low!r} AND {name} <= {high!r}"
            for name, low, high in zip("xy", self.low, self.high, strict=True)
        )
        return " AND ".join((f"topic = '{topic_name(self.topic)}'", *ranges))


class Hop(NamedTuple):
    """A link away from the root; `way` is the latency from the root to its upper end."""

    sender: str
    receiver: str
    way: int
    changed: bool
    below: frozenset[int]
    """The places of the subscribers that it leads to, in `Clients.subscribers`."""


@dataclass(frozen=True)
class Clients:
    """`root` has the publishers; `hops` are the links that lead to a subscriber."""

    root: str
    subscribers: tuple[Subscriber, ...]
    hops: tuple[Hop, ...]

    def paths(self) -> list[int]:
        """For every subscriber, the links from the root to it: bit n stands for hop n."""
        paths = [0] * len(self.subscribers)
        for number, hop in enumerate(self.hops):
            for place in hop.below:
                paths[place] |= 1 << number
        return paths


def clients(topology: Topology, subscribers: int, changed: float, seed: int) -> Clients:
    """`changed` is the share of links that the transformation of the run touches."""
    if subscribers < 1:
        raise BadInput("subscribers", f"must be at least 1, not {subscribers}")
    index = TreeIndex.of(topology)
    random = np.random.default_rng([seed, 5, subscribers, len(index.ids)])
    ways = _ways(topology, index)
    touched = random.random(len(index.ids)) < changed
    touched[0] = False
    crosses = index.from_root(touched.astype(np.float64)) > 0
    places = _homes(index, subscribers, random)
    there = tuple(_subscribers(index, places, ways, crosses, random))
    return Clients(index.ids[0], there, tuple(_hops(index, places, ways, touched)))


def topic_name(number: int) -> str:
    return f"c{number}"


def matches_per_publication(all: Clients, seed: int, trials: int = 2000) -> float:
    """How many records one publication causes on average: itself, its hops and its deliveries."""
    random = np.random.default_rng([seed, 6])
    topics = random.integers(0, CLASSES, trials)
    point = random.uniform(0, LARGEST, (trials, 2))
    asked = np.array([subscriber.topic for subscriber in all.subscribers])
    low = np.array([subscriber.low for subscriber in all.subscribers])
    high = np.array([subscriber.high for subscriber in all.subscribers])
    matched = topics[:, None] == asked[None, :]
    for axis in (0, 1):
        matched &= (point[:, axis, None] >= low[:, axis]) & (point[:, axis, None] <= high[:, axis])
    hops = sum(float(matched[:, sorted(hop.below)].any(axis=1).mean()) for hop in all.hops)
    return 1.0 + float(matched.sum(axis=1).mean()) + hops


def _ways(topology: Topology, index: TreeIndex) -> list[int]:
    latencies = index.link_latencies(topology)
    if latencies is None:
        latencies = np.full(len(index.ids), DEFAULT_LATENCY_MS)
    return [round(1000 * way) for way in index.from_root(latencies).tolist()]


def _homes(index: TreeIndex, subscribers: int, random: np.random.Generator) -> list[int]:
    inner = set(index.parent.tolist()[1:])
    leaves = [place for place in range(len(index.ids)) if place not in inner] or [0]
    return [leaves[number] for number in random.integers(0, len(leaves), subscribers).tolist()]


def _subscribers(
    index: TreeIndex, places: list[int], ways: list[int], crosses: Flags, random: np.random.Generator
) -> Iterator[Subscriber]:
    shares = np.arange(1, CLASSES + 1, dtype=np.float64) ** -ZIPF
    topics = random.choice(CLASSES, len(places), p=shares / shares.sum()).tolist()
    ends = np.sort(random.uniform(0, LARGEST, (len(places), 2, 2)).round(3), axis=1).tolist()
    for number, (place, topic, (low, high)) in enumerate(zip(places, topics, ends, strict=True)):
        yield Subscriber(
            f"s{number}",
            index.ids[place],
            topic,
            (low[0], low[1]),
            (high[0], high[1]),
            ways[place],
            bool(crosses[place]),
        )


def _hops(index: TreeIndex, places: list[int], ways: list[int], touched: Flags) -> Iterator[Hop]:
    parents, ends = index.parent.tolist(), index.end.tolist()
    for lower in range(1, len(index.ids)):
        below = frozenset(number for number, place in enumerate(places) if lower <= place < ends[lower])
        if below:
            upper = parents[lower]
            yield Hop(index.ids[upper], index.ids[lower], ways[upper], bool(touched[lower]), below)
