"""Load limits by an integer program (Content routes (4.39)–(4.40)): the last resort, and the proof.

Weights and detours (`limits`) may miss routes that exist. If the problem is small, all kinds of events of all
publishers go into one program, each with a tree of its own: paths as in `combination`, and for each switch
with a limit a row over all edges into it. If it has no solution, no routes with one tree for each kind of
events keep the limits. If not even its linear program has one, spreading events of one kind over several
paths does not help either, and that is a proof.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regraft.model import Infeasible
from regraft.routes.clustering_atoms import by_atoms
from regraft.routes.combination import path_rows
from regraft.routes.contents import contents_for
from regraft.routes.interface import Tree
from regraft.routes.linear_program import INFINITY, Program
from regraft.routes.problem import Content, Demand, Graph, Problem, demand_of
from regraft.routes.settings import DEFAULTS, RouteSettings
from regraft.routes.steiner_program import used_paths

MOST_VARIABLES = 30_000
NOT_USED = 0.5


def kept_by_program(
    problem: Problem, most: NDArray[np.float64], settings: RouteSettings
) -> list[tuple[Content, Tree]] | Infeasible | None:
    """Contents and trees that keep the limits at least cost; None if the program is too large or slow."""
    everyone = range(len(problem.advertised))
    contents = [each for p in everyone for each in contents_for(problem, p, by_atoms, DEFAULTS)]
    demands = [demand_of(problem, content) for content in contents]
    graph = problem.graph
    if not demands:
        return []
    if sum(1 + len(demand.terminals) for demand in demands) * len(graph.edges) > MOST_VARIABLES:
        return None
    room = most.copy()
    for publisher, at in enumerate(problem.publisher_at):
        room[at] -= problem.rates[publisher]
    program, crossed = _program(graph, demands, room, settings.time_limit, whole=True)
    values = program.solve()
    if values is None:
        if not program.infeasible:
            return None
        relaxed, _ = _program(graph, demands, room, settings.time_limit, whole=False)
        relaxed.solve()
        return Infeasible(
            "no routes keep the load limits"
            if relaxed.infeasible
            else "no routes were found that keep the "
            "load limits; there are none with one tree for each kind of events",
            limit="load",
            proven=relaxed.infeasible,
        )
    edges = graph.edges
    trees = []
    for demand, columns in zip(demands, crossed, strict=True):
        used = edges[values[columns.start : columns.stop] > NOT_USED].tolist()
        tree = used_paths(graph, used, demand.roots[0], demand.terminals)
        if tree is None:
            return None
        trees.append(tree)
    return list(zip(contents, trees, strict=True))


def _program(
    graph: Graph, demands: Sequence[Demand], room: NDArray[np.float64], time_limit: float, whole: bool
) -> tuple[Program, list[range]]:
    program, edges = Program(time_limit), graph.edges
    crossed = []
    for demand in demands:
        weights = np.maximum(graph.weights[edges], 1e-6)  # so that no edge is used without need
        columns = program.variables((weights * max(demand.rate, 1e-6)).tolist(), whole=whole)
        crossed.append(columns)
        for place, end in enumerate(demand.terminals):
            if end != demand.roots[0]:
                limit = demand.hops_to(place)
                path_rows(program, graph, demand.roots[0], end, columns, limit, whole)
    for vertex in np.flatnonzero(np.isfinite(room)).tolist():
        entering = np.flatnonzero(graph.targets[edges] == vertex).tolist()
        into = [each[place] for each in crossed for place in entering]
        rates = [demand.rate for demand in demands for _ in entering]
        program.row(-INFINITY, float(room[vertex]) + 1e-9, into, rates)
    return program, crossed
