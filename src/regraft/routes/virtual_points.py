"""Virtual publishers and subscribers: paths are made to share edges (Content routes §5.3.1, (5.64)–(5.66)).

A virtual subscriber receives all events of the publisher, and virtual publishers send them on, each to the
subscribers near it. So all paths of a publisher are the same up to the virtual subscriber, and those of a
group are the same up to its virtual publisher. The facility location program decides where they are: the
virtual subscriber is joined to the publisher and to every virtual publisher, a virtual publisher to its
subscribers. Groups and places are computed in turn, for one, two, … virtual publishers, and the lightest tree
is taken. It is never heavier than the tree of shortest paths.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from regraft.routes.hop_limits import shorten
from regraft.routes.interface import Tree
from regraft.routes.location import Matrix, locate
from regraft.routes.path_search import path_to, search
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import tree_of_each

MOST_POINTS = 4
"""The most virtual publishers that are tried for one demand."""
MOST_TURNS = 5
"""How often groups and places are computed in turn, at most; rarely more than three times help."""


def through_virtual_points(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: RouteSettings
) -> list[Tree | None]:
    """One tree for each demand. Kind "subgraph"."""

    def one(demand: Demand) -> Tree | None:
        return shorten(graph, demand, _allowed(graph, demand, forbidden))

    return tree_of_each(graph, demands, forbidden, one)


def _allowed(graph: Graph, demand: Demand, forbidden: Sequence[Cycle]) -> Tree | None:
    """A tree that uses no forbidden set in full: the heaviest edge of a used set is removed."""
    tree = _lightest(graph, demand)
    while tree is not None and (broken := next((cycle for cycle in forbidden if cycle <= tree), None)):
        graph = graph.only(
            set(graph.edges.tolist()) - {max(broken, key=lambda edge: graph.weight_list[edge])}
        )
        tree = _lightest(graph, demand)
    return tree


def _lightest(graph: Graph, demand: Demand) -> Tree | None:
    best = _tree(graph, demand, range(len(graph.sources)))
    if best is None:
        return None
    for count in range(1, min(MOST_POINTS, len(demand.terminals)) + 1):
        tree = _tree(graph, demand, _merged(graph, demand, count))
        if tree is not None and graph.weigh(tree) < graph.weigh(best):
            best = tree
    return best


def _merged(graph: Graph, demand: Demand, count: int) -> set[int]:
    """The edges of all new paths through one virtual subscriber and `count` virtual publishers (5.65)."""
    distance = distances(graph)
    (root,), terminals = demand.roots, np.array(demand.terminals)
    group = _first_groups(distance[np.ix_(terminals, terminals)], count)
    old = np.array([root, *demand.terminals])
    places: tuple[int, ...] = ()
    for _ in range(MOST_TURNS):
        out, between, coming = _weights(group, count)
        found = locate(_finite(distance), old, out, between, coming).places
        nearest = distance[np.ix_(np.array(found[1:]), terminals)].argmin(axis=0)
        if found == places:
            break
        places, group = found, nearest
    edges: set[int] = set()
    for number, terminal in enumerate(demand.terminals):
        stops = [root, places[0], places[1 + int(group[number])], terminal]
        for start, end in pairwise(stops):
            edges.update(path_to(graph, _searched(graph, start), start, end) or ())
    return edges


def _weights(group: NDArray[np.int64], count: int) -> tuple[Matrix, Matrix, Matrix]:
    """w, v of (5.66), and weights of paths from old facilities. New 0: virtual subscriber; old 0: root."""
    w = np.zeros((1 + count, 1 + len(group)))
    w[1 + group, 1 + np.arange(len(group))] = 1.0
    v = np.zeros((1 + count, 1 + count))
    v[0, 1:] = 1.0
    coming = np.zeros_like(w)
    coming[0, 0] = 1.0
    return w, v, coming


def _first_groups(between: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Terminals as far from each other as possible begin the groups; the others join the nearest."""
    chosen = [0]
    while len(chosen) < count:
        chosen.append(int(between[chosen].min(axis=0).argmax()))
    groups: NDArray[np.int64] = between[chosen].argmin(axis=0)
    return groups


def _tree(graph: Graph, demand: Demand, edges: Sequence[int] | range | set[int]) -> Tree | None:
    """The shortest paths within these edges, or None if they do not reach every terminal."""
    (root,) = demand.roots
    above = search(graph.only(edges), root)
    paths = [path_to(graph, above, root, terminal) for terminal in demand.terminals]
    if any(path is None for path in paths):
        return None
    return frozenset(edge for path in paths if path for edge in path)


@lru_cache(maxsize=8)
def distances(graph: Graph) -> NDArray[np.float64]:
    """The weight of the shortest path between every two switches."""
    best: dict[tuple[int, int], float] = {}
    for edge in graph.edges.tolist():
        ends = (graph.source_list[edge], graph.target_list[edge])
        best[ends] = min(best.get(ends, np.inf), graph.weight_list[edge])
    rows, columns = np.array(list(best)).reshape(-1, 2).T
    # A weight of 0 would count as no edge in a sparse matrix.
    weights = np.maximum(np.array(list(best.values())), 1e-12)
    links = coo_array((weights, (rows, columns)), shape=(graph.vertices, graph.vertices))
    result: NDArray[np.float64] = dijkstra(links.tocsr())
    return result


def _finite(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unreachable switches are very far instead of infinitely far, so that no sum becomes undefined."""
    reachable = distance[np.isfinite(distance)]
    return np.where(np.isfinite(distance), distance, 1e3 * (reachable.max(initial=0.0) + 1.0))


@lru_cache(maxsize=1024)
def _searched(graph: Graph, start: int) -> list[int]:
    return search(graph, start)
