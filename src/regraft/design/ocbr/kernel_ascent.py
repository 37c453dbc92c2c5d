"""Compiled: a lower bound on the subtree of one class by dual ascent (Wong's for Steiner trees).

Prices are taken off arcs little by little: for a member that the first member cannot yet reach along
free arcs, all arcs into the set from which the member is reached pay the least of their prices. The sum
of what was paid is at most the cost of any subtree that joins the members.
"""

import numpy as np
from numba import njit

from regraft.design.ocbr.kernel_steiner import Graph
from regraft.design.ocbr.kernel_tree import Ints


@njit(cache=True, nogil=True)
def dual_ascent(graph: Graph, members: Ints, most: int) -> float:
    """The bound, brokers' prices included; ends early, with what it has, after `most` arcs looked at."""
    size, links = graph.broker.size, graph.price.size
    root = members[0]
    left = np.empty((links, 2))  # of link e: towards `one`, towards `other`
    for e in range(links):
        left[e, 0] = graph.price[e] + graph.broker[graph.one[e]]
        left[e, 1] = graph.price[e] + graph.broker[graph.other[e]]
    bound, looked = graph.broker[root], 0
    inside, stack = np.zeros(size, np.int64), np.empty(size, np.int64)
    waiting = members[1:].copy()
    count, turn = waiting.size, 0
    while count and looked < most:
        turn += 1
        pick, fewest = 0, np.inf
        for index in range(min(count, 12)):  # the member reached from the fewest brokers, of a few
            place = (turn + index * 7) % count
            reached = _reached(graph, left, waiting[place], inside, stack)
            looked += reached[1]
            if reached[0] < fewest:
                pick, fewest = place, reached[0]
        _, arcs = _reached(graph, left, waiting[pick], inside, stack)
        looked += arcs
        if inside[root]:
            count -= 1
            waiting[pick] = waiting[count]
            continue
        bound += _pay(graph, left, inside)
    return float(bound)


@njit(cache=True, nogil=True)
def _reached(graph: Graph, left: np.ndarray, member: int, inside: Ints, stack: Ints) -> tuple[float, int]:
    """Mark the brokers from which the member is reached along free arcs; how many arcs enter them."""
    inside[:] = 0
    inside[member] = 1
    stack[0] = member
    high, arcs = 1, 0
    while high:
        high -= 1
        b = stack[high]
        for index in range(graph.start[b], graph.start[b + 1]):
            e = graph.around[index]
            arcs += 1
            side = 0 if graph.one[e] == b else 1
            from_ = graph.other[e] if side == 0 else graph.one[e]
            if left[e, side] <= 1e-12 and not inside[from_]:
                inside[from_] = 1
                stack[high] = from_
                high += 1
    return float(arcs), arcs


@njit(cache=True, nogil=True)
def _pay(graph: Graph, left: np.ndarray, inside: Ints) -> float:
    """Take the least price of the arcs into the marked set off all of them."""
    least = np.inf
    for e in range(graph.price.size):
        a, b = inside[graph.one[e]], inside[graph.other[e]]
        if a and not b:
            least = min(least, left[e, 0])
        elif b and not a:
            least = min(least, left[e, 1])
    for e in range(graph.price.size):
        a, b = inside[graph.one[e]], inside[graph.other[e]]
        if a and not b:
            left[e, 0] -= least
        elif b and not a:
            left[e, 1] -= least
    return float(least)
