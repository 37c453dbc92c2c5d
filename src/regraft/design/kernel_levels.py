"""Compiled: the greedy choice that GM, GM2 and greedy-k share.

`worth[v, w]` (v < w) is what a link between v and w is worth now. It never rises, nor does its level. So the
best link, ties to the smaller pair, is found by sweeping the levels downwards: within a level one pass
over the pairs is enough, since a pair that was passed cannot return to it. Rows whose best is below
the level are skipped. Without prices the level is the worth itself; with prices it is the logarithm of
worth per price, in steps of five per cent.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from regraft.design.matrix import Ints, Matrix

Worth = npt.NDArray[np.uint16]
Discount = npt.NDArray[np.int16]
"""[v, w]: what the price of a link takes off its level; no rows if links have no price."""
LEVEL, ROW, COLUMN, TOP = range(4)


class Sweep(NamedTuple):
    worth: Worth
    level_of: Ints  # by worth; 0 if worth nothing
    discount: Discount
    tops: Ints  # no pair of the row is above this level
    cursor: Ints  # the level, where in it the sweep stands, and the best seen in that row
    room: Ints  # how many more links a node may take


@njit(cache=True, nogil=True)
def shared_topics(matrix: Matrix, each: int) -> Worth:
    """How many topics two nodes share, times `each`."""
    nodes = matrix.node_start.size - 1
    worth = np.zeros((nodes, nodes), np.uint16)
    for t in range(matrix.topic_start.size - 1):
        end = matrix.topic_start[t + 1]
        for one in range(matrix.topic_start[t], end):
            row = worth[matrix.topic_nodes[one]]
            for other in range(one + 1, end):
                row[matrix.topic_nodes[other]] += np.uint16(each)
    return worth


@njit(cache=True, nogil=True)
def new_sweep(worth: Worth, discount: Discount, room: Ints) -> Sweep:
    """A sweep that starts at the highest level of `worth`, which must be complete."""
    nodes = worth.shape[0]
    tops = np.zeros(nodes, np.int64)
    most, dearest = 0, 0
    for v in range(nodes):
        for w in range(v + 1, nodes):
            most = max(most, worth[v, w])
            if discount.size:
                dearest = max(dearest, discount[v, w])
    level_of = np.arange(most + 1)
    if discount.size:
        for value in range(1, most + 1):
            level_of[value] = 1 + dearest + round(20 * np.log(value))
    tops[:] = level_of[most]
    return Sweep(worth, level_of, discount, tops, np.array([level_of[most], 0, 1, 0]), room)


@njit(cache=True, nogil=True)
def next_link(sweep: Sweep) -> tuple[int, int]:
    """The best link that both ends have room for; (−1, −1) when no link is worth anything.

    The caller lowers `worth`, that of the link itself to 0, before it asks again.
    """
    worth, level_of, discount, tops, cursor, room = sweep
    nodes = worth.shape[0]
    level, v, w, top = cursor
    while level > 0:
        while v < nodes:
            if tops[v] >= level and room[v] > 0:
                while w < nodes:
                    here = level_of[worth[v, w]]
                    if discount.size and here:
                        here -= discount[v, w]
                    if here == level and room[w] > 0:
                        room[v] -= 1
                        room[w] -= 1
                        cursor[LEVEL], cursor[ROW], cursor[COLUMN], cursor[TOP] = level, v, w + 1, top
                        return v, w
                    top = max(top, here)
                    w += 1
                tops[v] = top
            v += 1
            w, top = v + 1, 0
        level -= 1
        v, w, top = 0, 1, 0
    cursor[LEVEL] = 0
    return -1, -1


@njit(cache=True, nogil=True)
def lower(worth: Worth, v: int, w: int, by: int) -> None:
    """Lower the worth of the pair; a pair that is linked already stays at 0."""
    if v > w:
        v, w = w, v
    if worth[v, w] > 0:
        worth[v, w] -= np.uint16(by)


@njit(cache=True, nogil=True)
def put(links: Ints, count: int, v: int, w: int) -> Ints:
    """The links with one more at `count`, in a larger array if it was full (lists take longer to compile)."""
    if count == links.shape[0]:
        larger = np.empty((2 * count + 64, 2), np.int64)
        larger[:count] = links
        links = larger
    links[count, 0], links[count, 1] = min(v, w), max(v, w)
    return links
