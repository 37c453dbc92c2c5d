"""K clusters whose largest diameter is least: the integer program (5.50)–(5.55) (Content routes §5.1.6).

The distance of two filters is measured in digits, so D_max takes few values. The program has a variable z_t
for each value t that says whether D_max ≥ t; two pieces at distance t may share a cluster only if z_t holds,
which is (5.51) without its product. Piece i may be in the first i + 1 clusters only, because the names of
clusters do not matter. Beyond `MOST_PIECES` the nearest pieces are grouped first, and the program clusters
the groups. It runs only if a simple bound does not already prove that complete linkage is optimal.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from regraft.filters.dz import Dz, DzSet
from regraft.routes.clustering_pieces import pieces_of
from regraft.routes.settings import RouteSettings

MOST_PIECES = 60
Ints = NDArray[np.int64]


def by_diameter(
    expressions: Sequence[Dz], settings: RouteSettings, terminals: Sequence[frozenset[int]] = ()
) -> list[DzSet]:
    """At most `settings.clusters` clusters."""
    pieces = pieces_of(expressions)
    distances = prefix_distances([DzSet((dz,)) for dz in pieces.owners])
    return pieces.groups(least_diameter(distances, settings.clusters, settings.time_limit))


def least_diameter(distances: Ints, count: int, seconds: float = 10.0) -> list[int]:
    """The cluster of each item, such that the largest distance within a cluster is minimal."""
    size = len(distances)
    if size <= count:
        return list(range(size))
    near = _complete(distances, count)
    known = _diameter(distances, near)
    if known <= _apart(distances, count + 1):
        return _listed(near)
    groups = np.arange(size) if size <= MOST_PIECES else _complete(distances, MOST_PIECES)
    between = np.zeros((groups.max() + 1,) * 2, dtype=np.int64)
    np.maximum.at(between, (groups[:, None], groups[None, :]), distances)
    solved = _solve(between, count, known, seconds)
    return _listed(near if solved is None else np.array(solved)[groups])


def _solve(between: Ints, count: int, known: int, seconds: float) -> list[int] | None:
    """Clusters with a smaller diameter than `known`; None if there are none, or time ran out."""
    size = len(between)
    if between.diagonal().max() >= known:
        return None
    values = sorted({int(value) for value in np.unique(between) if value < known})
    model = cp_model.CpModel()
    x = [[model.new_bool_var(f"x[{i},{k}]") for k in range(min(i + 1, count))] for i in range(size)]
    at_least = {value: model.new_bool_var(f"z[{value}]") for value in values}
    for row in x:
        model.add_exactly_one(row)
    for lower, higher in pairwise(values):
        model.add_implication(at_least[higher], at_least[lower])
    for i in range(size):
        if between[i, i]:
            model.add(at_least[int(between[i, i])] == 1)
        for j in range(i):
            apart = int(between[i, j])
            allowed = [at_least[apart]] if apart in at_least else []
            if apart:
                for k in range(len(x[j])):
                    model.add_bool_or(~x[i][k], ~x[j][k], *allowed)
    steps = [after - before for before, after in pairwise([0, *values])]
    model.minimize(sum(step * at_least[value] for step, value in zip(steps, values, strict=False)))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return [next(k for k, chosen in enumerate(row) if solver.boolean_value(chosen)) for row in x]


def _apart(distances: Ints, count: int) -> int:
    """A lower bound for one cluster less than `count`: of `count` items chosen far from each other, two must
    share a cluster.

    For prefixes, whose distances are an ultrametric, it is the optimum, and the program need not run.
    """
    chosen = [0]
    while len(chosen) < count:
        chosen.append(int(distances[chosen].min(axis=0).argmax()))
    between = distances[np.ix_(chosen, chosen)] + np.where(np.eye(count) > 0, distances.max(), 0)
    return int(between.min())


def _listed(labels: Ints) -> list[int]:
    return [int(label) for label in labels]


def _complete(distances: Ints, count: int) -> Ints:
    """Complete linkage: optimal for the ultrametric of prefixes, a good start for other distances."""
    tree = linkage(squareform(distances.astype(np.float64), checks=False), "complete")
    labels: Ints = fcluster(tree, count, "maxclust").astype(np.int64) - 1
    return labels


def _diameter(distances: Ints, labels: Ints) -> int:
    return int(np.where(labels[:, None] == labels[None, :], distances, 0).max(initial=0))


def prefix_distances(filters: Sequence[DzSet]) -> NDArray[np.int64]:
    """How different two filters are, by their prefixes (Content routes §4.3): the longer the shared
    expression (4.33)–(4.36), the nearer; 0 for equal expressions.

    A filter counts as the expression that its own expressions share. The distances are an ultrametric: of the
    expressions that three filters share in pairs, two are equal and the third is at least as long.
    """
    prefixes = [part.shared for part in filters]
    most = max(map(len, prefixes), default=0)
    # One column per digit; the end of an expression (" ") differs from every digit and from other ends.
    digits = np.array([[ord(c) for c in prefix.ljust(most)] for prefix in prefixes], dtype=np.uint8)
    digits = digits.reshape(len(filters), most)
    equal = np.ones((len(filters), len(filters)), dtype=bool)
    common = np.zeros((len(filters), len(filters)), dtype=np.int64)
    for column in digits.T:
        equal &= (column[:, None] == column[None, :]) & (column != ord(" "))[:, None]
        common += equal
    longest: NDArray[np.int64] = np.full_like(common, most)
    same = np.array(prefixes, dtype=object)
    return np.where(same[:, None] == same[None, :], 0, longest - common)
