"""greedy-k: every subscription gets k links, the most useful link first; any k.

A k-connected topic has at least k|V(t)|/2 links, and Harary graphs need no more: what counts is that links
are shared. So a link is worth, per topic that its ends share, one for each end that has fewer than k
neighbours there yet, and something more if it joins two components. Topics that are still weak afterwards,
mostly a handful, are mended cut by cut (`kernel_cut`). Beyond kTCO: it leaves 0.66–0.88 of the links
of GM2 and under half of HararyPT's.
"""

import numpy as np
from numba import njit

from regraft.design.kernel_components import join, new_components
from regraft.design.kernel_levels import Discount, Worth, lower, new_sweep, next_link, put, shared_topics
from regraft.design.matrix import Ints, Matrix, Pairs, distinct_topics
from regraft.design.mend import mended
from regraft.design.terms import Terms
from regraft.model import Infeasible


def greedy_k(matrix: Matrix, k: int, terms: Terms) -> Pairs | Infeasible:
    """A k-topic-connected overlay, or Infeasible where the nodes have no room for the links."""
    matrix = distinct_topics(matrix)
    joins = 1 if k <= 2 else 2
    return mended(matrix, _greedy(matrix, k, joins, terms.discount, terms.room()), k, terms)


@njit(cache=True, nogil=True)
def _greedy(matrix: Matrix, k: int, joins: int, discount: Discount, room: Ints) -> Pairs:
    components = new_components(matrix)
    worth = shared_topics(matrix, 2 + joins)
    lacks = np.empty(matrix.topic_nodes.size, np.int64)
    for t in range(matrix.topic_start.size - 1):
        first, end = matrix.topic_start[t], matrix.topic_start[t + 1]
        lacks[first:end] = min(k, end - first - 1)
    sweep = new_sweep(worth, discount, room)
    links, count = np.empty((0, 2), np.int64), 0
    while True:
        v, w = next_link(sweep)
        if v < 0:
            return links[:count].copy()
        links = put(links, count, v, w)
        count += 1
        worth[v, w] = 0
        one, other = matrix.node_start[v], matrix.node_start[w]
        while one < matrix.node_start[v + 1] and other < matrix.node_start[w + 1]:
            t, u = matrix.node_topics[one], matrix.node_topics[other]
            if t == u:
                a, b = matrix.node_slots[one], matrix.node_slots[other]
                _serve(matrix, lacks, worth, t, a)
                _serve(matrix, lacks, worth, t, b)
                join(matrix, components, worth, a, b, joins)
            one += t <= u
            other += u <= t


@njit(cache=True, nogil=True)
def _serve(matrix: Matrix, lacks: Ints, worth: Worth, t: int, slot: int) -> None:
    """The slot has one more neighbour in topic t; once it lacks none, links to it are worth less there."""
    lacks[slot] -= 1
    if lacks[slot] == 0:
        v = matrix.topic_nodes[slot]
        for other in range(matrix.topic_start[t], matrix.topic_start[t + 1]):
            if other != slot:
                lower(worth, v, matrix.topic_nodes[other], 1)
