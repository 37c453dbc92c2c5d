"""GM, Greedy Merge: the next link is one that joins the most TC-components (kTCO §IV, k = 1).

The components of each topic are kept; when two become one, each pair across them is worth one less. So all
links together cost Σ|V(t)|² for the pairs and |V|² for each level of worth, within the O(|V|²|T|) of the
fast implementation that kTCO cites. At most a factor O(log |V||T|) above the fewest links.
"""

import numpy as np
from numba import njit

from regraft.design.kernel_components import join, new_components
from regraft.design.kernel_levels import Discount, new_sweep, next_link, put, shared_topics
from regraft.design.matrix import Ints, Matrix, Pairs
from regraft.design.terms import Terms


def gm(matrix: Matrix, terms: Terms) -> Pairs:
    """A topic-connected overlay, unless the nodes had no room for the links."""
    return _gm(matrix, terms.discount, terms.room())


@njit(cache=True, nogil=True)
def _gm(matrix: Matrix, discount: Discount, room: Ints) -> Pairs:
    components = new_components(matrix)
    worth = shared_topics(matrix, 1)
    sweep = new_sweep(worth, discount, room)
    links, count = np.empty((0, 2), np.int64), 0
    while True:
        v, w = next_link(sweep)
        if v < 0:
            return links[:count].copy()
        links = put(links, count, v, w)
        count += 1
        one, other = matrix.node_start[v], matrix.node_start[w]
        while one < matrix.node_start[v + 1] and other < matrix.node_start[w + 1]:
            t, u = matrix.node_topics[one], matrix.node_topics[other]
            if t == u:
                join(matrix, components, worth, matrix.node_slots[one], matrix.node_slots[other], 1)
            one += t <= u
            other += u <= t
        worth[v, w] = 0
