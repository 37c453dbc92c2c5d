"""Small problems solved by looking at every possibility: what heuristics and programs are compared with.

Shares nothing with the components but the graph's lists of edges.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import networkx as nx

from regraft.routes.problem import Demand, Graph

Edges = frozenset[int]


def simple_paths(graph: Graph, start: int, end: int, limit: int | None = None) -> Iterator[tuple[int, ...]]:
    """Every path that visits no switch twice, as edges."""

    def onwards(path: tuple[int, ...], at: int, seen: frozenset[int]) -> Iterator[tuple[int, ...]]:
        if at == end:
            yield path
        elif limit is None or len(path) < limit:
            for edge in graph.edges.tolist():
                after = graph.target_list[edge]
                if graph.source_list[edge] == at and after not in seen:
                    yield from onwards((*path, edge), after, seen | {after})

    return onwards((), start, frozenset({start}))


def trees_to(
    graph: Graph, root: int, terminals: Sequence[int], limits: Sequence[int | None] = ()
) -> set[Edges]:
    """Every tree from the root whose leaves are terminals."""
    limits = limits or [None] * len(terminals)
    ways = [list(simple_paths(graph, root, *each)) for each in zip(terminals, limits, strict=True)]
    trees = set()
    for chosen in product(*ways):
        edges = frozenset(edge for path in chosen for edge in path)
        if len({graph.target_list[edge] for edge in edges}) == len(edges):
            trees.add(edges)
    return trees


def crossed(graph: Graph, edges: Edges, start: int) -> list[int] | None:
    """The edges that an event from here takes, never back by its cable; None if it meets a switch twice."""
    seen, taken, copies = {start}, [], [(start, -1)]
    for at, cable in copies:
        for edge in edges:
            if graph.source_list[edge] == at and graph.cable_list[edge] != cable:
                after = graph.target_list[edge]
                if after in seen:
                    return None
                seen.add(after)
                taken.append(edge)
                copies.append((after, graph.cable_list[edge]))
    return taken


def free_of_cycles(graph: Graph, edges: Edges) -> bool:
    """Wherever an event begins, it meets no switch twice."""
    return all(crossed(graph, edges, start) is not None for start in range(graph.vertices))


def undirected(graph: Graph) -> "nx.Graph[int]":
    known: nx.Graph[int] = nx.Graph()
    known.add_nodes_from(range(graph.vertices))
    for edge in graph.edges.tolist():
        ends = graph.source_list[edge], graph.target_list[edge]
        known.add_edge(*ends, weight=graph.weight_list[edge])
    return known


def subtrees(graph: Graph, ends: set[int]) -> Iterator["nx.Graph[int]"]:
    """Every tree of links that holds these switches."""
    known = undirected(graph)
    for size in range(len(ends) - 1, graph.vertices):
        for links in combinations(known.edges(data=True), size):
            tree: nx.Graph[int] = nx.Graph(links)
            tree.add_nodes_from(ends)
            if nx.is_tree(tree):
                yield tree


def cost_in(tree: "nx.Graph[int]", demand: Demand) -> float:
    """Each root's events on its paths to the terminals: rate times weight."""
    total = 0.0
    for root, rate in zip(demand.roots, demand.rates or (demand.rate,), strict=True):
        links = {
            frozenset(link)
            for end in demand.terminals
            for link in nx.utils.pairwise(nx.shortest_path(tree, root, end))
        }
        total += rate * sum(tree.edges[tuple(link)]["weight"] for link in links)
    return total
