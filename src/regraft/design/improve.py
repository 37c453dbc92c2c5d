"""Fewer links, or cheaper ones, for an overlay that is k-topic-connected and stays so.

First redundant links are removed (`prune`), then links are exchanged (`kernel_exchange`). The effort is a
number of trials, not of seconds: one seed gives one result on every machine.
"""

from collections.abc import Callable

import numpy as np

from regraft.design.harary import distinct
from regraft.design.kernel_exchange import exchange, links_of
from regraft.design.kernel_mesh import new_mesh
from regraft.design.matrix import Matrix, Pairs, distinct_topics
from regraft.design.prune import prune
from regraft.design.terms import Terms

EFFORT = 30
"""Trials per link by default."""
CHUNK = 2_000
Progress = Callable[[float, int], bool]
"""Called with the share that is done and the number of links; True ends the work early."""


def improve(
    matrix: Matrix,
    links: Pairs,
    k: int,
    terms: Terms,
    seed: int,
    effort: float = EFFORT,
    progress: Progress = lambda done, count: False,
) -> Pairs:
    """At most as many links, of at most the same price."""
    matrix = distinct_topics(matrix)
    links = prune(matrix, links, k, terms)
    trials = int(effort * len(links))
    if not trials or progress(0.0, len(links)):
        return links
    degree = np.bincount(links.ravel(), minlength=terms.nodes)
    mesh = new_mesh(matrix, links, k, terms.capacity(degree))
    state = np.random.default_rng(seed).integers(1, 2**63, 1, np.uint64)
    for done in range(0, trials, CHUNK):
        exchange(matrix, mesh, min(CHUNK, trials - done), terms.prices, state)
        if progress(min(1.0, (done + CHUNK) / trials), int(mesh.degree.sum()) // 2):
            break
    return distinct(links_of(mesh))
