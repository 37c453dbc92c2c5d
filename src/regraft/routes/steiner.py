"""The Steiner component: least trees for single roots, shared ones for several (Content routes §5.1.4)."""

from collections.abc import Sequence

from regraft.routes.hop_limits import shorten
from regraft.routes.interface import Tree
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.settings import Settings
from regraft.routes.shared_tree import shared_trees
from regraft.routes.steiner_graph import prepared


def steiner_trees(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: Settings
) -> list[Tree | None]:
    """One tree for each demand. Kind "subgraph"."""
    steiner = prepared(graph)

    def one(demand: Demand) -> Tree | None:
        return shorten(graph, demand, steiner.solve(demand.roots[0], demand.terminals).tree)

    return [
        one(demand) if len(demand.roots) == 1 else shared_trees(graph, demand, forbidden, one)
        for demand in demands
    ]
