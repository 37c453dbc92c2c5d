"""The interest matrix in numbers, as all designers read it (kTCO §III, Int).

A *slot* is one subscription: node v's interest in topic t. The slots of topic t are
`topic_start[t] … topic_start[t + 1] − 1`, its nodes in ascending order; the topics of node v are
`node_topics[node_start[v] : node_start[v + 1]]` in ascending order, with their slots beside them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from regraft.model import BadInput, Ends, Topology, ends

Ints = npt.NDArray[np.int64]
Pairs = npt.NDArray[np.int64]
"""Links: two columns, the smaller node first."""


class Matrix(NamedTuple):
    """Plain arrays, for compiled code."""

    topic_start: Ints
    topic_nodes: Ints
    node_start: Ints
    node_topics: Ints
    node_slots: Ints


@dataclass(frozen=True)
class Interests:
    """Interest with numbered nodes and topics; the order of `nodes` breaks the designers' ties."""

    nodes: tuple[str, ...]
    topics: tuple[str, ...]
    matrix: Matrix

    @classmethod
    def of(
        cls, interest: Mapping[str, Iterable[str]], nodes: Iterable[str] = (), seed: int = 0
    ) -> "Interests":
        """Nodes in a random order that follows from the seed; `nodes` may add some without an interest."""
        sets = {topic: frozenset(interest[topic]) for topic in sorted(interest)}
        names = sorted(frozenset(nodes).union(*sets.values()))
        order = np.random.default_rng(seed).permutation(len(names))
        shuffled = tuple(names[place] for place in order)
        number = {name: place for place, name in enumerate(shuffled)}
        rows = [np.array(sorted(number[name] for name in members), np.int64) for members in sets.values()]
        return cls(shuffled, tuple(sets), matrix_of(rows, len(names)))

    @cached_property
    def number(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self.nodes)}

    def pairs(self, links: Iterable[Ends]) -> Pairs:
        """Links in numbers; `BadInput` if an end is not among the nodes."""
        number = self.number
        try:
            found = [sorted((number[one], number[other])) for one, other in links]
        except KeyError as unknown:
            raise BadInput(
                "links", f"node {unknown.args[0]!r} is not among the nodes of the interest"
            ) from None
        return np.array(sorted(found), np.int64).reshape(-1, 2)

    def topology(self, pairs: Pairs) -> Topology:
        """The overlay by name, in the order of names: independent of the numbering."""
        links = sorted(ends(self.nodes[v], self.nodes[w]) for v, w in pairs.tolist())
        return Topology.of(links, sorted(self.nodes), "mesh")


def matrix_of(topics: list[Ints], nodes: int) -> Matrix:
    """The arrays from each topic's nodes, given in ascending order."""
    sizes = np.array([len(members) for members in topics], np.int64)
    topic_start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    topic_nodes = np.concatenate(topics) if topics else np.empty(0, np.int64)
    of_topic = np.repeat(np.arange(len(topics)), sizes)
    node_slots = np.argsort(topic_nodes, kind="stable")
    node_start = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(topic_nodes, minlength=nodes), out=node_start[1:])
    return Matrix(topic_start, topic_nodes, node_start, of_topic[node_slots], node_slots)


def distinct_topics(matrix: Matrix) -> Matrix:
    """The matrix with each set of nodes once: topics that the same nodes want need the same links."""
    starts = matrix.topic_start
    rows = {
        matrix.topic_nodes[first:end].tobytes(): (first, end)
        for first, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    }
    if len(rows) == starts.size - 1:
        return matrix
    return matrix_of([matrix.topic_nodes[a:b] for a, b in rows.values()], matrix.node_start.size - 1)
