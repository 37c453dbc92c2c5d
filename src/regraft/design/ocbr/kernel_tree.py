"""Compiled: a broker tree whose links move, and the loop that a new link closes.

The tree hangs at broker 0. Children are linked lists, so that hanging a branch elsewhere changes as
many numbers as the loop has links. `weight` counts the memberships (members of classes) in the branch
below a broker, itself included. numba's cache notices only changes of a function's own file: after a change
here, touch the files of the callers.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NONE = -1


class Tree(NamedTuple):
    """Parents, children (`child` is the first, `after` and `before` its siblings), memberships below."""

    parent: Ints
    child: Ints
    after: Ints
    before: Ints
    weight: Ints


class Loop(NamedTuple):
    """Scratch for loops: the brokers of the loop, and for each broker which search marked it last."""

    path: Ints
    mark: Ints
    """0 is free; 2k and 2k + 1 are the two sides of search k."""
    clock: Ints


@njit(cache=True, nogil=True)
def new_loop(brokers: int) -> Loop:
    return Loop(np.empty(2 * brokers + 2, np.int64), np.zeros(brokers, np.int64), np.zeros(1, np.int64))


@njit(cache=True, nogil=True)
def hang_up(parent: Ints, own: Ints) -> Tree:
    """The tree of these parents (of broker 0: -1); `own` counts each broker's memberships."""
    brokers = parent.size
    tree = Tree(
        np.full(brokers, NONE, np.int64),
        np.full(brokers, NONE, np.int64),
        np.full(brokers, NONE, np.int64),
        np.full(brokers, NONE, np.int64),
        own.copy(),
    )
    waiting = np.zeros(brokers, np.int64)
    for b in range(brokers):
        if parent[b] != NONE:
            adopt(tree, parent[b], b)
            waiting[parent[b]] += 1
    ready = np.empty(brokers, np.int64)
    head, tail = 0, 0
    for b in range(brokers):
        if waiting[b] == 0:
            ready[tail] = b
            tail += 1
    while head < tail:
        b = ready[head]
        head += 1
        above = parent[b]
        if above != NONE:
            tree.weight[above] += tree.weight[b]
            waiting[above] -= 1
            if waiting[above] == 0:
                ready[tail] = above
                tail += 1
    return tree


@njit(cache=True, nogil=True)
def adopt(tree: Tree, above: int, b: int) -> None:
    """Make b the first child of `above`; the caller updates weights."""
    first = tree.child[above]
    tree.parent[b] = above
    tree.before[b] = NONE
    tree.after[b] = first
    if first != NONE:
        tree.before[first] = b
    tree.child[above] = b


@njit(cache=True, nogil=True)
def orphan(tree: Tree, b: int) -> None:
    """Take b from its parent; the caller updates weights."""
    earlier, later = tree.before[b], tree.after[b]
    if earlier != NONE:
        tree.after[earlier] = later
    else:
        tree.child[tree.parent[b]] = later
    if later != NONE:
        tree.before[later] = earlier
    tree.parent[b] = NONE


@njit(cache=True, nogil=True)
def find_loop(tree: Tree, loop: Loop, one: int, other: int) -> tuple[int, int]:
    """Write the path from `one` to `other`; return its number of brokers and the place of its top.

    Both ends climb in turn until one stands where the other has been: time proportional to the path.
    """
    parent, path, mark = tree.parent, loop.path, loop.mark
    loop.clock[0] += 2
    left_mark = loop.clock[0]
    right_mark = left_mark + 1
    last = path.size
    left, right = 1, 1
    path[0], path[last - 1] = one, other
    mark[one], mark[other] = left_mark, right_mark
    a, b = one, other
    top = NONE
    while True:
        if parent[a] != NONE:
            a = parent[a]
            if mark[a] == right_mark:
                top = a
                break
            path[left] = a
            mark[a] = left_mark
            left += 1
        if parent[b] != NONE:
            b = parent[b]
            if mark[b] == left_mark:
                top = b
                break
            right += 1
            path[last - right] = b
            mark[b] = right_mark
    if mark[top] == left_mark:  # the right side arrived: the left side may have climbed beyond
        while path[left - 1] != top:
            left -= 1
        place = left - 1
    else:
        while path[last - right] != top:
            right -= 1
        place = left
    for k in range(right):
        path[left + k] = path[last - right + k]
    return left + right, place


@njit(cache=True, nogil=True)
def exchange(tree: Tree, loop: Loop, length: int, top: int, gone: int) -> None:
    """Close the loop of `find_loop` by a link between its ends, and open it between `gone` and `gone` + 1."""
    path, weight = loop.path, tree.weight
    if gone >= top:  # the branch with the path's end hangs over to its beginning
        moved = weight[path[gone + 1]]
        for place in range(top + 1, gone + 1):
            weight[path[place]] -= moved
        _turn(tree, path, gone + 1, length - 1, path[0])
        for place in range(top):
            weight[path[place]] += moved
    else:
        moved = weight[path[gone]]
        for place in range(gone + 1, top):
            weight[path[place]] -= moved
        _turn(tree, path, gone, 0, path[length - 1])
        for place in range(top + 1, length):
            weight[path[place]] += moved


@njit(cache=True, nogil=True)
def _turn(tree: Tree, path: Ints, cut: int, end: int, above: int) -> None:
    """Hang the branch of path[cut] by path[end], which lies in it, below `above`: links in between turn."""
    weight = tree.weight
    total = weight[path[cut]]
    orphan(tree, path[cut])
    step = 1 if end >= cut else -1
    place = cut
    while place != end:  # from the old top of the branch down: each hangs below its old child
        below = path[place + step]
        orphan(tree, below)
        adopt(tree, below, path[place])
        weight[path[place]] -= weight[below]
        weight[below] = total
        place += step
    adopt(tree, above, path[end])
