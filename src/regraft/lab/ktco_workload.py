"""The workloads of kTCO §VIII: every node subscribes to the same number of topics, drawn by popularity.

Each topic t has a probability p(t); a node draws topics until it has |T(v)| different ones. The Gumbel trick
is used here, which gives the same distribution. Zipf has the exponent that kTCO prints, α = 2. For Expo
kTCO prints none. Here p falls by a factor e every |T| / 18 topics, because two numbers that kTCO does print
then come out as printed: HararyPT's degree at |T(v)| = 100 over all distributions (60.20), and the k at which
HararyPT has as many links as CyclePT under Expo (12).
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from regraft.design.matrix import Matrix, matrix_of

Shares = npt.NDArray[np.float64]
DISTRIBUTIONS = ("expo", "zipf", "unif")
ALPHA = 2.0
EXPO_TOPICS = 18.0


def popularity(distribution: str, topics: int) -> Shares:
    """p(t), the most popular topic first."""
    rank = np.arange(1, topics + 1, dtype=np.float64)
    weight = {
        "unif": np.ones(topics),
        "zipf": rank**-ALPHA,
        "expo": np.exp(-rank * EXPO_TOPICS / topics),
    }[distribution]
    share: Shares = weight / weight.sum()
    return share


def workload(distribution: str, nodes: int, topics: int, subscriptions: int, seed: int = 0) -> Matrix:
    """The interest matrix; the same seed gives the same matrix."""
    random = np.random.default_rng((seed, nodes, topics, subscriptions))
    log_p = np.log(popularity(distribution, topics))
    chosen = np.empty((nodes, subscriptions), np.int64)
    for v in range(nodes):
        keys = log_p + random.gumbel(size=topics)
        chosen[v] = np.argpartition(-keys, subscriptions - 1)[:subscriptions]
    wants = np.repeat(np.arange(nodes), subscriptions)
    order = np.lexsort((wants, chosen.ravel()))
    sizes = np.bincount(chosen.ravel(), minlength=topics)
    return matrix_of(list(np.split(wants[order], np.cumsum(sizes)[:-1])), nodes)


def named(matrix: Matrix) -> Mapping[str, frozenset[str]]:
    """The same interest with names, as the checker reads it."""
    bounds = matrix.topic_start
    return {
        f"t{t}": frozenset(f"n{v:06}" for v in matrix.topic_nodes[bounds[t] : bounds[t + 1]].tolist())
        for t in range(bounds.size - 1)
    }
