"""Compiled: the least that each class costs in any tree, from the distances between its members."""

import numpy as np
from numba import njit

from regraft.design.ocbr.kernel_tree import Floats, Ints


@njit(cache=True, nogil=True)
def class_bounds(start: Ints, members: Ints, far: Floats) -> Floats:
    """Least link costs of a subtree for each class: exact for two and three members.

    For more: a walk around the subtree visits all members and pays each link twice, and no closed walk
    is shorter than a cheapest tree over all members but one, plus the two shortest ways to that one.
    """
    classes = start.size - 1
    least = np.zeros(classes)
    for t in range(classes):
        of = members[start[t] : start[t + 1]]
        if of.size == 2:
            least[t] = far[of[0], of[1]]
        elif of.size == 3:
            best = np.inf
            for b in range(far.shape[0]):
                best = min(best, far[of[0], b] + far[of[1], b] + far[of[2], b])
            least[t] = best
        elif of.size > 3:
            least[t] = _half_walk(of, far)
    return least


@njit(cache=True, nogil=True)
def _half_walk(of: Ints, far: Floats) -> float:
    best = 0.0
    for spared in range(min(of.size, 4)):
        first, second = np.inf, np.inf
        for i in range(of.size):
            if i != spared:
                way = far[of[spared], of[i]]
                if way < first:
                    first, second = way, first
                elif way < second:
                    second = way
        best = max(best, (_tree(of, far, spared) + first + second) / 2)
    whole = _tree(of, far, -1)
    return max(best, whole * of.size / (2.0 * (of.size - 1)))


@njit(cache=True, nogil=True)
def _tree(of: Ints, far: Floats, spared: int) -> float:
    """The cheapest tree over all members but one (Prim)."""
    size = of.size
    near, done = np.full(size, np.inf), np.zeros(size, np.int64)
    if spared >= 0:
        done[spared] = 1
    at = 0 if spared != 0 else 1
    done[at] = 1
    total = 0.0
    for _ in range(size - 1 - (1 if spared >= 0 else 0)):
        next_, least = -1, np.inf
        for i in range(size):
            if not done[i]:
                near[i] = min(near[i], far[of[at], of[i]])
                if near[i] < least:
                    next_, least = i, near[i]
        total += least
        done[next_] = 1
        at = next_
    return total
