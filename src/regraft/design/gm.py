"""GM, Greedy Merge: the next link is one that joins the most TC-components (kTCO §IV, k = 1).

Per topic the components are kept; when two become one, the worth of each pair across falls by one. So all
links together cost Σ|V(t)|² for the pairs and |V|² for each level of worth, within the O(|V|²|T|) of the
fast implementation that the seed cites. At most a factor O(log |V||T|) above the fewest links.
"""

import numpy as np
from numba import njit

from regraft.design.kernel_blocks import find
from regraft.design.kernel_levels import Worth, lower, row_tops, shared_topics
from regraft.design.limits import Room
from regraft.design.matrix import Ints, Matrix, Pairs


def gm(matrix: Matrix, room: Room) -> Pairs:
    """A topic-connected overlay, unless the room at the nodes did not suffice."""
    return _gm(matrix, room.links.copy())


@njit(cache=True, nogil=True)
def _gm(matrix: Matrix, room: Ints) -> Pairs:
    nodes, slots = matrix.node_start.size - 1, matrix.topic_nodes.size
    worth = shared_topics(matrix, 1)
    tops = row_tops(worth)
    tree, after = np.arange(slots), np.arange(slots)
    links = []
    for level in range(tops.max() if nodes else 0, 0, -1):
        for v in range(nodes):
            if tops[v] < level or room[v] == 0:
                continue
            top = 0
            for w in range(v + 1, nodes):
                if worth[v, w] == level and room[w] > 0 and room[v] > 0:
                    links.append((v, w))
                    room[v] -= 1
                    room[w] -= 1
                    _join(matrix, tree, after, worth, v, w)
                top = max(top, worth[v, w])
            tops[v] = top
    found = np.empty((len(links), 2), np.int64)
    for place, (v, w) in enumerate(links):
        found[place] = v, w
    return found


@njit(cache=True, nogil=True)
def _join(matrix: Matrix, tree: Ints, after: Ints, worth: Worth, v: int, w: int) -> None:
    """A link in all topics that its ends share; the nodes of a component stand in a ring."""
    nodes = matrix.topic_nodes
    one, other = matrix.node_start[v], matrix.node_start[w]
    while one < matrix.node_start[v + 1] and other < matrix.node_start[w + 1]:
        t, u = matrix.node_topics[one], matrix.node_topics[other]
        if t == u:
            a, b = matrix.node_slots[one], matrix.node_slots[other]
            above, below = find(tree, a), find(tree, b)
            if above != below:
                x = a
                while True:
                    y = b
                    while True:
                        lower(worth, nodes[x], nodes[y])
                        y = after[y]
                        if y == b:
                            break
                    x = after[x]
                    if x == a:
                        break
                tree[below] = above
                after[a], after[b] = after[b], after[a]
        one += t <= u
        other += u <= t
