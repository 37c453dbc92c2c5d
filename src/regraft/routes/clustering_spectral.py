"""Spectral clustering of filters (Content routes §5.1.6, its reference [58]).

Two pieces are as similar as the sets of those who want them: shared over all. The rows of the leading
eigenvectors of the normalised similarity put pieces that hang together near each other, and k-means separates
them (Ng, Jordan, Weiss). scipy has both halves, the symmetric eigen-solver and k-means, so nothing larger is
needed for sets that fit into one matrix.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from regraft.filters.dz import Dz, DzSet
from regraft.routes.clustering_pieces import pieces_of
from regraft.routes.settings import Settings
from regraft.routes.spectrum import leading_vectors


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
    _, labels = kmeans2(rows, count, minit="++", rng=np.random.default_rng(seed), missing="warn")
    return [int(label) for label in labels]


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
