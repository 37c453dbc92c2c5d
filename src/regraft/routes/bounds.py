"""How far routes are from the least: a lower bound on the cost of any tables (Content routes §8, outlook).

An event of a publisher must reach the switches of all subscribers that want it, over a tree that costs at
least as much as a minimum Steiner tree. So the sum over all kinds of events, rate times a bound on that tree,
is a lower bound whatever tables match on and however filters are clustered.
"""

from collections.abc import Sequence

from regraft.model.routes import Subscriber
from regraft.routes.clustering_atoms import by_atoms
from regraft.routes.contents import contents_for
from regraft.routes.problem import Demand, Graph, Problem, demand_of
from regraft.routes.settings import DEFAULTS
from regraft.routes.steiner_graph import Key, prepared
from regraft.routes.steiner_program import least_steiner_tree

SMALL = 50
"""The most switches of a network for which the optimum is computed along with the routes."""
PROGRAMS = 20
"""The most integer programs for that; they share the time limit."""


def finest_demands(problem: Problem, publisher: int) -> list[Demand]:
    """What a publisher's events need at least: one demand for each set of terminals."""
    contents = contents_for(problem, publisher, by_atoms, DEFAULTS)
    return [demand_of(problem, content) for content in contents]


def interest(problem: Problem, publisher: int) -> tuple[Subscriber, ...]:
    """The subscribers that want some events of a publisher."""
    masks = problem.masks
    said = masks.advertised[publisher]
    everyone = zip(problem.workload.subscribers, masks.subscribed, strict=True)
    return tuple(subscriber for subscriber, wanted in everyone if wanted & said)


def lower_bound(graph: Graph, demands: Sequence[Demand]) -> float:
    """Σ rate · bound; demands have one root each."""
    steiner = prepared(graph)
    return sum(demand.rate * steiner.solve(demand.roots[0], demand.terminals).bound for demand in demands)


def least_cost(
    graph: Graph, demands: Sequence[Demand], time_limit: float, programs: int | None = None
) -> float | None:
    """The global optimum: every kind of event on a proven minimum tree. None if a tree is not proven in time,
    or if more than `programs` integer programs would be needed."""
    steiner, total, solved = prepared(graph), 0.0, 0
    proven: dict[Key, float] = {}
    for demand in demands:
        root, terminals = key = demand.roots[0], demand.terminals
        known = steiner.solve(root, terminals)
        if known.proven:
            proven[key] = known.cost
        elif key not in proven:
            solved += 1
            if programs is not None and solved > programs:
                return None
            tree = least_steiner_tree(graph, root, terminals, time_limit)
            if tree is None:
                return None
            proven[key] = graph.weigh(tree)
        total += demand.rate * proven[key]
    return total


def optimum(problem: Problem, time_limit: float) -> float | None:
    """`least_cost` of all that is published; None if the network is large or programs take too long."""
    if problem.graph.vertices > SMALL:
        return None
    everyone = range(len(problem.advertised))
    demands = [demand for each in everyone for demand in finest_demands(problem, each)]
    return least_cost(problem.graph, demands, time_limit / PROGRAMS, PROGRAMS)
