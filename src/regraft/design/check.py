"""Is an overlay k-topic-connected (kTCO §IV, Definition 1)? Independent: shares no code with the designers.

For every topic, the nodes interested in it and the links between them must be k-connected, or all joined
to each other if they are at most k. Where that fails, the answer names the topic and fewer than k nodes
whose failure cuts it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from regraft.design.check_kernel import Ints, topic_graph, weakest
from regraft.model import Topology


@dataclass(frozen=True)
class Cut:
    """Without the nodes in `cut`, no node of `one_side` reaches another one interested in the topic."""

    topic: str
    cut: tuple[str, ...]
    one_side: tuple[str, ...]

    def __str__(self) -> str:
        side = ", ".join(map(repr, self.one_side[:3])) + (", …" if len(self.one_side) > 3 else "")
        if not self.cut:
            return f"topic {self.topic!r}: nothing joins {side} to the others"
        return f"topic {self.topic!r}: without {', '.join(map(repr, self.cut))}, {side} is cut off"


def check(topology: Topology, interest: Mapping[str, Iterable[str]], k: int) -> Cut | None:
    """The first topic, in the order given, that fewer than k failures can cut; None if there is none.

    An interested node that is not a broker of the topology counts as a broker without links.
    """
    return next(cuts(topology, interest, k), None)


def cuts(topology: Topology, interest: Mapping[str, Iterable[str]], k: int) -> Iterator[Cut]:
    """A cut for every topic that is not k-connected."""
    members = {topic: sorted(set(nodes)) for topic, nodes in interest.items()}
    names = list(dict.fromkeys([*topology.ids, *(name for nodes in members.values() for name in nodes)]))
    number = {name: place for place, name in enumerate(names)}
    start, near = arcs(len(names), [(number[one], number[other]) for one, other in topology.by_ends])
    place = np.full(len(names), -1, np.int64)
    known: dict[bytes, tuple[list[int], list[int]] | None] = {}
    for topic, nodes in members.items():
        numbers = np.array([number[name] for name in nodes], np.int64)
        key = numbers.tobytes()
        if key not in known:  # many topics may be wanted by the same nodes
            known[key] = _cut(*topic_graph(numbers, place, start, near), k)
        if found := known[key]:
            cut, side = found
            yield Cut(topic, tuple(nodes[v] for v in cut), tuple(nodes[v] for v in side))


def arcs(nodes: int, links: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    """The arcs of a graph, both ways, sorted by where they begin."""
    pairs = np.array(links, np.int64).reshape(-1, 2)
    tails = np.concatenate((pairs[:, 0], pairs[:, 1]))
    heads = np.concatenate((pairs[:, 1], pairs[:, 0]))
    order = np.argsort(tails, kind="stable")
    start = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=nodes), out=start[1:])
    return start, heads[order]


def _cut(start: Ints, near: Ints, k: int) -> tuple[list[int], list[int]] | None:
    """The nodes to fail and those cut off then, in the numbers of the graph."""
    nodes = start.size - 1
    if nodes <= k:
        for v in range(nodes):
            around = set(near[start[v] : start[v + 1]].tolist())
            if far := sorted(set(range(nodes)) - around - {v}):
                return sorted(set(range(nodes)) - {v, far[0]}), [v]
        return None
    degree = np.diff(start)
    poor = int(degree.argmin())
    if degree[poor] < k:
        return sorted(near[start[poor] : start[poor + 1]].tolist()), [poor]
    holds, cut, side = weakest(start, near, k)
    return None if holds else (cut.tolist(), side.tolist())
