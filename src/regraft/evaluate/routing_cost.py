"""The routing cost of a tree for its traffic (OCBR §2, cost function (1)).

    Σ_t ( α Σ_{l ∈ E(ST_t)} C_l(l)·d(t) + β Σ_{b ∈ V(ST_t)} C_b(b)·d(t) )

Complexity: one sort of all members, then sums; O(M log M + n log n) for M members and n brokers.
"""

from math import fsum

from regraft.evaluate.case import Case
from regraft.model.assessment import Finding
from regraft.model.tree_index import Floats


def routing_cost(case: Case) -> Finding:
    """`link_cost` and `broker_cost` are the two sums before α and β."""
    if not case.has_traffic:
        return Finding()
    links, brokers = (fsum(costs * case.spans.demand) for costs in _costs_of_a_message(case))
    total = case.alpha * links + case.beta * brokers
    return Finding({"routing_cost": total, "link_cost": links, "broker_cost": brokers})


def class_costs(case: Case) -> Floats:
    """What each class adds to the routing cost."""
    costs: Floats = message_costs(case) * case.spans.demand
    return costs


def message_costs(case: Case) -> Floats:
    """What one message of each class costs."""
    links, brokers = _costs_of_a_message(case)
    costs: Floats = case.alpha * links + case.beta * brokers
    return costs


def _costs_of_a_message(case: Case) -> tuple[Floats, Floats]:
    index, topology = case.index, case.topology
    links = case.spans.weights(index.link_costs(topology))
    return links, case.spans.broker_weights(index.broker_costs(topology))
