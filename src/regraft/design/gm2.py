"""GM2, Alg. 1 of kTCO §V: the next link has the highest estimate, the number of topics in which no TC-block
holds both its ends (k = 2).

The blocks are kept while links are added (`kernel_blocks`); only pairs that come into one block change
their estimate. Σ|V(t)|² for the pairs and |V|² for each level, against O(|V|⁴|T|) of the pseudocode. At most
a factor O(U + ln |V||T|) above the fewest links, U the size of the largest topic (Lemma 2).
"""

import numpy as np
from numba import njit

from regraft.design.kernel_blocks import add_link, new_blocks
from regraft.design.kernel_levels import row_tops, shared_topics
from regraft.design.limits import Room
from regraft.design.matrix import Ints, Matrix, Pairs

NONE = np.empty((0, 2), np.int64)


def gm2(matrix: Matrix, room: Room, given: Pairs = NONE) -> Pairs:
    """The links added to the given ones: together 2-topic-connected, unless the room did not suffice."""
    return _gm2(matrix, room.links.copy(), given)


@njit(cache=True, nogil=True)
def _gm2(matrix: Matrix, room: Ints, given: Pairs) -> Pairs:
    nodes = matrix.node_start.size - 1
    worth = shared_topics(matrix, 1)
    blocks = new_blocks(matrix)
    for place in range(given.shape[0]):
        v, w = given[place]
        room[v] -= 1
        room[w] -= 1
        add_link(matrix, blocks, worth, v, w)
        worth[v, w] = 0
    tops = row_tops(worth)
    links = []
    for level in range(tops.max() if nodes else 0, 0, -1):
        for v in range(nodes):
            if tops[v] < level or room[v] <= 0:
                continue
            top = 0
            for w in range(v + 1, nodes):
                if worth[v, w] == level and room[w] > 0 and room[v] > 0:
                    links.append((v, w))
                    room[v] -= 1
                    room[w] -= 1
                    add_link(matrix, blocks, worth, v, w)
                top = max(top, worth[v, w])
            tops[v] = top
    found = np.empty((len(links), 2), np.int64)
    for place, (v, w) in enumerate(links):
        found[place] = v, w
    return found
