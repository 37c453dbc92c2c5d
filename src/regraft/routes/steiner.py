"""The Steiner component: minimum trees for single roots, shared ones for several (Content routes §5.1.4)."""

from collections.abc import Sequence

from regraft.routes.hop_limits import shorten
from regraft.routes.interface import Tree
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import tree_of_each
from regraft.routes.steiner_graph import prepared


def steiner_trees(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: RouteSettings
) -> list[Tree | None]:
    """One tree for each demand. Kind "subgraph"."""
    steiner = prepared(graph)

    def one(demand: Demand) -> Tree | None:
        return shorten(graph, demand, steiner.solve(demand.roots[0], demand.terminals).tree)

    return tree_of_each(graph, demands, forbidden, one)
