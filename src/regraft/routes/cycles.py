"""Cycles: where an event could run in a circle or arrive twice, and what forbids it (Content routes §5.3.2).

Tables that look at the dz-expression alone send an event on by every edge out of a switch, except by the
cable it came in by. So what follows an edge is every other cable's edge out of its end, and an event runs in
a circle exactly if a strongly connected component (5.68) of this relation has more than one edge; the two
directions of one cable are no cycle. Without such a component an event can still meet itself behind a fork,
and arrives twice. Each answer is a set of edges: the program of the sub graph may use all but one of them.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from regraft.routes.problem import Cycle, Graph

Following = Mapping[int, Sequence[int]]
"""Edge -> the edges by which an event that came over it goes on."""


def cycles_in(graph: Graph, edges: Iterable[int], roots: Iterable[int] | None = None) -> list[Cycle]:
    """Nothing if no event from a root can come to a switch twice; without `roots`, from any switch."""
    used = sorted(edges)
    if _forest(graph, used):
        return []
    following = _following(graph, used)
    circles = [_shortest_circle(following, members) for members in components(following)]
    return list(dict.fromkeys(circles or _forks(graph, used, following, roots)))


def components(following: Following) -> list[list[int]]:
    """The strongly connected components of more than one edge (5.68)."""
    numbers = {edge: number for number, edge in enumerate(following)}
    pairs = [(numbers[edge], numbers[after]) for edge, afters in following.items() for after in afters]
    if not pairs:
        return []
    rows, columns = np.array(pairs).T
    size = len(numbers)
    relation = coo_array((np.ones(len(pairs), dtype=np.int8), (rows, columns)), shape=(size, size))
    _, labels = connected_components(relation, directed=True, connection="strong")
    members: dict[int, list[int]] = {}
    for edge, label in zip(following, labels.tolist(), strict=True):
        members.setdefault(label, []).append(edge)
    return [component for component in members.values() if len(component) > 1]


def _forest(graph: Graph, used: Sequence[int]) -> bool:
    """Cables that form no cycle whatever the directions: nearly always, and quickly told."""
    if not used:
        return True
    _, first = np.unique(graph.cables[used], return_index=True)
    chosen = np.array(used)[first]
    _, ends = np.unique(np.concatenate((graph.sources[chosen], graph.targets[chosen])), return_inverse=True)
    size, cables = int(ends.max()) + 1, len(chosen)
    links = coo_array((np.ones(cables, dtype=np.int8), (ends[:cables], ends[cables:])), shape=(size, size))
    count, _ = connected_components(links, directed=False)
    return bool(cables == size - count)


def _following(graph: Graph, used: Sequence[int]) -> dict[int, list[int]]:
    leaving: dict[int, list[int]] = {}
    for edge in used:
        leaving.setdefault(int(graph.sources[edge]), []).append(edge)
    return {
        edge: [
            after
            for after in leaving.get(int(graph.targets[edge]), ())
            if graph.cables[after] != graph.cables[edge]
        ]
        for edge in used
    }


def _shortest_circle(following: Following, members: Sequence[int]) -> Cycle:
    inside = set(members)
    best: tuple[int, ...] = ()
    for start in members:
        came: dict[int, int] = {}
        frontier = [start]
        while frontier and start not in came:
            ahead = []
            for edge in frontier:
                for after in following[edge]:
                    if after in inside and after not in came:
                        came[after] = edge
                        ahead.append(after)
            frontier = ahead
        circle = _back(came, start, start)
        if not best or len(circle) < len(best):
            best = circle
    return frozenset(best)


def _forks(
    graph: Graph, used: Sequence[int], following: Following, roots: Iterable[int] | None
) -> Iterable[Cycle]:
    """Both ways from a fork to where they meet again, for each switch at which events may begin."""
    leaving: dict[int, list[int]] = {}
    for edge in used:
        leaving.setdefault(int(graph.sources[edge]), []).append(edge)
    for root in sorted(leaving) if roots is None else roots:
        came: dict[int, int] = {}
        entered: dict[int, int] = {}
        open_edges = list(leaving.get(root, ()))
        while open_edges:
            edge = open_edges.pop()
            target = int(graph.targets[edge])
            if target in entered:
                yield frozenset(_back(came, entered[target])) ^ frozenset(_back(came, edge))
                break
            entered[target] = edge
            for after in following[edge]:
                came[after] = edge
                open_edges.append(after)


def _back(came: Mapping[int, int], edge: int, until: int | None = None) -> tuple[int, ...]:
    """The edges that led to this one, itself first, back to the beginning or to `until`."""
    way = [edge]
    while way[-1] in came and came[way[-1]] != until:
        way.append(came[way[-1]])
    return tuple(way)
