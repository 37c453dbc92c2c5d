"""Divide and conquer, for inputs with too many pairs of nodes.

The nodes are divided into parts, each is designed alone, and then an overlay joins representatives. A part's
representatives are chosen so that each topic that other parts want too is wanted by k of them, or by all
its nodes there. Two k-connected graphs with k nodes in common are k-connected together, and a part with
fewer nodes on a topic is in the joining overlay as a whole: so the union is k-topic-connected.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

from regraft.design.harary import distinct
from regraft.design.matrix import Ints, Matrix, Pairs, matrix_of
from regraft.design.sequence import similar_sequence
from regraft.design.terms import FREE, Terms
from regraft.model import Infeasible

PART = 4_000
"""Nodes of a part, unless the caller says otherwise."""
Designer = Callable[[Matrix, Terms], Pairs | Infeasible]


def divided(matrix: Matrix, k: int, terms: Terms, part: int, design: Designer) -> Pairs | Infeasible:
    """The union of the parts' overlays and of one that joins them; a part holds nodes of similar interest."""
    sequence = similar_sequence(matrix, 2)
    parts = np.array_split(sequence, -(-terms.nodes // part))
    found: list[Pairs] = []
    chosen = []
    in_part = np.empty(terms.nodes, np.int64)
    for number, nodes in enumerate(parts):
        in_part[nodes] = number
    spread = _spread(matrix, in_part)
    for nodes in parts:
        links = restricted(matrix, terms, nodes, None, design)
        if isinstance(links, Infeasible):
            return links
        found.append(links)
        chosen.append(representatives(matrix, nodes, spread, k))
    joining = np.sort(np.concatenate(chosen))
    if len(joining) > part and len(joining) < terms.nodes * 3 // 4:  # again, over fewer nodes

        def deeper(inner: Matrix, inner_terms: Terms) -> Pairs | Infeasible:
            return divided(inner, k, inner_terms, part, design)

        links = restricted(matrix, terms, joining, spread, deeper)
    else:
        links = restricted(matrix, terms, joining, spread, design)
    if isinstance(links, Infeasible):
        return links
    return distinct(np.concatenate([*found, links]))


def restricted(
    matrix: Matrix, terms: Terms, nodes: Ints, topics: Ints | None, design: Designer
) -> Pairs | Infeasible:
    """Design for these nodes only, and for the marked topics (all if None)."""
    inside = np.sort(nodes)
    place = np.full(terms.nodes, -1, np.int64)
    place[inside] = np.arange(len(inside))
    rows = []
    for t in range(matrix.topic_start.size - 1):
        if topics is None or topics[t]:
            row = place[matrix.topic_nodes[matrix.topic_start[t] : matrix.topic_start[t + 1]]]
            rows.append(row[row >= 0])
    prices = np.ascontiguousarray(terms.prices[np.ix_(inside, inside)]) if terms.prices.size else FREE
    links = design(matrix_of(rows, len(inside)), Terms(len(inside), terms.max_degree, prices))
    return links if isinstance(links, Infeasible) else inside[links]


def representatives(matrix: Matrix, nodes: Ints, spread: Ints, k: int) -> Ints:
    """Nodes of a part, so that k of them (or all that want it) want each topic that is spread over parts."""
    return _representatives(matrix, np.sort(nodes), spread, k)


def _spread(matrix: Matrix, in_part: Ints) -> Ints:
    """Which topics are wanted in more than one part."""
    wanted = np.zeros(matrix.topic_start.size - 1, np.int64)
    for t in range(len(wanted)):
        where = in_part[matrix.topic_nodes[matrix.topic_start[t] : matrix.topic_start[t + 1]]]
        wanted[t] = len(where) > 0 and where.min() != where.max()
    return wanted


@njit(cache=True, nogil=True)
def _representatives(matrix: Matrix, nodes: Ints, spread: Ints, k: int) -> Ints:
    lacks = np.zeros(spread.size, np.int64)
    for v in nodes:
        for at in range(matrix.node_start[v], matrix.node_start[v + 1]):
            t = matrix.node_topics[at]
            if spread[t]:
                lacks[t] = min(k, lacks[t] + 1)
    taken = np.zeros(nodes.size, np.bool_)
    while True:
        best, most = -1, 0
        for place in range(nodes.size):
            if not taken[place]:
                helps = 0
                for at in range(matrix.node_start[nodes[place]], matrix.node_start[nodes[place] + 1]):
                    helps += lacks[matrix.node_topics[at]] > 0
                if helps > most:
                    best, most = place, helps
        if best < 0:
            return nodes[taken]
        taken[best] = True
        for at in range(matrix.node_start[nodes[best]], matrix.node_start[nodes[best] + 1]):
            t = matrix.node_topics[at]
            lacks[t] = max(0, lacks[t] - 1)
