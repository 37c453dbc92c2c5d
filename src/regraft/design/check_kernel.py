"""Compiled: is one graph k-connected, and if not, what cuts it? Used by the checker only.

Even's test: nodes v1, v2, … in any order; the graph is k-connected if no two of the first k can be cut
apart by fewer than k nodes, and each later node has k paths to different earlier ones that share nothing
but that node. The order is chosen so that most nodes have k earlier neighbours, which is such paths; for
the others a flow is augmented. Graphs are arcs: those of node v are `near[start[v] : start[v + 1]]`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
ENDS_HERE = -2
"""The value of a node's successor if a path ends at this node."""


class Flow(NamedTuple):
    """Paths that share no node but the source: the node before and behind each node, −1 off the paths.

    `came` is the search tree over states 2v (entering v) and 2v + 1 (leaving v); −1 is not reached.
    """

    before: Ints
    behind: Ints
    came: Ints
    queue: Ints


@njit(cache=True, nogil=True)
def topic_graph(members: Ints, place: Ints, start: Ints, near: Ints) -> tuple[Ints, Ints]:
    """The arcs between these nodes, renumbered 0, 1, …; `place` is −1 everywhere before and after."""
    count = members.size
    for index in range(count):
        place[members[index]] = index
    begin = np.zeros(count + 1, np.int64)
    for index in range(count):
        inside = 0
        for at in range(start[members[index]], start[members[index] + 1]):
            inside += place[near[at]] >= 0
        begin[index + 1] = begin[index] + inside
    arcs = np.empty(begin[count], np.int64)
    fill = 0
    for index in range(count):
        for at in range(start[members[index]], start[members[index] + 1]):
            if place[near[at]] >= 0:
                arcs[fill] = place[near[at]]
                fill += 1
    for index in range(count):
        place[members[index]] = -1
    return begin, arcs


@njit(cache=True, nogil=True)
def most_joined_first(start: Ints, near: Ints, k: int) -> tuple[Ints, Ints]:
    """An order of the nodes in which each has as many earlier neighbours as possible, counted up to k."""
    nodes = start.size - 1
    order, joined = np.empty(nodes, np.int64), np.zeros(nodes, np.int64)
    done = np.zeros(nodes, np.bool_)
    waiting, filled = np.empty((k + 1, nodes), np.int64), np.zeros(k + 1, np.int64)
    waiting[0], filled[0] = np.arange(nodes), nodes
    for index in range(nodes):
        level = k
        while True:
            while filled[level] == 0:
                level -= 1
            filled[level] -= 1
            v = waiting[level, filled[level]]
            if not done[v] and joined[v] == level:
                break
        order[index], done[v] = v, True
        for at in range(start[v], start[v + 1]):
            w = near[at]
            if not done[w] and joined[w] < k:
                joined[w] += 1
                waiting[joined[w], filled[joined[w]]] = w
                filled[joined[w]] += 1
    return order, joined


@njit(cache=True, nogil=True)
def paths_to(start: Ints, near: Ints, source: int, target: Flags, left_out: int, k: int, flow: Flow) -> int:
    """How many paths, at most k, lead from the source to different targets and share no other node."""
    flow.before[:] = -1
    flow.behind[:] = -1
    for found in range(k):
        end = search(start, near, source, target, left_out, flow)
        if end < 0:
            return found
        state = 2 * end
        flow.behind[end] = ENDS_HERE
        while state != 2 * source + 1:
            previous = flow.came[state]
            one, other = previous >> 1, state >> 1
            if previous & 1 and one != other:  # a link that the new path uses
                flow.before[other] = one
                if one != source:
                    flow.behind[one] = other
            elif previous & 1:  # from leaving to entering: the paths no longer visit this node
                flow.before[one] = flow.behind[one] = -1
            state = previous
    return k


@njit(cache=True, nogil=True)
def search(start: Ints, near: Ints, source: int, target: Flags, left_out: int, flow: Flow) -> int:
    """Breadth first from the source over what the paths so far leave free; the target reached, or −1."""
    came, queue, before = flow.came, flow.queue, flow.before
    came[:] = -1
    queue[0], head, tail = 2 * source + 1, 0, 1
    came[2 * source + 1] = came[2 * source] = 2 * source
    while head < tail:
        state = queue[head]
        head += 1
        v = state >> 1
        if state & 1:
            for at in range(start[v], start[v + 1]):
                w = int(near[at])
                if came[2 * w] >= 0 or w == left_out:
                    continue
                came[2 * w] = state
                if before[w] < 0:
                    if target[w]:
                        return w
                    came[2 * w + 1] = 2 * w
                    queue[tail] = 2 * w + 1
                else:
                    queue[tail] = 2 * w
                tail += 1
            if v != source and before[v] >= 0 and came[2 * v] < 0:
                came[2 * v] = state
                queue[tail] = 2 * v
                tail += 1
        else:
            w = before[v]
            if w != source and came[2 * w + 1] < 0:
                came[2 * w + 1] = state
                queue[tail] = 2 * w + 1
                tail += 1
    return -1


@njit(cache=True, nogil=True)
def cut_of(flow: Flow, nodes: int, source: int) -> tuple[Ints, Ints]:
    """After a search that failed: the nodes that can be entered but not left, and those that can be left."""
    cut, side = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    for v in range(nodes):
        side[v] = v == source or flow.came[2 * v + 1] >= 0
        cut[v] = not side[v] and flow.came[2 * v] >= 0
    return np.flatnonzero(cut), np.flatnonzero(side)


@njit(cache=True, nogil=True)
def weakest(start: Ints, near: Ints, k: int) -> tuple[bool, Ints, Ints]:
    """Whether a graph of more than k nodes is k-connected; if not, a cut and the nodes that it cuts off."""
    nodes = start.size - 1
    order, joined = most_joined_first(start, near, k)
    none, full = np.full(nodes, -1, np.int64), np.empty(2 * nodes + 2, np.int64)
    flow = Flow(none, none.copy(), np.empty(2 * nodes, np.int64), full)
    target = np.zeros(nodes, np.bool_)
    for one in range(k):
        for other in range(one):
            v, w = order[one], order[other]
            target[:] = False
            for at in range(start[w], start[w + 1]):
                target[near[at]] = True
            if not target[v] and paths_to(start, near, v, target, w, k, flow) < k:
                cut, side = cut_of(flow, nodes, v)
                return False, cut, side
    target[:] = False
    for index in range(nodes):
        v = order[index]
        if index >= k and joined[v] < k and paths_to(start, near, v, target, -1, k, flow) < k:
            cut, side = cut_of(flow, nodes, v)
            return False, cut, side
        target[v] = True
    return True, np.empty(0, np.int64), np.empty(0, np.int64)
