"""Spectral clustering of filters (Content routes §5.1.6, its reference [58]).

The similarity of two pieces is the Jaccard index of the sets of terminals that want them. The rows of the
leading eigenvectors of the normalised similarity put related pieces near each other, and k-means separates
them (Ng, Jordan, Weiss), which comes near the minimum normalised cut. scipy has both, the symmetric
eigensolver and k-means, so nothing larger is needed for sets that fit into one matrix; for larger ones, of
filters measured in traffic, `measure` uses Spark. k-means depends on where it starts: of several starts the
one with the least cut is taken, and in small sets single pieces are moved while that reduces the cut.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from regraft.filters.dz import Dz, DzSet
from regraft.routes.clustering_pieces import pieces_of
from regraft.routes.settings import RouteSettings
from regraft.routes.spectrum import leading_vectors

STARTS = 8
SMALL = 40
"""The most pieces for which single moves are tried: each try looks at the whole matrix."""


def by_spectrum(
    expressions: Sequence[Dz], settings: RouteSettings, terminals: Sequence[frozenset[int]] = ()
) -> list[DzSet]:
    """At most `settings.clusters` clusters; `settings.seed` decides where k-means begins."""
    pieces = pieces_of(expressions)
    similar = jaccard(pieces.wanted(terminals))
    return pieces.groups(spectral(similar, settings.clusters, settings.seed))


def spectral(similar: NDArray[np.float64], count: int, seed: int = 0) -> list[int]:
    """The cluster of each item of a symmetric matrix of similarities between 0 and 1."""
    size = len(similar)
    if size <= count:
        return list(range(size))
    scale = 1.0 / np.sqrt(np.maximum(similar.sum(axis=1), 1e-12))
    vectors = leading_vectors(similar * scale[:, None] * scale[None, :], count)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors / np.maximum(lengths, 1e-12)
    random_numbers = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a cluster may become empty: then there are fewer
        found = [
            kmeans2(rows, count, minit="++", rng=random_numbers, missing="warn")[1] for _ in range(STARTS)
        ]
    best = min(found, key=lambda labels: normalised_cut(similar, labels, count))
    return [int(label) for label in (moved(similar, best, count) if size <= SMALL else best)]


def moved(similar: NDArray[np.float64], labels: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    """Move single pieces to other clusters while that reduces the cut."""
    now = normalised_cut(similar, labels, count)
    while True:
        tries = []
        for place in range(len(labels)):
            for cluster in set(range(count)) - {int(labels[place])}:
                other = labels.copy()
                other[place] = cluster
                tries.append((normalised_cut(similar, other, count), place, cluster))
        cut, place, cluster = min(tries)
        if cut >= now - 1e-9:
            return labels
        labels, now = labels.copy(), cut
        labels[place] = cluster


def normalised_cut(similar: NDArray[np.float64], labels: NDArray[np.int32], count: int) -> float:
    """Σ over clusters of the similarity that leaves the cluster, as a share of all that begins in it.

    An empty cluster costs 1; otherwise a single cluster for everything would always be best.
    """
    cut = 0.0
    for cluster in range(count):
        inside = labels == cluster
        volume = similar[inside].sum()
        cut += 1.0 if volume <= 0 else float(similar[np.ix_(inside, ~inside)].sum() / volume)
    return cut


def jaccard(wanted: Sequence[frozenset[int]]) -> NDArray[np.float64]:
    """Shared members over all members of each two sets."""
    numbers = {member: n for n, member in enumerate(sorted(frozenset().union(*wanted)))}
    rows = np.zeros((len(wanted), len(numbers)))
    for place, members in enumerate(wanted):
        rows[place, [numbers[member] for member in members]] = 1.0
    shared = rows @ rows.T
    sizes = rows.sum(axis=1)
    union = sizes[:, None] + sizes[None, :] - shared
    result: NDArray[np.float64] = np.divide(shared, union, out=np.eye(len(wanted)), where=union > 0)
    return result
