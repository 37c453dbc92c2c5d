"""Cycles: where an event could run in a circle or arrive twice, and how that is avoided (Content routes
§5.3.2).

Tables that match on the dz-expression alone forward an event by every edge out of a switch, except over the
cable it came in by. So an edge is followed by the edges of all other cables out of its end, and an event runs
in a circle exactly if a strongly connected component (5.68) of this relation has more than one edge; the two
directions of one cable are no cycle. Without such a component, two copies of an event can still meet behind a
fork, and it arrives twice. Each cycle that is found is a set of edges: the program of the sub graph may use
all but one of them. It is solved again with these constraints until no cycle is left.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from regraft.routes.interface import Tree
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.registry import component
from regraft.routes.settings import RouteSettings
from regraft.routes.stopwatch import Stopwatch

Following = Mapping[int, Sequence[int]]
"""Edge -> the edges by which an event that came over it is forwarded."""


def cycles_in(graph: Graph, edges: Iterable[int], roots: Iterable[int] | None = None) -> list[Cycle]:
    """The cycles that events from the roots (by default from any switch) run into."""
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
    """Whether the cables form no cycle in any direction: nearly always so, and quick to find out."""
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
    """Both paths from a fork to where they meet again, for each switch at which events may start."""
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
    """This edge and those that led to it, backwards to the beginning or to `until`."""
    way = [edge]
    while way[-1] in came and came[way[-1]] != until:
        way.append(came[way[-1]])
    return tuple(way)


MOST_TURNS = 12
"""How often the program is solved again; then the Steiner component's tree is taken, which has no cycle."""


def without_cycles(
    graph: Graph, demand: Demand, tree: Tree, settings: RouteSettings, watch: Stopwatch
) -> Tree | None:
    """A tree for all roots in which no event loops or arrives twice; the search for it has a time limit.

    Cycles of the tree go back into the program of the sub graph as constraints.
    """
    began = watch.clock()
    detect, optimise = component("cycles", settings.cycles), component("subgraph", settings.subgraph)
    forbidden: list[Cycle] = []
    found: Tree | None = tree
    for _ in range(MOST_TURNS):
        if found is None or watch.clock() - began > settings.time_limit:
            break
        with watch.timing("cycles"):
            cycles = detect(graph, found)
        if not cycles:
            return found
        new = [cycle for cycle in cycles if cycle not in forbidden]
        if not new:  # the component ignores the constraints
            break
        forbidden += new
        with watch.timing("subgraph again"):
            found = optimise(graph, [demand], forbidden, settings)[0]
    (last,) = component("subgraph", "steiner")(graph, [demand], (), settings)
    return last if last is None or not detect(graph, last) else None
