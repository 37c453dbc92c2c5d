"""Weights that follow the load, in both ways of the thesis (Content routes §4.4, §5.3.4, §6.5).

`total_load`: the weight is the load as a share of what the edge can carry. It may oscillate forever: when a
path leaves an edge, the weight of the edge falls, which makes it attractive again.

`suggestion`: the weight moves only part of the way, and the bounds B_l ≤ w ≤ B_u of every edge close around
it, to half their distance in each round. So no weight changes any more after about log2(B_u − B_l) rounds,
whatever the routes do. Where the workload changes, `reopened` gives an edge its first bounds back.

Weights are integers (4.37) wherever the bounds leave room for one.
"""

import numpy as np
from numpy.typing import NDArray

from regraft.routes.interface import Weighting

Floats = NDArray[np.float64]

STEP = 0.25
"""The most that a suggestion moves a weight, as a share of the distance of its bounds (§5.3.4)."""


def unchanged(weighting: Weighting, load: Floats, capacity: Floats, round: int) -> Weighting:
    """The weights stay as they are in the network."""
    return weighting


def total_load(weighting: Weighting, load: Floats, capacity: Floats, round: int) -> Weighting:
    """The load as a share of the capacity, or of the largest load if there is none, within the bounds."""
    return weighting._replace(weights=_target(weighting, load, capacity))


def suggestion(weighting: Weighting, load: Floats, capacity: Floats, round: int) -> Weighting:
    """One round: a step towards the weight that `total_load` gives, and bounds half as far apart."""
    weights, lower, upper = weighting
    width = upper - lower
    reach = np.ceil(STEP * width)
    moved = np.clip(_target(weighting, load, capacity) - weights, -reach, reach)
    weights = np.clip(weights + moved, lower, upper)
    half = np.floor(width / 2)
    lower = np.clip(weights - np.floor(half / 2), lower, upper - half)
    return Weighting(weights, lower, lower + half)


def reopened(weighting: Weighting, first: Weighting, touched: NDArray[np.bool_]) -> Weighting:
    """Edges near a change get their first bounds back; the others keep what they converged to."""
    return Weighting(
        weighting.weights,
        np.where(touched, first.lower, weighting.lower),
        np.where(touched, first.upper, weighting.upper),
    )


def settled(weighting: Weighting) -> bool:
    """Whether the bounds have met, so that no further round changes a weight."""
    return bool((weighting.lower == weighting.upper).all())


def has_converged(before: Weighting, after: Weighting) -> bool:
    """Whether nothing changed or will change: another round on these weights finds the same routes."""
    return settled(after) or all(map(np.array_equal, before, after))


def _target(weighting: Weighting, load: Floats, capacity: Floats) -> Floats:
    most = float(load.max(initial=0.0)) or 1.0
    full = np.where(np.isfinite(capacity) & (capacity > 0), capacity, most)
    share = np.where(capacity > 0, np.clip(load / full, 0.0, 1.0), 1.0)
    wanted: Floats = np.rint(weighting.lower + share * (weighting.upper - weighting.lower))
    return np.clip(wanted, weighting.lower, weighting.upper)
