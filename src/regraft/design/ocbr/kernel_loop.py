"""Compiled: what each link of a loop is worth, from the traffic that hangs on the loop (OCBR §3.2).

Adding a link closes a loop; whichever of its links is removed, a class changes only on the loop. There
it spans everything but one gap between two neighbouring brokers that hold members of it: the gap with
the removed link. So removing a link saves, for each class, the cost of the gap the link lies in, and one
pass over the members that hang on the loop prices all its links at once. The members of the heaviest
hanging part need not be looked at: a class that has not shown all its members has the rest there.

Time: the length of the loop plus the memberships that hang on it outside its heaviest part.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from regraft.design.ocbr.kernel_tree import NONE, Floats, Ints, Loop, Tree

IMPOSSIBLE = np.inf


class Net(NamedTuple):
    """The problem in numbers; prices are already multiplied by α and β.

    Possible links of broker b: `near[start[b]:start[b + 1]]`, in order, with their `price`; any other
    pair costs `other`, which is infinite if only the listed links are possible. Classes with a member at
    b: `at[at_start[b]:at_start[b + 1]]`.
    """

    start: Ints
    near: Ints
    price: Floats
    other: float
    broker: Floats
    at_start: Ints
    at: Ints
    members: Ints
    demand: Floats


class Worth(NamedTuple):
    """Scratch: `saved[j]` is what the removal of link j of the loop saves; classes seen; a stack."""

    saved: Floats
    links: Floats
    brokers: Floats
    diff: Floats
    place: Ints
    seen: Ints
    """Per class: the search that saw it last, the first and last place of a member, members seen."""
    touched: Ints
    stack: Ints


@njit(cache=True, nogil=True)
def new_worth(brokers: int, classes: int) -> Worth:
    return Worth(
        np.zeros(brokers + 2),
        np.zeros(brokers + 2),
        np.zeros(brokers + 2),
        np.zeros(brokers + 2),
        np.full(brokers, NONE, np.int64),
        np.zeros((classes, 4), np.int64),
        np.empty(classes, np.int64),
        np.empty(2 * brokers + 2, np.int64),
    )


@njit(cache=True, nogil=True)
def price_of(net: Net, one: int, other: int) -> float:
    """α·C_l of the pair, infinite if the network does not have it."""
    low, high = net.start[one], net.start[one + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if net.near[middle] < other:
            low = middle + 1
        else:
            high = middle
    if low < end and net.near[low] == other:
        return float(net.price[low])
    return net.other


@njit(cache=True, nogil=True)
def price_loop(net: Net, tree: Tree, loop: Loop, worth: Worth, length: int, top: int, closing: float) -> None:
    """Fill `saved` for the loop that `find_loop` wrote; link j joins places j and j + 1, the last closes."""
    path, place = loop.path, worth.place
    heaviest = _heaviest(tree, path, length, top)
    for k in range(length):
        place[path[k]] = k
    links, brokers, diff = worth.links, worth.brokers, worth.diff
    links[0], brokers[0] = 0.0, 0.0
    for turn in range(length):  # places are counted from the heaviest part on, around the loop
        k = (heaviest + turn) % length
        cost = closing if k == length - 1 else price_of(net, path[k], path[k + 1])
        links[turn + 1] = links[turn] + cost
        brokers[turn + 1] = brokers[turn] + net.broker[path[k]]
        diff[turn] = 0.0
    diff[length] = 0.0
    found = _gaps(net, tree, loop, worth, length, heaviest)
    for index in range(found):
        t = worth.touched[index]
        first, last, d = worth.seen[t, 1], worth.seen[t, 2], net.demand[t]
        if worth.seen[t, 3] < net.members[t]:
            _gap(worth, last, length, d)
            _gap(worth, 0, first, d)
        else:
            saved = d * (
                links[length] - links[last] + links[first]
                + brokers[length] - brokers[last + 1] + brokers[first]
            )  # fmt: skip
            diff[last] += saved
            diff[length] -= saved
            diff[0] += saved
            diff[first] -= saved
    total = 0.0
    for turn in range(length):
        total += diff[turn]
        worth.saved[(heaviest + turn) % length] = total
    for k in range(length):
        place[path[k]] = NONE


@njit(cache=True, nogil=True)
def _heaviest(tree: Tree, path: Ints, length: int, top: int) -> int:
    """The place of the loop with most memberships hanging on it."""
    best, most = 0, -1
    for k in range(length):
        hanging = tree.weight[0] if k == top else tree.weight[path[k]]
        if 0 < k <= top:
            hanging -= tree.weight[path[k - 1]]
        if top <= k < length - 1:
            hanging -= tree.weight[path[k + 1]]
        if hanging > most:
            best, most = k, hanging
    return best


@njit(cache=True, nogil=True)
def _gap(worth: Worth, a: int, b: int, d: float) -> None:
    """The class with demand d has members at places a and b and none between."""
    saved = d * (worth.links[b] - worth.links[a] + worth.brokers[b] - worth.brokers[a + 1])
    worth.diff[a] += saved
    worth.diff[b] -= saved


@njit(cache=True, nogil=True)
def _gaps(net: Net, tree: Tree, loop: Loop, worth: Worth, length: int, heaviest: int) -> int:
    """Visit the members that hang on the loop, place by place; gaps between two seen members are entered."""
    path, stack, seen, place = loop.path, worth.stack, worth.seen, worth.place
    loop.clock[0] += 2
    search = loop.clock[0]
    found = 0
    for turn in range(1, length):
        stack[0], stack[1] = path[(heaviest + turn) % length], NONE
        high = 2
        while high:
            high -= 2
            b, came = stack[high], stack[high + 1]
            for index in range(net.at_start[b], net.at_start[b + 1]):
                t = net.at[index]
                if seen[t, 0] != search:
                    seen[t, 0], seen[t, 1], seen[t, 2], seen[t, 3] = search, turn, turn, 1
                    worth.touched[found] = t
                    found += 1
                else:
                    seen[t, 3] += 1
                    if seen[t, 2] != turn:
                        _gap(worth, seen[t, 2], turn, net.demand[t])
                        seen[t, 2] = turn
            high = push_around(tree, place, stack, high, b, came)
    return found


@njit(cache=True, nogil=True)
def push_around(tree: Tree, place: Ints, stack: Ints, high: int, b: int, came: int) -> int:
    """Push b's neighbours but the one we came from and those of the loop or region (`place`)."""
    above = tree.parent[b]
    if above not in (NONE, came) and place[above] == NONE:
        stack[high], stack[high + 1] = above, b
        high += 2
    below = tree.child[b]
    while below != NONE:
        if below != came and place[below] == NONE:
            stack[high], stack[high + 1] = below, b
            high += 2
        below = tree.after[below]
    return high
