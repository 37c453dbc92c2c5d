"""Compiled walks over a tree whose links move.

A tree is a few arrays that are written over step by step; nothing is allocated while a plan is made. numba's
cache notices only changes of a function's own file: after a change here, compiled callers in `kernel` and
`kernel_offers` are stale until those files change as well (`touch` is enough).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


PARENT, ABOVE, DEPTH = range(3)
"""Columns of `Tree.hung`: the next broker towards broker 0, the link to it, and the distance."""


class Tree(NamedTuple):
    """Links by number, with their two `ends`, and what `hang` and `walk` write.

    The links at broker b are `around[start[b] : start[b + 1]]`; `queue` and `path` are for scratch.
    """

    ends: Ints
    start: Ints
    around: Ints
    hung: Ints
    queue: Ints
    path: Ints


@njit(cache=True, nogil=True)
def new_tree(ends: Ints) -> Tree:
    """A tree over these links, which it owns from now on; to be hung up before it is walked."""
    links = ends.shape[0]
    return Tree(
        ends,
        np.zeros(links + 2, np.int64),
        np.empty(2 * links, np.int64),
        np.empty((links + 1, 3), np.int64),
        np.empty(links + 1, np.int64),
        np.empty(links + 2, np.int64),
    )


@njit(cache=True, nogil=True)
def hang(tree: Tree) -> None:
    """Hang the tree up at broker 0: parent, link to the parent and depth of every broker."""
    ends, start, around, hung, queue, _ = tree
    list_around(ends, start, around, queue)
    queue[0], hung[0, PARENT], hung[0, ABOVE], hung[0, DEPTH] = 0, -1, -1, 0
    head, tail = 0, 1
    while head < tail:
        broker = queue[head]
        head += 1
        for place in range(start[broker], start[broker + 1]):
            link = around[place]
            if link != hung[broker, ABOVE]:
                below = ends[link, 0] ^ ends[link, 1] ^ broker
                hung[below, PARENT], hung[below, ABOVE] = broker, link
                hung[below, DEPTH] = hung[broker, DEPTH] + 1
                queue[tail] = below
                tail += 1


@njit(cache=True, nogil=True)
def list_around(ends: Ints, start: Ints, around: Ints, fill: Ints) -> None:
    """List the links at every broker, by counting sort; `fill` is for scratch."""
    start[:] = 0
    for link in range(ends.shape[0]):
        start[ends[link, 0] + 1] += 1
        start[ends[link, 1] + 1] += 1
    for broker in range(fill.size):
        start[broker + 1] += start[broker]
        fill[broker] = start[broker]
    for link in range(ends.shape[0]):
        for side in range(2):
            broker = ends[link, side]
            around[fill[broker]] = link
            fill[broker] += 1


@njit(cache=True, nogil=True)
def walk(hung: Ints, path: Ints, one: int, other: int) -> int:
    """Write the links between two brokers into `path`, in order; return how many.

    Takes two arrays and not the whole tree: it is called for every path in every step, and passing a
    tree costs more than a short walk.
    """
    left, right, last = 0, 0, path.size
    while one != other:
        if hung[one, DEPTH] >= hung[other, DEPTH]:
            path[left] = hung[one, ABOVE]
            left += 1
            one = hung[one, PARENT]
        else:
            right += 1
            path[last - right] = hung[other, ABOVE]
            other = hung[other, PARENT]
    for place in range(right):
        path[left + place] = path[last - right + place]
    return left + right
