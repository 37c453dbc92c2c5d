"""Spectral clustering of filters (Content routes §5.1.6, its reference [58]).

Two pieces are as similar as the sets of those who want them: shared over all. The rows of the leading
eigenvectors of the normalised similarity put pieces that hang together near each other, and k-means separates
them (Ng, Jordan, Weiss): near the least normalised cut. scipy has both halves, the symmetric eigen-solver and
k-means, so nothing larger is needed for sets that fit into one matrix; for larger ones, of filters measured
in traffic, `measure` has Spark's. k-means depends on where it begins: of several beginnings the one with the
least cut counts, and in small sets pieces are moved while that lessens it.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from regraft.filters.dz import Dz, DzSet
from regraft.routes.clustering_pieces import pieces_of
from regraft.routes.settings import Settings
from regraft.routes.spectrum import leading_vectors

STARTS = 8
SMALL = 40
"""Up to so many pieces are moved one by one: each try costs a look at the whole matrix."""


def by_spectrum(
    expressions: Sequence[Dz], settings: Settings, terminals: Sequence[frozenset[int]] = ()
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
    lot = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a cluster may end empty: then there are fewer
        found = [kmeans2(rows, count, minit="++", rng=lot, missing="warn")[1] for _ in range(STARTS)]
    best = min(found, key=lambda labels: normalised_cut(similar, labels, count))
    return [int(label) for label in (moved(similar, best, count) if size <= SMALL else best)]


def moved(similar: NDArray[np.float64], labels: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    """Single pieces in other clusters, while that lessens the cut."""
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
    """Σ over clusters of what leaves a cluster over all that begins in it; clusters that are empty cost 1.

    So one cluster for everything is not the best of all answers.
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
