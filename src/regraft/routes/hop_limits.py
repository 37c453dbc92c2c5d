"""Limits on the length of paths (Content routes (4.1), §6.4): the most edges from the root to a terminal.

A tree that is too deep is changed in the way in which Khuller, Raghavachari and Young balance trees: a
terminal too far from the root gets a path with the fewest edges, of those the lightest, and the edges that
the path replaces are dropped.
"""

import heapq
from collections.abc import Sequence

from regraft.model import Infeasible
from regraft.routes.interface import Tree
from regraft.routes.problem import Demand, Graph, Path, Problem


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
        for edge in path:  # afterwards no switch of the path is deeper than before
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
    """Every terminal by a path of the fewest edges: that keeps all limits that can be kept at all."""
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


def too_far(problem: Problem) -> Infeasible | None:
    """The first subscriber that no path within its limit reaches; the fewest possible edges prove it."""
    limits = [problem.hop_limit(subscriber) for subscriber in range(len(problem.subscribed))]
    if all(limit is None for limit in limits):
        return None
    hops: dict[int, list[int]] = {}
    for publisher, at in enumerate(problem.publisher_at):
        if at not in hops:
            hops[at] = hop_tree(problem.graph, at)[1]
        for subscriber in problem.interested(problem.advertised[publisher]):
            limit, fewest = limits[subscriber], hops[at][problem.subscriber_at[subscriber]]
            if limit is not None and fewest > limit:
                name = problem.workload.subscribers[subscriber].id
                return Infeasible(
                    f"subscriber {name} is {fewest} edges from publisher "
                    f"{problem.workload.publishers[publisher].id} on the shortest path, {limit} are allowed",
                    limit="path length",
                    where=name,
                    proven=True,
                )
    return None
