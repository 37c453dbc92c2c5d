"""Compiled: the greedy choice shared by GM, GM2 and the degree-driven designer.

`worth[v, w]` (v < w) is what a link between v and w is worth now. It never rises. So the best link, ties
to the smaller pair, is found by sweeping the levels downwards: within a level one pass over the pairs is
enough, since a pair that was passed by can not come back to the level. Rows whose best is below the
level are skipped. numba's cache looks at one file only: after a change here, touch the callers.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from regraft.design.matrix import Ints, Matrix

Worth = npt.NDArray[np.uint16]


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
def lower(worth: Worth, v: int, w: int) -> None:
    """One topic less for the pair; a pair that is linked already stays at 0."""
    if v > w:
        v, w = w, v
    if worth[v, w] > 0:
        worth[v, w] -= np.uint16(1)


@njit(cache=True, nogil=True)
def row_tops(worth: Worth) -> Ints:
    """The best of each row."""
    nodes = worth.shape[0]
    tops = np.zeros(nodes, np.int64)
    for v in range(nodes):
        top = np.uint16(0)
        for w in range(v + 1, nodes):
            top = max(top, worth[v, w])
        tops[v] = top
    return tops
