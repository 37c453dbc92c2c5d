"""The broker trees that the planners are measured on (IPITT §VI-A).

Twelve shapes of every size: maximum degree 5, 6 or 7, balanced or unbalanced, two seeds. A tree
grows level by level from its root; each broker draws its degree uniformly up to the maximum.

- balanced: from 2 upwards, so every broker has at least one child until the brokers run out, and
  the leaves lie in the last two levels;
- unbalanced: from 1 upwards, so a broker may be a leaf at any level. Only the last broker that
  could still grow must have a child, or the tree would end too small.

The goal tree differs in exactly the given share of the links, chosen at random. IPITT puts no
limit on the degrees of the goal tree, and neither do we.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from regraft.model import BadInput, Broker, Link, Topology, ends

LATENCY_MS = (10.0, 50.0)


class Shape(NamedTuple):
    """One of the twelve variations."""

    max_degree: int
    balanced: bool
    seed: int

    def __str__(self) -> str:
        return f"{self.max_degree}-{'balanced' if self.balanced else 'unbalanced'}-{self.seed}"


SHAPES = tuple(
    Shape(max_degree, balanced, seed)
    for max_degree in (5, 6, 7)
    for balanced in (True, False)
    for seed in (1, 2)
)


def trees(size: int, ratio: float, shape: Shape) -> tuple[Topology, Topology]:
    """The initial tree of this shape and size, and a goal tree with `ratio` of its links changed."""
    initial = tree(size, shape)
    return initial, with_links_changed(initial, ratio, shape.seed)


def tree(size: int, shape: Shape) -> Topology:
    if size < 1:
        raise BadInput("size", f"a tree needs at least one broker, not {size}")
    random = np.random.default_rng([shape.seed, shape.max_degree, shape.balanced, size])
    least = 2 if shape.balanced else 1
    degrees = random.integers(least, shape.max_degree, size=size, endpoint=True)
    parents = _parents(degrees.tolist())
    return _topology(size, [(parent, child) for child, parent in enumerate(parents, start=1)], random)


def with_links_changed(initial: Topology, ratio: float, seed: int) -> Topology:
    """Remove `ratio` of the links, then join the pieces by links that the initial tree does not have."""
    size, links = len(initial.ids), len(initial.links)
    changed = round(ratio * links)
    if not 0 <= changed < max(links, 1):
        raise BadInput("ratio", f"{ratio} of {links} links cannot be changed: at least one must stay")
    random = np.random.default_rng([seed, size, changed, 1])
    number = {id: index for index, id in enumerate(initial.ids)}
    old = [(number[link.ends[0]], number[link.ends[1]]) for link in initial.links]
    removed = set(random.choice(links, size=changed, replace=False).tolist()) if changed else set()
    kept = [link for index, link in enumerate(initial.links) if index not in removed]
    new = _joining(size, old, [link for index, link in enumerate(old) if index not in removed], random)
    latencies = random.uniform(*LATENCY_MS, size=len(new)).tolist()
    added = [
        Link(ends(initial.ids[one], initial.ids[other]), round(latency, 3))
        for (one, other), latency in zip(new, latencies, strict=True)
    ]
    return Topology(initial.brokers, (*kept, *added))


def _parents(degrees: list[int]) -> list[int]:
    """The parent of broker 1, 2, ...: each broker in turn takes the next ones as its children."""
    size = len(degrees)
    parents: list[int] = []
    for broker, degree in enumerate(degrees):
        if len(parents) >= size - 1:
            break
        children = degree if broker == 0 else degree - 1
        last_open = len(parents) == broker
        parents.extend([broker] * max(children, 1 if last_open else 0))
    return parents[: size - 1]


def _topology(size: int, links: list[tuple[int, int]], random: np.random.Generator) -> Topology:
    latencies = random.uniform(*LATENCY_MS, size=len(links)).tolist()
    return Topology(
        tuple(Broker(f"b{broker}") for broker in range(size)),
        tuple(
            Link(ends(f"b{one}", f"b{other}"), round(latency, 3))
            for (one, other), latency in zip(links, latencies, strict=True)
        ),
    )


def _joining(
    size: int, old: list[tuple[int, int]], kept: list[tuple[int, int]], random: np.random.Generator
) -> list[tuple[int, int]]:
    """Random links between different pieces until one piece is left; none of them is an old link.

    A drawn pair that lies in one piece is drawn again: about n log n draws in all. Such a link
    always exists unless the tree is a star whose every link was removed, and one link is kept.
    """
    forbidden = {(min(link), max(link)) for link in old}
    root = list(range(size))

    def find(broker: int) -> int:
        while root[broker] != broker:
            root[broker] = root[root[broker]]
            broker = root[broker]
        return broker

    for one, other in kept:
        root[find(one)] = find(other)
    new: list[tuple[int, int]] = []
    pairs = _pairs(size, random)
    while len(kept) + len(new) < size - 1:
        one, other = next(pairs)
        above, below = find(one), find(other)
        if above != below and (min(one, other), max(one, other)) not in forbidden:
            root[below] = above
            new.append((one, other))
    return new


def _pairs(size: int, random: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Uniform pairs of brokers, drawn in batches: one call per pair would take most of the time."""
    while True:
        yield from map(tuple, random.integers(0, size, size=(max(64, size), 2)).tolist())
