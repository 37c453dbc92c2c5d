"""Compiled: least cuts of the traffic itself, and a cut tree (Gomory and Hu, in Gusfield's form).

The cut of a set of brokers is the demand of the classes with members on both sides: what a link between
the two sides must carry in any tree. Every tree's links can be matched with the cut tree's so that each
carries at least the matched cut. So with one price for all pairs the cut tree is the best tree, and with
any prices its cuts bound the cost from below. A class is a node pair with its demand as capacity.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from regraft.design.ocbr.kernel_loop import Net
from regraft.design.ocbr.kernel_tree import Floats, Ints


class Flow(NamedTuple):
    """Arcs of node v: `start[v]:start[v + 1]`; `back` is the number of the opposite arc."""

    start: Ints
    to: Ints
    back: Ints
    room: Floats
    full: Floats
    level: Ints
    place: Ints
    queue: Ints


@njit(cache=True, nogil=True)
def new_flow(net: Net) -> Flow:
    """Brokers first, then for each class its entry and its exit."""
    brokers, classes = net.broker.size, net.demand.size
    nodes = brokers + 2 * classes
    start = np.zeros(nodes + 1, np.int64)
    for b in range(brokers):
        start[b + 1] = 2 * (net.at_start[b + 1] - net.at_start[b])
    for t in range(classes):
        start[brokers + 2 * t + 1] = net.members[t] + 1
        start[brokers + 2 * t + 2] = net.members[t] + 1
    for v in range(nodes):
        start[v + 1] += start[v]
    arcs = start[nodes]
    to, back, full = np.empty(arcs, np.int64), np.empty(arcs, np.int64), np.zeros(arcs)
    fill = start[:-1].copy()
    endless = net.demand.sum() + 1.0
    for t in range(classes):
        _arc(to, back, full, fill, brokers + 2 * t, brokers + 2 * t + 1, net.demand[t])
    for b in range(brokers):
        for index in range(net.at_start[b], net.at_start[b + 1]):
            t = net.at[index]
            _arc(to, back, full, fill, b, brokers + 2 * t, endless)
            _arc(to, back, full, fill, brokers + 2 * t + 1, b, endless)
    empty = np.empty(nodes, np.int64)
    return Flow(start, to, back, full.copy(), full, empty, empty.copy(), empty.copy())


@njit(cache=True, nogil=True)
def _arc(to: Ints, back: Ints, full: Floats, fill: Ints, a: int, b: int, room: float) -> None:
    here, there = fill[a], fill[b]
    fill[a] += 1
    fill[b] += 1
    to[here], to[there] = b, a
    back[here], back[there] = there, here
    full[here] = room


@njit(cache=True, nogil=True)
def least_cut(flow: Flow, source: int, sink: int) -> float:
    """The cut between two brokers; afterwards `level[v] >= 0` marks the source's side (Dinic's method)."""
    flow.room[:] = flow.full
    value = 0.0
    while _levels(flow, source, sink):
        flow.place[:] = flow.start[:-1]
        while True:
            more = _push_path(flow, source, sink)
            if more == 0.0:
                break
            value += more
    return value


@njit(cache=True, nogil=True)
def _levels(flow: Flow, source: int, sink: int) -> bool:
    level, queue = flow.level, flow.queue
    level[:] = -1
    level[source], queue[0] = 0, source
    head, tail = 0, 1
    while head < tail:
        v = queue[head]
        head += 1
        for arc in range(flow.start[v], flow.start[v + 1]):
            w = flow.to[arc]
            if flow.room[arc] > 1e-12 and level[w] < 0:
                level[w] = level[v] + 1
                queue[tail] = w
                tail += 1
    return bool(level[sink] >= 0)


@njit(cache=True, nogil=True)
def _push_path(flow: Flow, source: int, sink: int) -> float:
    """One path along rising levels; `queue` holds its arcs. Dead ends are not entered twice."""
    level, place, path = flow.level, flow.place, flow.queue
    v, steps = source, 0
    while v != sink:
        if place[v] == flow.start[v + 1]:
            if v == source:
                return 0.0
            level[v] = -2  # a dead end for this phase
            steps -= 1
            v = flow.to[flow.back[path[steps]]]
            place[v] += 1
            continue
        arc = place[v]
        w = flow.to[arc]
        if flow.room[arc] > 1e-12 and level[w] == level[v] + 1:
            path[steps] = arc
            steps += 1
            v = w
        else:
            place[v] += 1
    least = np.inf
    for k in range(steps):
        least = min(least, flow.room[path[k]])
    for k in range(steps):
        flow.room[path[k]] -= least
        flow.room[flow.back[path[k]]] += least
    return float(least)


@njit(cache=True, nogil=True)
def cut_tree(net: Net, flow: Flow, above: Ints, cut: Floats, first: int, last: int) -> None:
    """Brokers `first` to `last` - 1 of Gusfield's loop: fills parents (of broker 0: itself) and cuts."""
    for s in range(first, last):
        t = above[s]
        cut[s] = least_cut(flow, s, t)
        for i in range(net.broker.size):
            if i != s and flow.level[i] >= 0 and above[i] == t and i != t:
                above[i] = s
        if flow.level[above[t]] >= 0 and above[t] != t:
            above[s] = above[t]
            above[t] = s
            cut[s], cut[t] = cut[t], cut[s]
