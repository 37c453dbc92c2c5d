"""How far routes are from the least: a lower bound on the cost of any tables (Content routes §8, outlook).

An event of a publisher must reach the switches of all who want it, over a tree that costs at least a least
Steiner tree. So the sum over all kinds of events of rate times a bound on that tree holds whatever tables
look at and however filters are clustered.
"""

from collections.abc import Mapping, Sequence

from regraft.routes.clustering_atoms import by_atoms
from regraft.routes.contents import contents_of
from regraft.routes.problem import Demand, Graph, Problem, demand_of
from regraft.routes.settings import Settings
from regraft.routes.steiner_graph import prepared

Key = tuple[int, tuple[int, ...]]
"""Root and terminals."""


def finest_demands(problem: Problem) -> list[Demand]:
    """What has to be carried at least: one demand for each publisher and each set of terminals."""
    contents = contents_of(problem, by_atoms, Settings(matching="publisher"))
    return [demand_of(problem, content) for content in contents]


def lower_bound(graph: Graph, demands: Sequence[Demand], known: Mapping[Key, float] = {}) -> float:
    """Σ rate · bound; demands have one root each. `known` are bounds that were computed before."""
    steiner, total = prepared(graph), 0.0
    for demand in demands:
        key = (demand.roots[0], demand.terminals)
        bound = known[key] if key in known else steiner.solve(*key).bound
        total += demand.rate * bound
    return total
