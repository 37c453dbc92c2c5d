"""Compiled: a cheap subtree for one class alone, the Steiner tree problem inside OCBR (OCBR §2).

A first tree joins the members along shortest paths (Mehlhorn's construction: every broker belongs to its
nearest member, and members whose areas touch are joined by the cheapest crossings). Then brokers are put
in or left out one at a time: the tree over a set of brokers is its cheapest spanning tree without the
ends that are no members. Links come sorted by price; a broker is paid for once.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from regraft.design.ocbr.kernel_tree import NONE, Floats, Ints


class Graph(NamedTuple):
    """Possible links, cheapest first: ends and prices; the rows of each broker list links by number."""

    one: Ints
    other: Ints
    price: Floats
    broker: Floats
    start: Ints
    around: Ints


@njit(cache=True, nogil=True)
def _root(group: Ints, b: int) -> int:
    while group[b] != b:
        group[b] = group[group[b]]
        b = group[b]
    return b


@njit(cache=True, nogil=True)
def nearest(graph: Graph, disguise: Floats, member: Ints) -> tuple[Ints, Ints, Floats]:
    """Of every broker: the member it is nearest to, the link towards it, and how far (prices disguised)."""
    size = graph.broker.size
    owner, link, far = np.full(size, NONE, np.int64), np.full(size, NONE, np.int64), np.full(size, np.inf)
    heap = [(0.0, 0)]
    heap.clear()
    for b in range(size):
        if member[b]:
            owner[b], far[b] = b, 0.0
            _push(heap, 0.0, b)
    while heap:
        reach, b = _pop(heap)
        if reach > far[b]:
            continue
        for index in range(graph.start[b], graph.start[b + 1]):
            e = graph.around[index]
            near = graph.one[e] + graph.other[e] - b
            there = reach + disguise[e] + (graph.broker[b] + graph.broker[near]) / 2
            if there < far[near]:
                far[near], owner[near], link[near] = there, owner[b], e
                _push(heap, there, near)
    return owner, link, far


@njit(cache=True, nogil=True)
def _push(heap: list[tuple[float, int]], reach: float, b: int) -> None:
    heap.append((reach, b))
    place = len(heap) - 1
    while place and heap[(place - 1) // 2][0] > heap[place][0]:
        above = (place - 1) // 2
        heap[above], heap[place] = heap[place], heap[above]
        place = above


@njit(cache=True, nogil=True)
def _pop(heap: list[tuple[float, int]]) -> tuple[float, int]:
    first = heap[0]
    last = heap.pop()
    size = len(heap)
    if size:
        heap[0] = last
        place = 0
        while True:
            least = place
            for below in (2 * place + 1, 2 * place + 2):
                if below < size and heap[below][0] < heap[least][0]:
                    least = below
            if least == place:
                break
            heap[least], heap[place] = heap[place], heap[least]
            place = least
    return first


@njit(cache=True, nogil=True)
def join(graph: Graph, disguise: Floats, member: Ints) -> Ints:
    """Which brokers the first tree uses (1) and which not (0)."""
    size = graph.broker.size
    owner, link, far = nearest(graph, disguise, member)
    bridge = np.empty(graph.price.size)
    for e in range(graph.price.size):
        a, b = graph.one[e], graph.other[e]
        apart = owner[a] != owner[b]
        middle = (graph.broker[a] + graph.broker[b]) / 2
        bridge[e] = far[a] + far[b] + disguise[e] + middle if apart else np.inf
    group = np.arange(size)
    used = member.copy()
    for e in np.argsort(bridge):
        if bridge[e] == np.inf:
            break
        a, b = _root(group, owner[graph.one[e]]), _root(group, owner[graph.other[e]])
        if a != b:
            group[a] = b
            for end in (graph.one[e], graph.other[e]):
                at = end
                while link[at] != NONE and not used[at]:
                    used[at] = 1
                    at = graph.one[link[at]] + graph.other[link[at]] - at
    return used


@njit(cache=True, nogil=True)
def span(graph: Graph, used: Ints, member: Ints, count: int, chosen: Ints) -> tuple[float, int]:
    """The cheapest tree over the `count` used brokers, ends that are no members taken off.

    Writes its links into `chosen`, in order; returns its cost (infinite if they are not joined) and number.
    """
    group = np.arange(graph.broker.size)
    found = 0
    for e in range(graph.price.size):
        if used[graph.one[e]] and used[graph.other[e]]:
            one, other = _root(group, graph.one[e]), _root(group, graph.other[e])
            if one != other:
                group[one] = other
                chosen[found] = e
                found += 1
                if found == count - 1:
                    break
    if found < count - 1:
        return np.inf, 0
    return _pruned(graph, member, chosen, found)


@njit(cache=True, nogil=True)
def span_with(
    graph: Graph, used: Ints, member: Ints, tree: Ints, links: int, b: int, chosen: Ints
) -> tuple[float, int]:
    """The same over the brokers of a cheapest tree and b: only its links and those of b can be in it."""
    group = np.arange(graph.broker.size)
    found, place, at, end = 0, 0, graph.start[b], graph.start[b + 1]
    while place < links or at < end:
        if at == end or (place < links and tree[place] < graph.around[at]):
            e = tree[place]
            place += 1
        else:
            e = graph.around[at]
            at += 1
            if not used[graph.one[e] + graph.other[e] - b]:
                continue
        one, other = _root(group, graph.one[e]), _root(group, graph.other[e])
        if one != other:
            group[one] = other
            chosen[found] = e
            found += 1
    return _pruned(graph, member, chosen, found)


@njit(cache=True, nogil=True)
def _pruned(graph: Graph, member: Ints, chosen: Ints, found: int) -> tuple[float, int]:
    """Take off ends that are no members; the cost of what is left, and its links."""
    degree = np.zeros(graph.broker.size, np.int64)
    for index in range(found):
        degree[graph.one[chosen[index]]] += 1
        degree[graph.other[chosen[index]]] += 1
    shrinking = True
    while shrinking:  # a few passes: chains of useless ends are short
        shrinking, kept = False, 0
        for index in range(found):
            e = chosen[index]
            a, b = graph.one[e], graph.other[e]
            if (degree[a] == 1 and not member[a]) or (degree[b] == 1 and not member[b]):
                degree[a] -= 1
                degree[b] -= 1
                shrinking = True
            else:
                chosen[kept] = e
                kept += 1
        found = kept
    cost = 0.0
    for index in range(found):
        cost += graph.price[chosen[index]]
    for b in range(degree.size):
        if degree[b]:
            cost += graph.broker[b]
    return cost, found


@njit(cache=True, nogil=True)
def improve(graph: Graph, used: Ints, member: Ints, order: Ints) -> float:
    """Put brokers in and leave them out, in this order and again, while that saves; edits `used`."""
    size = graph.broker.size
    tree, chosen = np.empty(size, np.int64), np.empty(size, np.int64)
    best, links = span(graph, used, member, int(used.sum()), tree)
    _only(graph, used, member, tree, links)
    idle, place = 0, 0
    while idle < order.size:
        b = order[place]
        place = (place + 1) % order.size
        idle += 1
        if member[b] or (not used[b] and _beside(graph, used, b) < 2):
            continue
        if used[b]:
            used[b] = 0
            cost, found = span(graph, used, member, links, chosen)
            used[b] = 1
        else:
            cost, found = span_with(graph, used, member, tree, links, b, chosen)
        if cost < best - 1e-9 * best:
            best, links, idle = cost, found, 0
            tree[:links] = chosen[:links]
            _only(graph, used, member, tree, links)
    return best


@njit(cache=True, nogil=True)
def _beside(graph: Graph, used: Ints, b: int) -> int:
    beside = 0
    for index in range(graph.start[b], graph.start[b + 1]):
        e = graph.around[index]
        beside += used[graph.one[e] + graph.other[e] - b]
    return int(beside)


@njit(cache=True, nogil=True)
def _only(graph: Graph, used: Ints, member: Ints, chosen: Ints, links: int) -> None:
    """Used are the members and the ends of the chosen links."""
    used[:] = member
    for index in range(links):
        used[graph.one[chosen[index]]] = 1
        used[graph.other[chosen[index]]] = 1


@njit(cache=True, nogil=True)
def embed(graph: Graph, used: Ints, member: Ints, tree_one: Ints, tree_other: Ints) -> Ints:
    """A spanning tree with the links of the subtree over `used`, then those of an old tree that still fit.

    Returns its links as pairs of columns.
    """
    size = graph.broker.size
    chosen = np.empty(size, np.int64)
    _, links = span(graph, used, member, int(used.sum()), chosen)
    group = np.arange(size)
    pairs = np.empty((size - 1, 2), np.int64)
    filled = 0
    for index in range(links):
        a, b = graph.one[chosen[index]], graph.other[chosen[index]]
        group[_root(group, a)] = _root(group, b)
        pairs[filled, 0], pairs[filled, 1] = a, b
        filled += 1
    for index in range(tree_one.size):
        a, b = _root(group, tree_one[index]), _root(group, tree_other[index])
        if a != b:
            group[a] = b
            pairs[filled, 0], pairs[filled, 1] = tree_one[index], tree_other[index]
            filled += 1
    return pairs
