"""Lower bounds on the cost of any tree, so that the gap of a design is known.

Two that no tree can beat, and the better of them is the answer:

- *classes*: every class pays at least for the cheapest subtree it could have alone. For few classes by
  dual ascent, for many by distances (exact for two and three members).
- *cuts*: the links of any tree can be matched with the cuts of the traffic's cut tree so that each carries
  at least the matched cut, and their prices are at least those of the cheapest spanning tree, each by its
  rank. If every pair is possible at one price, the cut tree is the best tree and this bound is its cost.

Brokers count in both: each has at least the price of the cheapest, which goes with the links (a subtree
has one broker more than links), and members pay what is above that.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

from regraft.design.ocbr.kernel_ascent import dual_ascent
from regraft.design.ocbr.kernel_bound import class_bounds
from regraft.design.ocbr.kernel_flow import Flow, cut_tree, new_flow
from regraft.design.ocbr.kernel_tree import NONE, Floats, Ints
from regraft.design.ocbr.problem import Problem
from regraft.design.ocbr.rebuild import graph_of

MOST_BROKERS = 3000
"""The most for which all distances are computed: they take 72 MB."""
MOST_ARCS = 50_000_000
"""The most arcs that a dual ascent looks at: a fraction of a second for each class."""
MOST_ASCENTS = 2_000_000
"""Classes × links up to which there is a dual ascent for every class: seconds."""
MOST_FLOW = 30_000_000
"""Brokers × memberships up to which the cut tree is built: seconds."""


class Bound(NamedTuple):
    """No tree costs less than `value`; `by` says which argument proves it."""

    value: float
    by: str


def lower_bound(problem: Problem) -> Bound:
    """The better of the two bounds."""
    found = [Bound(_alone(problem) + classes_bound(problem), "classes")]
    if len(problem.ids) * len(problem.net.at) <= MOST_FLOW:
        found.append(cut_tree_design(problem)[1])
    return max(found)


def cut_tree_design(problem: Problem) -> tuple[Ints, Bound]:
    """The cut tree of the traffic, which may use pairs that are not possible, and the bound of its cuts."""
    above, cuts = cuts_of(problem)
    return above, Bound(_alone(problem) + _shared(problem) + cuts_bound(problem, cuts), "cuts")


def _alone(problem: Problem) -> float:
    """The cost of the classes of one broker, which is the same in every tree."""
    cost = {broker.id: broker.cost for broker in problem.brokers}
    single = (each for each in problem.traffic if len(each.members) == 1)
    return problem.beta * sum(each.demand * cost[next(iter(each.members))] for each in single)


def _shared(problem: Problem) -> float:
    """Broker costs beyond the cheapest broker for each link: one more broker, and members that cost more."""
    net = problem.net
    least = float(net.broker.min())
    above = sum(
        float(net.demand[net.at[net.at_start[b] : net.at_start[b + 1]]].sum()) * (net.broker[b] - least)
        for b in range(len(problem.ids))
    )
    return least * float(net.demand.sum()) + float(above)


def classes_bound(problem: Problem) -> float:
    """The sum of what each class would pay if it were alone."""
    members, demand = problem.travelling
    if not members:
        return 0.0
    few = len(members) * len(problem.links) <= MOST_ASCENTS
    graph = graph_of(problem) if few else None
    if graph is not None:
        return math.fsum(
            d * dual_ascent(graph, each, MOST_ARCS) for each, d in zip(members, demand.tolist(), strict=True)
        )
    return _shared(problem) + float(np.dot(demand, _link_bounds(problem, members)))


def _link_bounds(problem: Problem, members: list[Ints]) -> Floats:
    net, size = problem.net, len(problem.ids)
    least = float(net.broker.min())
    sizes = np.array([len(each) for each in members], np.int64)
    if problem.open or size > MOST_BROKERS:
        cheapest = min(net.other, float(net.price.min()) if len(net.price) else np.inf)
        return np.asarray((sizes - 1) * (cheapest + least), np.float64)
    price = np.maximum(net.price + least, 1e-12)
    matrix = scipy.sparse.csr_array((price, net.near, net.start), (size, size))
    far = dijkstra(matrix, directed=False)
    start = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    # The tiny prices that stand for 0 must not raise a bound above the truth.
    return np.maximum(0.0, class_bounds(start, np.concatenate(members), far) - 1e-12 * size)


def cuts_of(problem: Problem) -> tuple[Ints, Floats]:
    """The cut tree of the traffic, rooted at broker 0, and the cut of each broker's link to its parent."""
    net, size = problem.net, len(problem.ids)
    above, cut = np.zeros(size, np.int64), np.zeros(size)
    flow: Flow = new_flow(net)
    cut_tree(net, flow, above, cut, 1, size)
    above[0] = NONE
    return above, cut[1:]


def cuts_bound(problem: Problem, cuts: Floats) -> float:
    """The sum over all links of cut times price: the largest cut has the lowest price, and so on."""
    net, size = problem.net, len(problem.ids)
    least = float(net.broker.min())
    if problem.open:
        stated = np.sort(net.price)[::2]  # each link is in two rows
        prices = np.sort(np.concatenate((stated, np.full(size, net.other))))[: size - 1] + least
    else:
        matrix = scipy.sparse.csr_array((net.price + 1.0, net.near, net.start), (size, size))
        prices = np.sort(minimum_spanning_tree(matrix).data) - 1.0 + least
    return float(np.dot(np.sort(cuts)[::-1], prices))
