"""A node sequence for HararyPT in which similar interests are neighbours.

The published algorithm takes any sequence (kTCO §VII, Alg. 2 line 1). A link of H(k, n) joins nodes that are
at most k/2 places apart among those interested in the topic, and it is shared by all topics for which that
holds. So the sequence grows at its end by the node that has most topics in common with the last k/2.
"""

import numpy as np
from numba import njit

from regraft.design.matrix import Ints, Matrix


def arbitrary_sequence(matrix: Matrix, random: np.random.Generator) -> Ints:
    return random.permutation(matrix.node_start.size - 1).astype(np.int64)


def similar_sequence(matrix: Matrix, k: int) -> Ints:
    """O(|V| Σ|T(v)| |V(t)| / |V|) time; memory for one number per node."""
    return _chain(matrix, max(1, k // 2))


@njit(cache=True, nogil=True)
def _chain(matrix: Matrix, window: int) -> Ints:
    nodes = matrix.node_start.size - 1
    sequence = np.empty(nodes, np.int64)
    common, placed = np.zeros(nodes, np.int64), np.zeros(nodes, np.bool_)
    for place in range(nodes):
        best = -1
        for v in range(nodes):
            if not placed[v] and (best < 0 or common[v] > common[best]):
                best = v
        sequence[place], placed[best] = best, True
        _count(matrix, common, best, 1)
        if place >= window:
            _count(matrix, common, sequence[place - window], -1)
    return sequence


@njit(cache=True, nogil=True)
def _count(matrix: Matrix, common: Ints, v: int, by: int) -> None:
    """Every topic that a node shares with v counts."""
    for at in range(matrix.node_start[v], matrix.node_start[v + 1]):
        t = matrix.node_topics[at]
        for slot in range(matrix.topic_start[t], matrix.topic_start[t + 1]):
            common[matrix.topic_nodes[slot]] += by
