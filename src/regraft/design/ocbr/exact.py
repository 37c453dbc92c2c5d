"""The best tree with a proof, where that is possible (OCBR uses a heuristic even for neighbourhoods).

A small network: dynamic programming over subsets of brokers, O(n·3^(n−1)) time and O(n·2^n) memory,
whatever the number of classes. Sixteen brokers take a fraction of a second. One class of few members in
any network: the Steiner tree by Dreyfus and Wagner.
"""

import numpy as np

from regraft.design.ocbr.kernel_dreyfus import steiner_tree
from regraft.design.ocbr.kernel_loop import price_of
from regraft.design.ocbr.kernel_region import Region, best_tree, enclose, new_region
from regraft.design.ocbr.kernel_tree import Ints
from regraft.design.ocbr.problem import Problem
from regraft.design.ocbr.rebuild import Builder, Subtree, graph_of
from regraft.design.ocbr.starts import starts
from regraft.model import BadInput

MOST_BROKERS = 18
MOST_STEPS = 10**8
"""The most steps of Dreyfus and Wagner's program: it takes about a second."""
QUICK = 14
"""Up to this number of brokers, the proof is faster than a search."""


def exact(problem: Problem) -> Ints:
    """Parents of a tree of least cost."""
    size = len(problem.ids)
    if size > MOST_BROKERS:
        raise BadInput("topology", f"an exact design takes at most {MOST_BROKERS} brokers, not {size}")
    region = tabulate(problem)
    best_tree(region, size)
    return region.found.copy()


def steiner(problem: Problem) -> Ints | None:
    """Parents of a tree of least cost if one class with few members is all the traffic; else None."""
    members, _ = problem.travelling
    graph = graph_of(problem) if len(members) == 1 else None
    if graph is None or len(problem.ids) * 3 ** (len(members[0]) - 1) > MOST_STEPS:
        return None
    cost, used = steiner_tree(graph, members[0])
    member = np.zeros(len(problem.ids), np.int64)
    member[members[0]] = 1
    builder = Builder(problem, graph, np.random.default_rng(0))
    spanning = next(iter(starts(problem).values()))
    return builder.embedded(Subtree(cost, used), member, spanning)


def tabulate(problem: Problem) -> Region:
    """Prices, costs and the demand inside every set of brokers."""
    size, net = len(problem.ids), problem.net
    region = new_region(size)
    region.cost[:] = net.broker
    for one in range(size):
        for other in range(size):
            region.prices[one, other] = price_of(net, one, other) if one != other else np.inf
    members, demand = problem.travelling
    for numbers, d in zip(members, demand, strict=True):
        region.inside[int(np.bitwise_or.reduce(1 << numbers))] += d
    enclose(region.inside, size)
    return region
