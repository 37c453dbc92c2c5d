"""Weights that follow the load, in both ways of the thesis (Content routes §4.4, §5.3.4, §6.5).

`total_load`: the weight is the load as a share of what the edge can carry. It says what is, and may swing for
ever: a path that leaves an edge takes its weight along and makes the edge attractive again.
`suggestion`: the weight moves part of the way only, and the bounds B_l ≤ w ≤ B_u of every edge close around
it, to half their distance in each round. So all weights stand still after about log2(B_u − B_l) rounds,
whatever the routes do. Where the workload changes, `reopened` gives an edge its first bounds back.
Weights are whole numbers (4.37) wherever the bounds leave room for one.
"""

import numpy as np
from numpy.typing import NDArray

from regraft.routes.interface import Weighting

Floats = NDArray[np.float64]

STEP = 0.25
"""Share of the distance of the bounds that a suggestion moves a weight at most: slightly (§5.3.4)."""


def unchanged(weighting: Weighting, load: Floats, capacity: Floats, round: int) -> Weighting:
    """The weights that the network came with, for ever."""
    return weighting


def total_load(weighting: Weighting, load: Floats, capacity: Floats, round: int) -> Weighting:
    """The load as a share of the capacity, or of the largest load where there is none, between the bounds."""
    return weighting._replace(weights=_target(weighting, load, capacity))


def suggestion(weighting: Weighting, load: Floats, capacity: Floats, round: int) -> Weighting:
    """One round: a step towards what the load says, and bounds half as far apart."""
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
    """The bounds have met: no further round changes a weight."""
    return bool((weighting.lower == weighting.upper).all())


def standing(before: Weighting, after: Weighting) -> bool:
    """Nothing changed, or nothing will: another round on these weights finds the same routes."""
    return settled(after) or all(map(np.array_equal, before, after))


def _target(weighting: Weighting, load: Floats, capacity: Floats) -> Floats:
    most = float(load.max(initial=0.0)) or 1.0
    full = np.where(np.isfinite(capacity) & (capacity > 0), capacity, most)
    share = np.where(capacity > 0, np.clip(load / full, 0.0, 1.0), 1.0)
    wanted: Floats = np.rint(weighting.lower + share * (weighting.upper - weighting.lower))
    return np.clip(wanted, weighting.lower, weighting.upper)
