"""Completion: links added to an overlay until it is k-topic-connected.

For each topic that fewer than k nodes can cut, a cut is known; the next link is one that crosses most of
these cuts. With a limit on the degree, the ends of such links may be full: then redundant links are removed,
or if there are none, a link that serves few topics at each full node, and the completion starts again.
"""

import numpy as np

from regraft.design.kernel_cut import mend
from regraft.design.kernel_mesh import new_mesh
from regraft.design.matrix import Ints, Matrix, Pairs
from regraft.design.prune import common_topics, prune
from regraft.design.terms import Terms
from regraft.model import Infeasible

LOOK = 1 << 16
"""How many links across a cut are compared at most."""
ROUNDS = 40


def mended(
    matrix: Matrix, links: Pairs, k: int, terms: Terms, topics: Ints | None = None
) -> Pairs | Infeasible:
    """The links and what had to be added; `topics` are those that may be weak (None: all)."""
    weak = np.arange(matrix.topic_start.size - 1) if topics is None else topics
    for attempt in range(ROUNDS):
        degree = np.bincount(links.ravel(), minlength=terms.nodes)
        mesh = new_mesh(matrix, links, k, terms.capacity(degree))
        added, stuck = mend(matrix, mesh, weak, LOOK)
        links = np.concatenate((links, added))
        if stuck < 0:
            return links
        lighter = prune(matrix, links, k, terms) if terms.max_degree is not None else links
        if len(lighter) == len(links) and not len(added):
            lighter = _relieved(matrix, links, terms, stuck, attempt)
        links, weak = lighter, np.arange(matrix.topic_start.size - 1)
    return Infeasible("where a topic can be cut, no node has room for a link", "max-degree")


def _relieved(matrix: Matrix, links: Pairs, terms: Terms, topic: int, attempt: int) -> Pairs:
    """Without the least useful link at each full node of a topic; each attempt removes another one."""
    degree = np.bincount(links.ravel(), minlength=terms.nodes)
    members = matrix.topic_nodes[matrix.topic_start[topic] : matrix.topic_start[topic + 1]]
    serves = common_topics(matrix, links)
    gone = np.zeros(len(links), np.bool_)
    for v in members[degree[members] >= terms.room()[members]]:
        at = np.flatnonzero((links == v).any(axis=1) & ~gone)
        if len(at):
            gone[at[np.argsort(serves[at], kind="stable")[attempt % len(at)]]] = True
    return links[~gone]


def fitted(matrix: Matrix, links: Pairs, terms: Terms) -> Pairs:
    """As many of the links as the room at the nodes allows, those that serve most topics first."""
    room = terms.room()
    kept = np.zeros(len(links), np.bool_)
    for place in np.argsort(-common_topics(matrix, links), kind="stable"):
        v, w = links[place]
        if room[v] > 0 and room[w] > 0:
            room[v] -= 1
            room[w] -= 1
            kept[place] = True
    return links[kept]
