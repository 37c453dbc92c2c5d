"""Shortest and next-best paths by search: Dijkstra's algorithm and Yen's (Content routes §5.1.1).

One search per start serves all pairs that begin there. Ties between equally long paths are always broken in
the same way, so paths from one start form a tree. Next-best paths exclude the earlier ones, as the thesis
does by constraints; none visits a switch twice.
"""

import heapq
from collections.abc import Collection, Sequence

from regraft.routes.problem import Graph, Path


def shortest_paths(graph: Graph, pairs: Sequence[tuple[int, int]], count: int = 1) -> list[tuple[Path, ...]]:
    """Up to `count` paths for each pair, best first. Kind "paths"."""
    trees: dict[int, list[int]] = {}
    known: dict[tuple[int, int], tuple[Path, ...]] = {}
    for start, end in pairs:
        if start not in trees:
            trees[start] = search(graph, start)
        if (start, end) not in known:
            first = path_to(graph, trees[start], start, end)
            known[start, end] = () if first is None else next_best(graph, start, end, first, count)
    return [known[pair] for pair in pairs]


def search(
    graph: Graph,
    start: int,
    closed: Collection[int] = (),
    without: Collection[int] = (),
    goal: int | None = None,
) -> list[int]:
    """For each vertex the edge by which its shortest path enters it, -1 if there is none (Dijkstra).

    `closed` vertices are not visited, edges of `without` not used; the search ends at the goal.
    """
    distance = [float("inf")] * graph.vertices
    above = [-1] * graph.vertices
    targets, weights = graph.target_list, graph.weight_list
    distance[start] = 0.0
    heap = [(0.0, start)]
    while heap:
        far, vertex = heapq.heappop(heap)
        if far > distance[vertex]:
            continue
        if vertex == goal:
            break
        for edge in graph.leaving[vertex]:
            after, further = targets[edge], far + weights[edge]
            if further < distance[after] and after not in closed and edge not in without:
                distance[after], above[after] = further, edge
                heapq.heappush(heap, (further, after))
    return above


def path_to(graph: Graph, above: Sequence[int], start: int, end: int) -> Path | None:
    """The path that `search` found, in order; None if there is none."""
    edges = []
    while end != start:
        if (edge := above[end]) < 0:
            return None
        edges.append(edge)
        end = graph.source_list[edge]
    return tuple(reversed(edges))


def next_best(graph: Graph, start: int, end: int, first: Path, count: int) -> tuple[Path, ...]:
    """The `count` shortest paths without repeated switches (Yen): each branches off an earlier one."""
    found, offered = [first], {first}
    offers: list[tuple[float, Path]] = []
    while len(found) < count:
        last = found[-1]
        for place in range(len(last)):
            head = last[:place]
            at = graph.target_list[head[-1]] if head else start
            closed = {start, *(graph.target_list[edge] for edge in head)}
            without = {path[place] for path in found if path[:place] == head and len(path) > place}
            above = search(graph, at, closed, without, end)
            tail = path_to(graph, above, at, end)
            if tail and (path := head + tail) not in offered:
                offered.add(path)
                heapq.heappush(offers, (graph.weigh(path), path))
        if not offers:
            break
        found.append(heapq.heappop(offers)[1])
    return tuple(found)
