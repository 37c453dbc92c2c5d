"""How many failures a graph survives: its vertex connectivity, as kTCO's Definition 1 asks per topic.

`Topology` defines what a valid tree is; this module defines what a valid mesh is. A clique survives any
number of failures: the nodes that are left are joined. Otherwise the connectivity is the least number of
disjoint paths between two nodes that are not joined; by Esfahanian and Hakimi it is enough to look from one
node of least degree to all it is not joined to, and between its neighbours. Paths are counted by augmenting a
flow, never further than the bound at hand, in a sparse certificate: the union of k breadth-first forests,
each in what the former left, has the same connectivity up to k (Cheriyan, Kao, Thurimella).
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Graph = tuple[Ints, Ints, Ints]
"""Arcs of node v are start[v] … start[v + 1] − 1: where each leads, and which arc leads back."""
compiled: Any = njit(cache=True)


def largest_k(nodes: int, pairs: Ints, limit: int | None = None) -> int | None:
    """The largest k for which the graph is k-connected, at most `limit`; None for a clique: every k.

    `pairs` (two columns) are distinct links between nodes 0 … nodes − 1. 0: not connected.
    """
    if len(pairs) == nodes * (nodes - 1) // 2:
        return None
    start, near, back = _graph(nodes, pairs)
    least = int(np.diff(start).min())
    bound = least if limit is None else min(least, limit)
    if bound == 0:
        return 0
    kept = _certificate(start, near, back, bound)
    tails = np.repeat(np.arange(nodes), np.diff(start))
    once = kept & (tails < near)
    return int(_connectivity(*_graph(nodes, np.column_stack((tails[once], near[once]))), bound))


def _graph(nodes: int, pairs: Ints) -> Graph:
    links = len(pairs)
    tails = np.concatenate((pairs[:, 0], pairs[:, 1]))
    order = np.argsort(tails, kind="stable")
    place = np.empty(2 * links, dtype=np.int64)
    place[order] = np.arange(2 * links)
    start = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(tails, minlength=nodes), out=start[1:])
    heads = np.concatenate((pairs[:, 1], pairs[:, 0]))[order]
    return start, heads.astype(np.int64), place[(order + links) % (2 * links)]


@compiled
def _certificate(start, near, back, k):  # type: ignore[no-untyped-def]
    """Which arcs belong to one of k breadth-first forests."""
    nodes = len(start) - 1
    kept = np.zeros(len(near), dtype=np.bool_)
    queue = np.empty(nodes, dtype=np.int64)
    for _ in range(k):
        new = np.zeros(len(near), dtype=np.bool_)
        seen = np.zeros(nodes, dtype=np.bool_)
        for root in range(nodes):
            if seen[root]:
                continue
            seen[root] = True
            queue[0] = root
            first, last = 0, 1
            while first < last:
                node = queue[first]
                first += 1
                for arc in range(start[node], start[node + 1]):
                    other = near[arc]
                    if not seen[other] and not kept[arc]:
                        seen[other] = True
                        new[arc] = new[back[arc]] = True
                        queue[last] = other
                        last += 1
        kept |= new
    return kept


@compiled
def _connectivity(start, near, back, bound):  # type: ignore[no-untyped-def]
    nodes = len(start) - 1
    root = 0
    for node in range(nodes):
        if start[node + 1] - start[node] < start[root + 1] - start[root]:
            root = node
    best = min(bound, start[root + 1] - start[root])
    joined = np.zeros(nodes, dtype=np.bool_)
    joined[root] = True
    joined[near[start[root] : start[root + 1]]] = True
    for node in range(nodes):
        if not joined[node]:
            best = _paths(start, near, back, root, node, best)
    for first in range(start[root], start[root + 1]):
        one = near[first]
        joined[:] = False
        joined[near[start[one] : start[one + 1]]] = True
        for second in range(first + 1, start[root + 1]):
            if not joined[near[second]]:
                best = _paths(start, near, back, one, near[second], best)
    return best


@compiled
def _paths(start, near, back, source, target, most):  # type: ignore[no-untyped-def]
    """How many paths without a common node lead from source to target, at most `most`."""
    used = np.zeros(len(near), dtype=np.bool_)
    through = np.zeros(len(start) - 1, dtype=np.bool_)
    found = 0
    while found < most and _augment(start, near, back, used, through, source, target):
        found += 1
    return found


@compiled
def _augment(start, near, back, used, through, source, target):  # type: ignore[no-untyped-def]
    """One more path, by a search over nodes split in two: state 2v enters v, 2v + 1 leaves it."""
    nodes = len(start) - 1
    came = np.full(2 * nodes, -2, dtype=np.int64)
    by = np.full(2 * nodes, -1, dtype=np.int64)
    queue = np.empty(2 * nodes, dtype=np.int64)
    queue[0] = 2 * source + 1
    came[2 * source + 1] = came[2 * source] = -1
    first, last = 0, 1
    while first < last and came[2 * target] == -2:
        state = queue[first]
        first += 1
        node, leaves = state // 2, state % 2 == 1
        across = state - 1 if leaves else state + 1
        # Through the node once: forward if it is free, backward if a path already goes through it.
        if through[node] == leaves and came[across] == -2:
            came[across], by[across] = state, -1
            queue[last] = across
            last += 1
        for arc in range(start[node], start[node + 1]):
            over = arc if leaves else back[arc]
            if used[over] == leaves:
                continue
            other = 2 * near[arc] if leaves else 2 * near[arc] + 1
            if came[other] == -2:
                came[other], by[other] = state, over
                queue[last] = other
                last += 1
    if came[2 * target] == -2:
        return False
    _take(came, by, used, through, source, target)
    return True


@compiled
def _take(came, by, used, through, source, target):  # type: ignore[no-untyped-def]
    state = 2 * target
    while state != 2 * source + 1:
        before, arc = came[state], by[state]
        if arc >= 0:
            used[arc] = not used[arc]
        else:
            through[state // 2] = state % 2 == 1
        state = before
