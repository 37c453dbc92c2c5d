"""What a mesh's links are worth, how far from the fewest it can be, and its shape.

The lower bound: node v needs, for each of its topics, k neighbours that want it (or all the others), and a
neighbour w counts for at most the topics that both want. So v has at least as many links as it takes of
its best neighbours; half the sum of that over all nodes is a bound on the links of every overlay.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from regraft.design.kernel_mesh import have_paths, new_mesh
from regraft.design.matrix import Ints, Matrix, Pairs
from regraft.design.prune import common_topics


class LinkWorth(NamedTuple):
    """For each link: how many topics it serves, and how many of these could be cut without it."""

    serves: Ints
    needed: Ints


def explain(matrix: Matrix, links: Pairs, k: int) -> LinkWorth:
    degree = np.bincount(links.ravel(), minlength=matrix.node_start.size - 1)
    return LinkWorth(common_topics(matrix, links), _needed(matrix, links, k, degree))


@njit(cache=True, nogil=True)
def _needed(matrix: Matrix, links: Pairs, k: int, capacity: Ints) -> Ints:
    mesh = new_mesh(matrix, links, k, capacity)
    needed = np.zeros(links.shape[0], np.int64)
    for place in range(links.shape[0]):
        v, w = links[place]
        one, other = matrix.node_start[v], matrix.node_start[w]
        while one < matrix.node_start[v + 1] and other < matrix.node_start[w + 1]:
            t, u = matrix.node_topics[one], matrix.node_topics[other]
            if t == u:
                a, b = matrix.node_slots[one], matrix.node_slots[other]
                tight = min(mesh.within[a], mesh.within[b]) <= mesh.need[t]
                needed[place] += tight or not have_paths(mesh, t, v, w)
            one += t <= u
            other += u <= t
    return needed


@njit(cache=True, nogil=True)
def links_needed(matrix: Matrix, k: int) -> Ints:
    """No node has fewer links than this in any k-topic-connected overlay."""
    nodes = matrix.node_start.size - 1
    common = np.zeros(nodes, np.int64)
    needed = np.zeros(nodes, np.int64)
    for v in range(nodes):
        common[:] = 0
        needs = 0
        for at in range(matrix.node_start[v], matrix.node_start[v + 1]):
            t = matrix.node_topics[at]
            first, end = matrix.topic_start[t], matrix.topic_start[t + 1]
            needs += min(k, end - first - 1)
            for slot in range(first, end):
                common[matrix.topic_nodes[slot]] += 1
        common[v] = 0
        with_common = np.bincount(common)
        for shared in range(with_common.size - 1, 0, -1):
            taken = min(with_common[shared], -(-max(needs, 0) // shared))
            needed[v] += taken
            needs -= taken * shared
    return needed


def fewest_possible(matrix: Matrix, k: int) -> int:
    """No k-topic-connected overlay has fewer links than this."""
    return (int(links_needed(matrix, k).sum()) + 1) // 2
