"""How far off the difference of two routing costs may be, where demands are estimated from a sample.

The second of two topologies saves Σ_t Δ_t·d(t), if one message of class t costs Δ_t less on it (OCBR §2,
function (1)). Were the demands of different classes estimated independently, the variance of what is saved
would be Σ_t Δ_t²·var(d(t)), which is far less than the sum of the variances of both costs, because both
topologies carry the same traffic.

But of N publications of a publisher exactly one is in the sample (`protocol.sampling`): where one class is
estimated too large, another one is too small, and if one of them costs more on the new tree and the other
one less, both err in the same direction. The variance is at most N / (N - 1) times as large then, because
what a block of N adds to it is at most N·Σ Δ², where independent choices would add (N - 1)·Σ Δ².
"""

from math import fsum, sqrt

from regraft.evaluate.case import Case
from regraft.evaluate.routing_cost import message_costs
from regraft.model import Topology
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload


def saving_error(
    first: Topology,
    second: Topology,
    workload: Workload,
    one_in: float,
    alpha: float = 1.0,
    beta: float = 1.0,
) -> float:
    """The standard error of the routing cost that the second tree saves; 0 if the traffic is exact. `one_in`:
    how many publications a recorded one stands for, on the average; in a sample, these are at least two."""
    estimated = tuple(TrafficClass(members, variance) for members, variance in workload.variances.items())
    cases = [Case(topology, Workload(estimated), alpha, beta) for topology in (first, second)]
    if not all(case.has_traffic for case in cases):
        return 0.0
    before, after = map(message_costs, cases)
    most = min(2.0, one_in / (one_in - 1)) if one_in > 1 else 1.0
    return sqrt(most * fsum((before - after) ** 2 * cases[0].spans.demand))
