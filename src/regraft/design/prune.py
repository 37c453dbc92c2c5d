"""Removes redundant links: afterwards every link is needed by some topic.

A link is redundant if every topic that its ends share stays k-connected without it. Links that serve few
topics are tried first (with prices: expensive ones that serve few), since removing one makes others
indispensable.
"""

import numpy as np
from numba import njit

from regraft.design.kernel_mesh import Flags, drop, new_mesh, removable
from regraft.design.matrix import Ints, Matrix, Pairs
from regraft.design.terms import Terms


def prune(matrix: Matrix, links: Pairs, k: int, terms: Terms) -> Pairs:
    """The links that are left. Topics that are not k-connected do not become weaker."""
    worth = common_topics(matrix, links).astype(np.float64)
    if terms.prices.size:
        worth /= np.maximum(terms.prices[links[:, 0], links[:, 1]], 1e-9)
    degree = np.bincount(links.ravel(), minlength=terms.nodes)
    return links[_prune(matrix, links, k, degree, np.argsort(worth, kind="stable"))]


@njit(cache=True, nogil=True)
def common_topics(matrix: Matrix, links: Pairs) -> Ints:
    """How many topics the ends of each link share."""
    common = np.zeros(links.shape[0], np.int64)
    for place in range(links.shape[0]):
        v, w = links[place]
        one, other = matrix.node_start[v], matrix.node_start[w]
        while one < matrix.node_start[v + 1] and other < matrix.node_start[w + 1]:
            t, u = matrix.node_topics[one], matrix.node_topics[other]
            common[place] += t == u
            one += t <= u
            other += u <= t
    return common


@njit(cache=True, nogil=True)
def _prune(matrix: Matrix, links: Pairs, k: int, capacity: Ints, order: Ints) -> Flags:
    mesh = new_mesh(matrix, links, k, capacity)
    kept = np.ones(links.shape[0], np.bool_)
    for place in order:
        v, w = links[place]
        if removable(matrix, mesh, v, w):
            drop(matrix, mesh, v, w)
            kept[place] = False
    return kept
