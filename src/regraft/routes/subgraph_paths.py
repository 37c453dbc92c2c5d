"""Shortest-path trees as a sub graph component: the others are compared with it (Content routes §5.1.1)."""

from collections.abc import Sequence

from regraft.routes.hop_limits import shorten
from regraft.routes.interface import Tree
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.registry import component
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import shared_trees


def shortest_path_trees(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: RouteSettings
) -> list[Tree | None]:
    """Each root's shortest paths to the terminals. Kind "subgraph".

    Several roots use the union of their trees; if that has cycles, a shared tree is made instead.
    """

    def one(demand: Demand) -> Tree | None:
        root = demand.roots[0]
        find = component("paths", settings.paths)
        paths = find(graph, [(root, terminal) for terminal in demand.terminals], settings.paths_per_pair)
        if any(not each for each in paths):
            return None
        build = component("trees", settings.trees)
        return shorten(graph, demand, build(graph, root, paths))

    def union(demand: Demand) -> Tree | None:
        trees = [one(demand._replace(roots=(root,), rates=())) for root in demand.roots]
        return None if None in trees else frozenset(edge for tree in trees if tree for edge in tree)

    found: list[Tree | None] = []
    for demand in demands:
        tree = one(demand) if len(demand.roots) == 1 else union(demand)
        if tree is not None and any(cycle <= tree for cycle in forbidden):
            tree = shared_trees(graph, demand, forbidden, one)
        found.append(tree)
    return found
