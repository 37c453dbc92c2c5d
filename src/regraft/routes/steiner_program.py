"""The Steiner tree as a set-cover integer program with lazy cuts (Content routes §5.1.4, (5.35)–(5.40)).

Edges are directed, so a cut set is the edges into a part that holds a terminal and not the root: the directed
form of (5.36), which is tighter than the undirected one and also correct for one-way edges. Cuts that the
solution of the linear program breaks (minimum cuts between root and terminals) are added until there is none.
Only then variables must be integers, and cuts that an integer solution breaks are added in the same way.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from regraft.routes.hop_limits import shorten
from regraft.routes.interface import Tree
from regraft.routes.linear_program import INFINITY, Program
from regraft.routes.path_search import search
from regraft.routes.problem import Cycle, Demand, Graph
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import tree_of_each
from regraft.routes.spanning_tree import paths_within
from regraft.routes.steiner_graph import prepared

SCALE = 1_000_000
NOT_USED = 0.5


def exact_steiner_trees(
    graph: Graph, demands: Sequence[Demand], forbidden: Sequence[Cycle], settings: RouteSettings
) -> list[Tree | None]:
    """A minimum tree for each demand if the program ends in time, else the best known. Kind "subgraph"."""

    def one(demand: Demand) -> Tree | None:
        root, terminals = demand.roots[0], demand.terminals
        known = prepared(graph).solve(root, terminals)
        tree = known.tree
        if tree is not None and not known.proven:
            tree = least_steiner_tree(graph, root, terminals, settings.time_limit) or tree
        return shorten(graph, demand, tree)

    return tree_of_each(graph, demands, forbidden, one)


def least_steiner_tree(
    graph: Graph, root: int, terminals: Sequence[int], time_limit: float = INFINITY
) -> Tree | None:
    """A proven minimum tree; None if there is no tree, or none was proven in time."""
    ends = sorted(set(terminals) - {root})
    if not ends:
        return frozenset()
    program = Program(time_limit)
    edges = graph.edges
    program.variables(graph.weights[edges].tolist())  # (5.35)
    column = {edge: place for place, edge in enumerate(edges.tolist())}
    whole = False
    while True:
        values = program.solve()
        if values is None or (whole and not program.proven):
            return None
        cuts = _broken_cuts(graph, values, root, ends)
        if cuts is None:
            return None
        for cut in cuts:
            program.row(1.0, INFINITY, [column[edge] for edge in cut], [1.0] * len(cut))  # (5.36)
        if not cuts:
            if whole or bool((np.minimum(values, 1 - values) < 1e-6).all()):
                return used_paths(graph, edges[values > NOT_USED].tolist(), root, ends)
            program.whole(range(len(edges)))  # (5.38)
            whole = True


def _broken_cuts(
    graph: Graph, values: NDArray[np.float64], root: int, ends: Sequence[int]
) -> list[tuple[int, ...]] | None:
    """Edges into a part around each terminal that carry less than 1 together; None if nothing enters it."""
    edges = graph.edges
    capacity = np.rint(values * SCALE).astype(np.int32)
    shape = (graph.vertices, graph.vertices)
    network = csr_array((capacity, (graph.sources[edges], graph.targets[edges])), shape=shape)
    network.sum_duplicates()
    cuts: dict[tuple[int, ...], None] = {}
    for end in ends:
        flow = maximum_flow(network, root, end)
        if flow.flow_value >= SCALE - len(edges):
            continue
        rest = (network - flow.flow) > 0
        # The part from which the terminal can still be reached: of the minimum cuts the one nearest to it.
        inside = np.zeros(graph.vertices, dtype=np.bool_)
        inside[breadth_first_order(rest.T.tocsr(), end, return_predecessors=False)] = True
        entering = edges[~inside[graph.sources[edges]] & inside[graph.targets[edges]]]
        if not len(entering):
            return None
        cuts[tuple(entering.tolist())] = None
    return list(cuts)


def used_paths(graph: Graph, used: Sequence[int], root: int, ends: Sequence[int]) -> Tree | None:
    """The paths to the terminals among the used edges: edges of weight 0 may be used without being needed."""
    above = search(graph.only(used), root)
    return paths_within(graph, frozenset(edge for edge in above if edge >= 0), root, ends)
