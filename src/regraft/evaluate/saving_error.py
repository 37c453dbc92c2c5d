"""How far off the difference of two routing costs may be, where demands are estimated from a sample.

The second of two topologies saves Σ_t Δ_t·d(t), if one message of class t costs Δ_t less on it (OCBR §2,
function (1)). Demands of different classes are estimated from different publications, and so independently:
the variance of what is saved is Σ_t Δ_t²·var(d(t)). It is far less than the sum of the variances of both
costs, because both topologies carry the same traffic.
"""

from math import fsum, sqrt

from regraft.evaluate.case import Case
from regraft.evaluate.routing_cost import message_costs
from regraft.model import Topology
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload


def saving_error(
    first: Topology, second: Topology, workload: Workload, alpha: float = 1.0, beta: float = 1.0
) -> float:
    """The standard error of the routing cost that the second tree saves; 0 if the traffic is exact."""
    estimated = tuple(TrafficClass(members, variance) for members, variance in workload.variances.items())
    cases = [Case(topology, Workload(estimated), alpha, beta) for topology in (first, second)]
    if not all(case.has_traffic for case in cases):
        return 0.0
    before, after = map(message_costs, cases)
    return sqrt(fsum((before - after) ** 2 * cases[0].spans.demand))
