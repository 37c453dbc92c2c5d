"""Where to put new facilities: multi-facility location on a network (Content routes §5.3.1, (5.66)).

The thesis places facilities in a plane; events travel in a network, so here a place is a switch and d is the
distance between switches. The program is

    min  Σ v[j,k] · d(F_j, F_k)  +  Σ w[j,i] · d(F_j, G_i)

over one switch for every new facility F_j. If cables are one-way or have different weights in both
directions, the direction matters: v[j,k] is for the path from j to k, and paths from an existing facility
have weights of their own. If the pairs with v > 0 form a forest (one facility, or a virtual subscriber that
feeds virtual publishers, or a chain of merge points), dynamic programming from the leaves to the root gives
the optimum in O(f·n²); otherwise an integer program does.
"""

from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

Matrix = NDArray[np.float64]
SCALE = 1_000_000
"""The largest cost in the integer program, whose costs are integers."""


class Location(NamedTuple):
    """`places[j]` is the switch of facility j; `optimal` whether that is proven."""

    places: tuple[int, ...]
    cost: float
    optimal: bool


def locate(
    distance: Matrix,
    old: NDArray[np.int64],
    w: Matrix,
    v: Matrix,
    coming: Matrix | None = None,
    seconds: float = 10.0,
) -> Location:
    """Place as many facilities as `w` has rows; `old` are the switches of the existing ones.

    `coming[j,i]` is like `w[j,i]`, for the path from G_i to F_j.
    """
    near = w @ distance[:, old].T  # cost of facility j at switch r towards the existing ones
    if coming is not None:
        near = near + coming @ distance[old, :]
    links: list[tuple[int, int]] = [(int(j), int(k)) for j, k in np.argwhere(np.triu(v + v.T, 1) > 0)]
    between = nx.Graph(links)
    between.add_nodes_from(range(len(w)))
    if nx.is_forest(between):
        return _cost(_by_tables(between, distance, near, v), distance, near, v, True)
    return _by_program(links, distance, near, v, seconds)


def _cost(places: tuple[int, ...], distance: Matrix, near: Matrix, v: Matrix, optimal: bool) -> Location:
    at = np.array(places)
    cost = near[np.arange(len(at)), at].sum() + (v * distance[np.ix_(at, at)]).sum()
    return Location(places, float(cost), optimal)


def _by_tables(between: "nx.Graph[int]", distance: Matrix, near: Matrix, v: Matrix) -> tuple[int, ...]:
    places = [0] * len(near)
    total = near.copy()
    for tree in nx.connected_components(between):
        root = min(tree)
        steps = list(nx.dfs_edges(between, root))
        best: dict[int, NDArray[np.int64]] = {}
        for parent, child in reversed(steps):
            apart = v[parent, child] * distance + v[child, parent] * distance.T
            ways = total[child][None, :] + apart
            best[child] = ways.argmin(axis=1)
            total[parent] = total[parent] + ways.min(axis=1)
        places[root] = int(total[root].argmin())
        for parent, child in steps:
            places[child] = int(best[child][places[parent]])
    return tuple(places)


def _by_program(
    links: list[tuple[int, int]], distance: Matrix, near: Matrix, v: Matrix, seconds: float
) -> Location:
    """x[j,r]: facility j is at switch r; z[j,k,r,q] ≥ x[j,r] + x[k,q] − 1 as flows between the two rows."""
    f, n = near.shape
    largest = max(float(near.max()), float(2 * v.max() * distance.max())) or 1.0
    model = cp_model.CpModel()
    x = [[model.new_bool_var(f"x[{j},{r}]") for r in range(n)] for j in range(f)]
    costs: list[cp_model.LinearExprT] = []
    for j in range(f):
        model.add_exactly_one(x[j])
        costs += [round(near[j, r] / largest * SCALE) * x[j][r] for r in range(n)]
    for j, k in links:
        z = [[model.new_bool_var(f"z[{j},{k},{r},{q}]") for q in range(n)] for r in range(n)]
        for r in range(n):
            model.add(sum(z[r]) == x[j][r])
            model.add(sum(row[r] for row in z) == x[k][r])
            apart = v[j, k] * distance[r, :] + v[k, j] * distance[:, r]
            costs += [round(apart[q] / largest * SCALE) * z[r][q] for q in range(n)]
    model.minimize(sum(costs))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        # Out of time before the first solution: place each facility as if it were the only one.
        return _cost(tuple(int(r) for r in near.argmin(axis=1)), distance, near, v, False)
    places = tuple(next(r for r in range(n) if solver.boolean_value(x[j][r])) for j in range(f))
    return _cost(places, distance, near, v, status == cp_model.OPTIMAL)
