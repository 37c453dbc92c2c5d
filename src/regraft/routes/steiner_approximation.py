"""Steiner trees by the shortest-path heuristic (Content routes §5.1.4): at most twice the minimum."""

from collections.abc import Sequence

import numpy as np

from regraft.routes import kernel_steiner as kernel
from regraft.routes.hop_limits import shorten
from regraft.routes.interface import Tree
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import tree_of_each


def approximate_steiner_trees(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: RouteSettings
) -> list[Tree | None]:
    """The terminal nearest to the tree is joined next (Takahashi, Matsuyama). Kind "subgraph"."""
    first, leaving = kernel.by_end(graph.sources, graph.vertices, graph.allowed)

    def one(demand: Demand) -> Tree | None:
        wanted = np.zeros(graph.vertices, dtype=np.bool_)
        wanted[list(demand.terminals)] = True
        above = kernel.grow(
            graph.sources, graph.targets, graph.weights, first, leaving, demand.roots[0], wanted
        )
        if (above[wanted] == kernel.OUTSIDE).any():
            return None
        return shorten(graph, demand, frozenset(above[above >= 0].tolist()))

    return tree_of_each(graph, demands, forbidden, one)
