"""What an overlay is judged by: the traffic it carries, and which nodes are interested in which topics."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from regraft.model.traffic import Traffic

Interest = Mapping[str, frozenset[str]]
"""Topic → the nodes interested in it (kTCO §III, Int)."""
Variances = Mapping[frozenset[str], float]
"""Members of a traffic class → the variance of its demand, where that is estimated from a sample."""


@dataclass(frozen=True)
class Workload:
    """Either part may be missing: trees are judged by traffic, meshes by interest.

    The demand of a class without a variance is exact.
    """

    traffic: Traffic = ()
    interest: Interest = field(default_factory=dict)
    variances: Variances = field(default_factory=dict)


def added(variances: Iterable[tuple[frozenset[str], float]]) -> Variances:
    """Each member set once, with the sum of its variances: what different publications add is independent."""
    total: dict[frozenset[str], float] = {}
    for members, variance in variances:
        if members and variance > 0:
            total[members] = total.get(members, 0.0) + variance
    return total
