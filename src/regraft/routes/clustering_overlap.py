"""Clusters by who wants the events, not by how filters are spelt: the better clustering that §8 asks for.

A cluster gets one tree, which has to reach every terminal that wants any of its events. The waste is known
beforehand: an event that u of U terminals want travels in a tree made for U. The clustering that minimises

    waste = Σ over pieces  volume(piece) · |terminals of its cluster \\ terminals that want the piece|

joins parts that are far apart as prefixes but wanted at the same switches, and separates parts that begin
alike but go to different ends of the network. Pieces that the same terminals want are joined first, which
wastes nothing; then, repeatedly, the two clusters that add the least waste, until few enough are left; then
single pieces are moved while that reduces the waste.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regraft.filters.dz import Dz, DzSet
from regraft.routes.clustering_pieces import pieces_of
from regraft.routes.settings import RouteSettings

Rows = NDArray[np.bool_]
Floats = NDArray[np.float64]


def by_overlap(
    expressions: Sequence[Dz], settings: RouteSettings, terminals: Sequence[frozenset[int]] = ()
) -> list[DzSet]:
    """At most `settings.clusters` clusters, by the terminals of each piece, or by its holders."""
    pieces = pieces_of(expressions)
    volumes = np.array([pieces.atoms.volume(mask) for mask in pieces.masks])
    return pieces.groups(least_waste(pieces.wanted(terminals), volumes, settings.clusters))


def least_waste(wanted: Sequence[frozenset[int]], volumes: Floats, count: int) -> list[int]:
    """The cluster of each piece."""
    if not wanted:
        return []
    kinds = {each: number for number, each in enumerate(dict.fromkeys(wanted))}
    kind_of = np.array([kinds[each] for each in wanted], dtype=np.int64)
    rows = np.zeros((len(kinds), max(map(max, filter(None, wanted)), default=0) + 1), dtype=np.bool_)
    for each, number in kinds.items():
        rows[number, list(each)] = True
    weights = np.zeros(len(kinds))
    np.add.at(weights, kind_of, volumes)
    labels = _improved(_joined(rows, weights, count), rows, weights)
    return [int(label) for label in labels[kind_of]]


def waste(wanted: Sequence[frozenset[int]], volumes: Sequence[float], labels: Sequence[int]) -> float:
    """The waste of a clustering, as defined above."""
    reach: dict[int, frozenset[int]] = {}
    for each, label in zip(wanted, labels, strict=True):
        reach[label] = reach.get(label, frozenset()) | each
    parts = zip(wanted, volumes, labels, strict=True)
    return float(sum(volume * len(reach[label] - each) for each, volume, label in parts))


def _joined(rows: Rows, weights: Floats, count: int) -> NDArray[np.int64]:
    """Join pairs of clusters, those that add the least waste first, until `count` are left."""
    sets, weights = rows.astype(np.float64), weights.copy()
    labels, sizes = np.arange(len(rows)), sets.sum(axis=1)
    added = _added(sets @ sets.T, sizes, weights, sizes[:, None], weights[:, None])
    np.fill_diagonal(added, np.inf)
    for _ in range(len(rows) - count):
        one, other = divmod(int(added.argmin()), len(rows))
        np.maximum(sets[one], sets[other], out=sets[one])
        sizes[one] = sets[one].sum()
        weights[one] += weights[other]
        labels[labels == other] = one
        added[other, :] = added[:, other] = np.inf
        offers = _added(sets @ sets[one], sizes, weights, sizes[one], weights[one])
        added[one] = np.where(np.isinf(added[one]), np.inf, offers)
        added[:, one] = added[one]
    return labels


def _added(
    shared: Floats, sizes: Floats, weights: Floats, size: Floats | float, weight: Floats | float
) -> Floats:
    """The waste that is added if a cluster of this size and weight is joined with each of the others."""
    union = sizes + size - shared
    return weights * (union - sizes) + weight * (union - size)


def _improved(labels: NDArray[np.int64], rows: Rows, weights: Floats) -> NDArray[np.int64]:
    """While that reduces the waste, move the kind of piece that gains most to another cluster."""
    clusters, place = np.unique(labels, return_inverse=True)
    sets = rows.astype(np.float64)
    members = np.stack([sets[place == cluster].sum(axis=0) for cluster in range(len(clusters))])
    total = np.bincount(place, weights=weights, minlength=len(clusters))
    kinds = np.arange(len(rows))
    while len(clusters) > 1:
        sizes = (members > 0).sum(axis=1)
        alone = (sets * (members[place] == 1)).sum(axis=1)  # terminals that no other kind of the cluster has
        leaves = total[place] * sizes[place] - (total[place] - weights) * (sizes[place] - alone)
        union = sizes + sets @ (members == 0).T
        gain = leaves[:, None] - (total + weights[:, None]) * union + total * sizes
        gain[kinds, place] = 0.0
        kind, best = divmod(int(gain.argmax()), len(clusters))
        if gain[kind, best] <= 1e-12:
            break
        home, place[kind] = place[kind], best
        members[home] -= sets[kind]
        members[best] += sets[kind]
        total[home] -= weights[kind]
        total[best] += weights[kind]
    return place
