"""HararyPT, Alg. 2 of kTCO §VII: a Harary graph H(k, |V(t)|) for every topic, over one sequence of nodes.

Any k; O(k Σ|V(t)|). One sequence for all topics lets the graphs share links. The published algorithm takes
an arbitrary sequence; `sequence` finds one in which similar interests are neighbours.
"""

import numpy as np

from regraft.design.matrix import Ints, Matrix, Pairs


def harary(matrix: Matrix, k: int, sequence: Ints) -> Pairs:
    """A k-topic-connected overlay; topics of at most k nodes become cliques."""
    rank = np.empty_like(sequence)
    rank[sequence] = np.arange(len(sequence))
    found = [np.empty((0, 2), np.int64)]
    for t in range(matrix.topic_start.size - 1):
        nodes = matrix.topic_nodes[matrix.topic_start[t] : matrix.topic_start[t + 1]]
        ordered = nodes[np.argsort(rank[nodes])]
        found.append(ordered[build_harary(k, len(ordered))])
    return distinct(np.concatenate(found))


def build_harary(k: int, n: int) -> Pairs:
    """The links of H(k, n) over 0 … n − 1, ⌈kn / 2⌉ of them; a path for k = 1, a clique for n ≤ k."""
    if n <= k + 1:
        return np.column_stack(np.triu_indices(n, 1)).astype(np.int64)
    around = np.arange(n, dtype=np.int64)
    if k == 1:
        return np.column_stack((around[:-1], around[1:]))
    steps = [np.column_stack((around, (around + step) % n)) for step in range(1, k // 2 + 1)]
    if k % 2:  # diameters; if n is odd too, one node has two
        half = around[: (n + 1) // 2]
        steps.append(np.column_stack((half, (half + n // 2) % n)))
    return np.concatenate(steps)


def distinct(pairs: Pairs) -> Pairs:
    """Each link once, the smaller node first, in ascending order."""
    return np.unique(np.sort(pairs, axis=1), axis=0)
