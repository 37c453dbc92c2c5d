"""Estimates the round trips that nobody has measured, from those that were.

Every broker gets a place in a space of a few dimensions and a height above it, chosen so that the distances
are as near to the measured round trips as possible (F. Dabek, R. Cox, F. Kaashoek, R. Morris: Vivaldi, a
decentralized network coordinate system, SIGCOMM 2004, §2 and §5.4). The height is the way from a broker to
the core of the network, which every one of its messages has to go. Vivaldi moves the places little by little
at each node; here all measurements are in one place, so the sum of the squared relative errors is minimised.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
DIMENSIONS = 4
TRIES = 2
"""How many random beginnings are tried: the error may have several minima."""
MOST_STEPS = 300


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Row i is the place of node i."""

    places: Floats
    heights: Floats

    def between(self, one: Ints, other: Ints) -> Floats:
        """The estimated round trips of pairs of nodes."""
        apart = np.linalg.norm(self.places[one] - self.places[other], axis=-1)
        found: Floats = apart + self.heights[one] + self.heights[other]
        return found


def fitted(count: int, one: Ints, other: Ints, times: Floats, seed: int = 0) -> Coordinates:
    """Coordinates of `count` nodes that agree with the times measured between `one[p]` and `other[p]`.

    Times are positive. Where a node was measured against few others, its place is uncertain.
    """
    draw = np.random.default_rng(seed)
    scale = float(np.median(times)) / 4
    begun = [draw.normal(scale=scale, size=(count, DIMENSIONS)) for _ in range(TRIES)]
    tries = [_descended(count, one, other, times, places) for places in begun]
    return min(tries, key=lambda each: each[0])[1]


def _descended(
    count: int, one: Ints, other: Ints, times: Floats, places: Floats
) -> tuple[float, Coordinates]:
    from scipy.optimize import minimize  # noqa: PLC0415 — most networks need no estimates

    size = count * DIMENSIONS
    weights = 1 / times**2

    def error(values: Floats) -> tuple[float, Floats]:
        where, heights = values[:size].reshape(count, DIMENSIONS), values[size:]
        apart = where[one] - where[other]
        lengths = np.linalg.norm(apart, axis=1)
        off = lengths + heights[one] + heights[other] - times
        pull = 2 * weights * off
        along = apart * (pull / np.maximum(lengths, 1e-9))[:, None]
        slope = np.zeros(len(values))
        of_places, of_heights = slope[:size].reshape(count, DIMENSIONS), slope[size:]
        np.add.at(of_places, one, along)
        np.add.at(of_places, other, -along)
        np.add.at(of_heights, one, pull)
        np.add.at(of_heights, other, pull)
        return float(weights @ off**2), slope

    begun = np.concatenate([places.ravel(), np.zeros(count)])
    bounds = [(None, None)] * size + [(0, None)] * count
    found = minimize(
        error, begun, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": MOST_STEPS}
    )
    values: Floats = found.x
    return float(found.fun), Coordinates(values[:size].reshape(count, DIMENSIONS), values[size:])
