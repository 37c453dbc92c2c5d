"""How far routes are from the least: a lower bound on the cost of any tables (Content routes §8, outlook).

An event of a publisher must reach the switches of all who want it, over a tree that costs at least a least
Steiner tree. So the sum over all kinds of events of rate times a bound on that tree holds whatever tables
look at and however filters are clustered.
"""

from collections.abc import Sequence

from regraft.model.routes import Subscriber
from regraft.routes.clustering_atoms import by_atoms
from regraft.routes.contents import contents_for
from regraft.routes.problem import Demand, Graph, Problem, demand_of
from regraft.routes.settings import DEFAULTS
from regraft.routes.steiner_graph import prepared
from regraft.routes.steiner_program import least_steiner_tree


def finest_demands(problem: Problem, publisher: int) -> list[Demand]:
    """What a publisher has to send at least: one demand for each set of terminals."""
    contents = contents_for(problem, publisher, by_atoms, DEFAULTS)
    return [demand_of(problem, content) for content in contents]


def interest(problem: Problem, publisher: int) -> tuple[Subscriber, ...]:
    """The subscribers who want something of a publisher."""
    masks = problem.masks
    said = masks.advertised[publisher]
    everyone = zip(problem.workload.subscribers, masks.subscribed, strict=True)
    return tuple(subscriber for subscriber, wanted in everyone if wanted & said)


def lower_bound(graph: Graph, demands: Sequence[Demand]) -> float:
    """Σ rate · bound; demands have one root each."""
    steiner = prepared(graph)
    return sum(demand.rate * steiner.solve(demand.roots[0], demand.terminals).bound for demand in demands)


def least_cost(graph: Graph, demands: Sequence[Demand], time_limit: float) -> float | None:
    """The global optimum: every kind of event on a proven least tree; None if one is not proven in time."""
    steiner, total = prepared(graph), 0.0
    for demand in demands:
        root, terminals = demand.roots[0], demand.terminals
        known = steiner.solve(root, terminals)
        if known.proven:
            total += demand.rate * known.cost
        elif (tree := least_steiner_tree(graph, root, terminals, time_limit)) is not None:
            total += demand.rate * graph.weigh(tree)
        else:
            return None
    return total
