"""Compiled: what single exchanges of links save, and how many shifts each takes."""

import numpy as np
from numba import njit

from regraft.design.ocbr.kernel_loop import Net, Worth, price_loop, price_of
from regraft.design.ocbr.kernel_tree import NONE, Floats, Ints, Loop, Tree, exchange, find_loop


@njit(cache=True, nogil=True)
def best_exchange(
    net: Net, tree: Tree, loop: Loop, worth: Worth, one: int, other: int, goal: Ints
) -> tuple[float, int, int, int]:
    """Find the best link to remove if this one is added, but none of the goal tree (parents; -2: no goal).

    Returns the change of the cost, the place of the link to remove (-1: none), the length of the loop and its
    top.
    """
    if one == other or tree.parent[one] == other or tree.parent[other] == one:
        return 0.0, NONE, 0, 0
    closing = price_of(net, one, other)
    if closing == np.inf:
        return 0.0, NONE, 0, 0
    length, top = find_loop(tree, loop, one, other)
    price_loop(net, tree, loop, worth, length, top, closing)
    gone = NONE
    for k in range(length - 1):
        a, b = loop.path[k], loop.path[k + 1]
        if goal[a] == b or goal[b] == a:
            continue
        if gone == NONE or worth.saved[k] > worth.saved[gone]:
            gone = k
    if gone == NONE:
        return 0.0, NONE, length, top
    return worth.saved[length - 1] - worth.saved[gone], gone, length, top


@njit(cache=True, nogil=True)
def value_all(
    net: Net, tree: Tree, loop: Loop, worth: Worth, pairs: Ints, goal: Ints, change: Floats, shifts: Ints
) -> None:
    """For every pair: the change of cost of its best exchange and the shifts it takes (0: not possible)."""
    for index in range(pairs.shape[0]):
        saved, gone, length, _ = best_exchange(net, tree, loop, worth, pairs[index, 0], pairs[index, 1], goal)
        change[index] = saved
        shifts[index] = length - 2 if gone != NONE else 0


@njit(cache=True, nogil=True)
def carry_out(tree: Tree, loop: Loop, one: int, other: int, gone: int) -> int:
    """Carry out the exchange that `best_exchange` chose; returns the length of the loop, see `loop.path`."""
    length, top = find_loop(tree, loop, one, other)
    exchange(tree, loop, length, top, gone)
    return length


@njit(cache=True, nogil=True)
def all_exchanges(
    net: Net, tree: Tree, loop: Loop, worth: Worth, pairs: Ints, longest: int, moves: Ints, change: Floats
) -> int:
    """Every exchange of one of the pairs for any link of its loop, up to `longest` shifts; how many.

    Rows of `moves`: the ends of the added link, the place of the removed one, the shifts.
    """
    found = 0
    for index in range(pairs.shape[0]):
        one, other = pairs[index, 0], pairs[index, 1]
        if tree.parent[one] == other or tree.parent[other] == one:
            continue
        length, top = find_loop(tree, loop, one, other)
        if length - 2 > longest:
            continue
        price_loop(net, tree, loop, worth, length, top, price_of(net, one, other))
        for k in range(length - 1):
            if found == change.size:
                return found
            moves[found, 0], moves[found, 1], moves[found, 2], moves[found, 3] = one, other, k, length - 2
            change[found] = worth.saved[length - 1] - worth.saved[k]
            found += 1
    return found
