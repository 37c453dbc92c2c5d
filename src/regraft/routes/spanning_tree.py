"""Minimum spanning trees by the classic algorithm (Content routes §5.1.2): light, paths of any length."""

from collections.abc import Callable, Sequence

import numpy as np

from regraft.routes import kernel_steiner as kernel
from regraft.routes.hop_limits import shorten
from regraft.routes.interface import Tree
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import tree_of_each


def spanning_trees(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: RouteSettings
) -> list[Tree | None]:
    """The paths of each demand within the minimum spanning tree of the sub graph. Kind "subgraph"."""
    return within_one_tree(graph, demands, forbidden, minimum_spanning_tree)


def minimum_spanning_tree(graph: Graph, root: int) -> Tree:
    """O_MST (5.26), directed away from the root (Prim); vertices that it does not reach are left out."""
    first, leaving = kernel.by_end(graph.sources, graph.vertices, graph.allowed)
    all_vertices = np.ones(graph.vertices, dtype=np.bool_)
    above = kernel.span(graph.sources, graph.targets, graph.weights, first, leaving, root, all_vertices)
    return frozenset(above[above >= 0].tolist())


def within_one_tree(
    graph: Graph,
    demands: Sequence[Demand],
    forbidden: Sequence[Cycle],
    spanning: Callable[[Graph, int], Tree],
) -> list[Tree | None]:
    """For each demand the paths from its root within a spanning tree, shortened where they are too long."""
    known: dict[int, Tree] = {}

    def one(demand: Demand) -> Tree | None:
        root = demand.roots[0]
        if root not in known:
            known[root] = spanning(graph, root)
        return shorten(graph, demand, paths_within(graph, known[root], root, demand.terminals))

    return tree_of_each(graph, demands, forbidden, one)


def paths_within(graph: Graph, tree: Tree, root: int, terminals: Sequence[int]) -> Tree | None:
    """The part of a tree that leads from the root to the terminals; None if one is not in the tree."""
    above = {graph.target_list[edge]: edge for edge in tree}
    edges: set[int] = set()
    for terminal in terminals:
        at = terminal
        while at != root and above.get(at, -1) not in edges:
            if at not in above:
                return None
            edges.add(above[at])
            at = graph.source_list[above[at]]
    return frozenset(edges)
