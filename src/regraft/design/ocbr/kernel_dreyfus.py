"""Compiled: the cheapest subtree for one class of few members, proven (Dreyfus and Wagner).

Best trees over a set of members and one more broker are merged from two, or grown along a link.
O(3^k·n + 2^k·m log n) for k + 1 members.
"""

import numpy as np
from numba import njit

from regraft.design.ocbr.kernel_steiner import Graph, _pop, _push
from regraft.design.ocbr.kernel_tree import NONE, Floats, Ints


@njit(cache=True, nogil=True)
def steiner_tree(graph: Graph, members: Ints) -> tuple[float, Ints]:
    """The least cost, and the brokers in its tree (1) or not (0)."""
    size, k = graph.broker.size, members.size - 1
    cost = np.full((1 << k, size), np.inf)
    how = np.full((1 << k, size), NONE, np.int64)
    """A link that was grown along, or -2 - (one of the two merged sets)."""
    for i in range(k):
        cost[1 << i, members[i]] = graph.broker[members[i]]
    for s in range(1, 1 << k):
        part = (s - 1) & s
        while part > s ^ part:  # each split once
            for b in range(size):
                both = cost[part, b] + cost[s ^ part, b] - graph.broker[b]
                if both < cost[s, b]:
                    cost[s, b], how[s, b] = both, -2 - part
            part = (part - 1) & s
        _grow(graph, cost[s], how[s])
    used = np.zeros(size, np.int64)
    sets, at = np.empty(2 * size + 2, np.int64), np.empty(2 * size + 2, np.int64)
    sets[0], at[0] = (1 << k) - 1, members[k]
    high = 1
    while high:
        high -= 1
        s, b = sets[high], at[high]
        used[b] = 1
        if how[s, b] >= 0:
            e = how[s, b]
            sets[high], at[high] = s, graph.one[e] + graph.other[e] - b
            high += 1
        elif how[s, b] < NONE:
            part = -2 - how[s, b]
            sets[high], at[high] = part, b
            sets[high + 1], at[high + 1] = s ^ part, b
            high += 2
    return cost[(1 << k) - 1, members[k]], used


@njit(cache=True, nogil=True)
def _grow(graph: Graph, cost: Floats, how: Ints) -> None:
    heap = [(0.0, 0)]
    heap.clear()
    for b in range(cost.size):
        if cost[b] < np.inf:
            _push(heap, cost[b], b)
    while heap:
        here, b = _pop(heap)
        if here > cost[b]:
            continue
        for index in range(graph.start[b], graph.start[b + 1]):
            e = graph.around[index]
            near = graph.one[e] + graph.other[e] - b
            there = here + graph.price[e] + graph.broker[near]
            if there < cost[near]:
                cost[near], how[near] = there, e
                _push(heap, there, near)
