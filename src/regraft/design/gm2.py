"""GM2, Alg. 1 of kTCO §V: the next link has the highest estimate, the number of topics in which no TC-block
holds both its ends (k = 2).

The blocks are kept while links are added (`kernel_blocks`); only pairs that come into one block change
their estimate. Σ|V(t)|² for the pairs and |V|² for each level, against O(|V|⁴|T|) of the pseudocode. At most
a factor O(U + ln |V||T|) above the fewest links, U the size of the largest topic (Lemma 2).
"""

import numpy as np
from numba import njit

from regraft.design.kernel_blocks import add_link, new_blocks
from regraft.design.kernel_levels import Discount, new_sweep, next_link, put, shared_topics
from regraft.design.matrix import Ints, Matrix, Pairs
from regraft.design.terms import Terms


def gm2(matrix: Matrix, terms: Terms) -> Pairs:
    """A 2-topic-connected overlay, unless the nodes had no room for the links."""
    return _gm2(matrix, terms.discount, terms.room())


@njit(cache=True, nogil=True)
def _gm2(matrix: Matrix, discount: Discount, room: Ints) -> Pairs:
    blocks = new_blocks(matrix)
    worth = shared_topics(matrix, 1)
    sweep = new_sweep(worth, discount, room)
    links, count = np.empty((0, 2), np.int64), 0
    while True:
        v, w = next_link(sweep)
        if v < 0:
            return links[:count].copy()
        links = put(links, count, v, w)
        count += 1
        add_link(matrix, blocks, worth, v, w)
        worth[v, w] = 0
