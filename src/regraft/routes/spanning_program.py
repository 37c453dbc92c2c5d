"""The minimum spanning tree as a linear program with lazy constraints (Content routes §5.1.2, (5.27)–(5.30)).

s(γ(U)) ≤ |U| − 1 (5.28) is added only for those sets U that a solution breaks: the program starts with (5.29)
and s ≤ 1, and for each vertex a most broken set is found as a minimum cut (Padberg, Wolsey). The polytope has
integral vertices, so no integer program is needed.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from regraft.routes.interface import Tree
from regraft.routes.linear_program import INFINITY, Program
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.settings import RouteSettings
from regraft.routes.spanning_tree import within_one_tree

SCALE = 1_000_000
"""Minimum cuts are computed in integers, multiples of 1 / SCALE."""
NOT_USED = 0.5

Link = tuple[int, int, float, int, int]
"""Both ends, weight, and the edges from the first end to the second and back."""


def cut_spanning_trees(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: RouteSettings
) -> list[Tree | None]:
    """The paths of each demand within the minimum spanning tree of the program. Kind "subgraph"."""
    links = undirected(graph)
    chosen = cut_spanning_tree(graph.vertices, links)
    return within_one_tree(graph, demands, forbidden, lambda _, root: _directed(graph, chosen, root))


def undirected(graph: Graph) -> list[Link]:
    """Two-way cables of the graph, the lightest between two vertices."""
    best: dict[tuple[int, int], Link] = {}
    for edge in graph.edges.tolist():
        back = graph.opposite[edge]
        one, other = graph.source_list[edge], graph.target_list[edge]
        if back >= 0 and one < other:
            link = (one, other, graph.weight_list[edge], edge, back)
            best[one, other] = min(best.get((one, other), link), link, key=lambda each: each[2])
    return list(best.values())


def cut_spanning_tree(vertices: int, links: Sequence[Link]) -> list[Link]:
    """The links of a minimum spanning tree of each connected part."""
    if not links:
        return []
    program = Program()
    program.variables([weight for _, _, weight, _, _ in links])
    touched = {end for link in links for end in link[:2]}
    size = len(touched) - _parts(vertices, links)
    program.row(size, size, range(len(links)), [1.0] * len(links))  # (5.29)
    while True:
        values = program.solve()
        assert values is not None
        broken = _broken(vertices, links, values)
        if not broken:
            return [link for link, value in zip(links, values, strict=True) if value > NOT_USED]
        for members in broken:
            inside = [n for n, link in enumerate(links) if link[0] in members and link[1] in members]
            program.row(-INFINITY, len(members) - 1.0, inside, [1.0] * len(inside))  # (5.28)


def _parts(vertices: int, links: Sequence[Link]) -> int:
    above = list(range(vertices))

    def top(vertex: int) -> int:
        while above[vertex] != vertex:
            vertex = above[vertex]
        return vertex

    for one, other, *_ in links:
        above[top(one)] = top(other)
    return len({top(end) for link in links for end in link[:2]})


def _broken(vertices: int, links: Sequence[Link], values: np.ndarray) -> list[frozenset[int]]:
    """Sets U with s(γ(U)) > |U| − 1: for each vertex, the most broken set that contains it.

    That vertex is free, all others cost 1. s(γ(U)) − |U| is then largest for the closure of links and their
    ends that a minimum cut leaves on the side of the source.
    """
    scale = min(SCALE, 2**31 // (len(links) + 1))  # capacities have 32 bits
    used = [(n, link) for n, link in enumerate(links) if values[n] > 1e-7]
    ends = sorted({end for _, link in used for end in link[:2]})
    place = {end: 1 + len(used) + n for n, end in enumerate(ends)}
    sink, found = 1 + len(used) + len(ends), set[frozenset[int]]()
    rows = [0] * len(used)
    columns = list(range(1, 1 + len(used)))
    capacities = [round(float(values[n]) * scale) for n, _ in used]
    for number, (_, link) in enumerate(used):
        rows += [1 + number] * 2
        columns += [place[link[0]], place[link[1]]]
        capacities += [scale * len(links)] * 2
    for free in ends:
        costs = [0 if end == free else scale for end in ends]
        network = csr_array(
            (
                np.array(capacities + costs, dtype=np.int32),
                (np.array(rows + list(place.values())), np.array(columns + [sink] * len(ends))),
            ),
            shape=(sink + 1, sink + 1),
        )
        flow = maximum_flow(network, 0, sink)
        gain = sum(round(float(values[n]) * scale) for n, _ in used) - flow.flow_value
        if gain > len(links):  # beyond rounding: this set is broken
            side = breadth_first_order((network - flow.flow) > 0, 0, return_predecessors=False)
            reached = set(side.tolist())
            members = frozenset(end for end in ends if place[end] in reached) | {free}
            if len(members) > 1:
                found.add(members)
    return sorted(found, key=len)


def _directed(graph: Graph, links: Sequence[Link], root: int) -> Tree:
    """The links as edges away from the root."""
    near: dict[int, list[tuple[int, int]]] = {}
    for one, other, _, there, back in links:
        near.setdefault(one, []).append((other, there))
        near.setdefault(other, []).append((one, back))
    edges, seen, open_vertices = set[int](), {root}, [root]
    for vertex in open_vertices:
        for after, edge in near.get(vertex, ()):
            if after not in seen:
                seen.add(after)
                edges.add(edge)
                open_vertices.append(after)
    return frozenset(edges)
