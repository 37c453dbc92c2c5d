"""Trees within a path length (Content routes (4.1), §6.4): the most edges from the root to a terminal.

A tree that is too deep is mended as Khuller, Raghavachari and Young balance trees: a terminal too far from
the root gets a path with the fewest edges, of those the lightest, and what the path replaces is dropped.
"""

import heapq
from collections.abc import Sequence

from regraft.routes.interface import Tree
from regraft.routes.problem import Demand, Graph, Path


def shorten(graph: Graph, demand: Demand, tree: Tree | None) -> Tree | None:
    """The tree with every terminal within its limit; None if one cannot be reached within it."""
    if tree is None or not any(limit is not None for limit in demand.hops):
        return tree
    root = demand.roots[0]
    above = {graph.target_list[edge]: edge for edge in tree}
    for place in sorted(range(len(demand.terminals)), key=lambda each: demand.hops_to(each) or 0):
        terminal, limit = demand.terminals[place], demand.hops_to(place)
        if limit is None or depth(graph, above, root, terminal) <= limit:
            continue
        path = few_edges(graph, root, terminal, limit)
        if path is None:
            return None
        for edge in path:  # every switch of the path is now at its least possible depth or nearer than before
            at = graph.target_list[edge]
            fewer = depth(graph, above, root, graph.source_list[edge]) + 1
            if at not in above or depth(graph, above, root, at) > fewer:
                above[at] = edge
    if any(
        (limit := demand.hops_to(place)) is not None and depth(graph, above, root, terminal) > limit
        for place, terminal in enumerate(demand.terminals)
    ):
        return _all_short(graph, demand)
    return _needed(graph, above, root, demand.terminals)


def depth(graph: Graph, above: dict[int, int], root: int, vertex: int) -> int:
    edges = 0
    while vertex != root:
        vertex = graph.source_list[above[vertex]]
        edges += 1
    return edges


def few_edges(graph: Graph, start: int, end: int, limit: int | None = None) -> Path | None:
    """A path with the fewest edges, of those the lightest; None if it would have more than the limit."""
    if start == end:
        return ()
    above, hops = hop_tree(graph, start)
    if hops[end] < 0 or (limit is not None and hops[end] > limit):
        return None
    path = []
    while end != start:
        path.append(above[end])
        end = graph.source_list[above[end]]
    return tuple(reversed(path))


def hop_tree(graph: Graph, start: int) -> tuple[list[int], list[int]]:
    """For each vertex the edge by which a path of the fewest edges enters it, and their number (-1: none)."""
    best: list[tuple[int, float]] = [(-1, 0.0)] * graph.vertices
    above = [-1] * graph.vertices
    best[start] = (0, 0.0)
    heap = [(0, 0.0, start)]
    while heap:
        hops, weight, vertex = heapq.heappop(heap)
        if (hops, weight) != best[vertex]:
            continue
        for edge in graph.leaving[vertex]:
            after = graph.target_list[edge]
            offer = (hops + 1, weight + graph.weight_list[edge])
            if best[after][0] < 0 or offer < best[after]:
                best[after], above[after] = offer, edge
                heapq.heappush(heap, (*offer, after))
    return above, [hops for hops, _ in best]


def _all_short(graph: Graph, demand: Demand) -> Tree | None:
    """Every terminal by the fewest edges: the deepest limits that can be kept at all are kept."""
    root = demand.roots[0]
    above, hops = hop_tree(graph, root)
    for place, terminal in enumerate(demand.terminals):
        limit = demand.hops_to(place)
        if hops[terminal] < 0 or (limit is not None and hops[terminal] > limit):
            return None
    return _needed(graph, dict(enumerate(above)), root, demand.terminals)


def _needed(graph: Graph, above: dict[int, int], root: int, terminals: Sequence[int]) -> Tree:
    edges: set[int] = set()
    for terminal in terminals:
        at = terminal
        while at != root and above[at] not in edges:
            edges.add(above[at])
            at = graph.source_list[above[at]]
    return frozenset(edges)
