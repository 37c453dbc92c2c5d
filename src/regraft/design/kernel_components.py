"""Compiled: the topics' components while links are added (kTCO §III, TC-components).

The nodes of a topic's component form a ring. When two become one, each pair across is reported once.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from regraft.design.kernel_levels import Worth, lower
from regraft.design.matrix import Ints, Matrix


class Components(NamedTuple):
    """Arrays by slot."""

    tree: Ints  # union-find
    after: Ints


@njit(cache=True, nogil=True)
def new_components(matrix: Matrix) -> Components:
    """The components before the first link: every node is alone in every topic."""
    return Components(np.arange(matrix.topic_nodes.size), np.arange(matrix.topic_nodes.size))


@njit(cache=True, nogil=True)
def find(tree: Ints, one: int) -> int:
    while tree[one] != one:
        tree[one] = tree[tree[one]]
        one = tree[one]
    return one


@njit(cache=True, nogil=True)
def join(matrix: Matrix, components: Components, worth: Worth, a: int, b: int, by: int) -> None:
    """Add a link between two slots of a topic: pairs across their components lose the given worth."""
    tree, after = components
    above, below = find(tree, a), find(tree, b)
    if above == below:
        return
    x = a
    while True:
        y = b
        while True:
            lower(worth, matrix.topic_nodes[x], matrix.topic_nodes[y], by)
            y = after[y]
            if y == b:
                break
        x = after[x]
        if x == a:
            break
    tree[below] = above
    after[a], after[b] = after[b], after[a]
