"""Node sequences for HararyPT (kTCO §VII, Alg. 2 line 1).

The published algorithm takes any sequence. In a Harary graph a node is joined, per topic, to the last k/2
before it that are interested; topics in which these are the same node share a link. So the sequence grows at
its end by the node that needs the fewest links per subscription: similar interests become neighbours.
"""

import numpy as np
from numba import njit

from regraft.design.matrix import Ints, Matrix

LOOK = 1_000
"""How many nodes are compared for each place at most."""


def arbitrary_sequence(matrix: Matrix, random: np.random.Generator) -> Ints:
    return random.permutation(matrix.node_start.size - 1).astype(np.int64)


def similar_sequence(matrix: Matrix, k: int) -> Ints:
    """O(k Σ|T(v)|) for each place, over the nodes that are compared."""
    return _chain(matrix, max(1, k // 2))


@njit(cache=True, nogil=True)
def _chain(matrix: Matrix, window: int) -> Ints:
    nodes, topics = matrix.node_start.size - 1, matrix.topic_start.size - 1
    last, turn = np.full((topics, window), -1, np.int64), np.zeros(topics, np.int64)
    waiting, mark = np.arange(nodes), np.full(nodes, -1, np.int64)
    stamp = 0
    for place in range(nodes):
        best, best_cost = place, np.inf
        for candidate in range(place, min(nodes, place + LOOK)):
            stamp += 1
            cost = _links_to(matrix, last, mark, stamp, waiting[candidate])
            if cost < best_cost:
                best, best_cost = candidate, cost
        v = waiting[best]
        waiting[best] = waiting[place]
        waiting[place] = v
        for at in range(matrix.node_start[v], matrix.node_start[v + 1]):
            t = matrix.node_topics[at]
            last[t, turn[t]] = v
            turn[t] = (turn[t] + 1) % window
    return waiting


@njit(cache=True, nogil=True)
def _links_to(matrix: Matrix, last: Ints, mark: Ints, stamp: int, v: int) -> float:
    """Different nodes that v would be joined to, per subscription; a place still open counts as one."""
    links = 0
    for at in range(matrix.node_start[v], matrix.node_start[v + 1]):
        for u in last[matrix.node_topics[at]]:
            if u < 0 or mark[u] != stamp:
                links += 1
                if u >= 0:
                    mark[u] = stamp
    return float(links / max(1, matrix.node_start[v + 1] - matrix.node_start[v]))
