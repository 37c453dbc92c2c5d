"""How much a traffic class usually has in each hour of the week, learnt from hours that are over.

An hour of the week that was seen seldom says little by itself, and least where demand is small. So its mean
is drawn towards the mean of the same hour on all days, and that towards the mean of all hours: each of these
counts as much as `PRIOR_HOURS` hours of its own with `PRIOR_DEMAND` more would. What is four weeks older
counts half as much. The hours of a class begin with the first one in which it was seen: otherwise a class
that is new would seem to be rare in every hour.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
DAY, WEEK = 24, 168
HALF_LIFE = 4 * WEEK
"""In hours."""
PRIOR_HOURS = 0.1
PRIOR_DEMAND = 2.0
MOST_HOURS = 8 * WEEK
"""Older hours say next to nothing, and need not be kept."""


class HourOfTraffic(NamedTuple):
    """The demand of each class in an hour (hours since 1970, UTC), and how many windows it has."""

    hour: int
    windows: int
    demand: Mapping[frozenset[str], float]


class Seasons:
    """Classes have numbers here: the places of the rows. Rows are added as classes are met."""

    def __init__(self) -> None:
        self.learnt: int | None = None
        """The last hour that was learnt. Hours come in order; an earlier one is ignored."""
        self._first = 0
        self._sums: Floats = np.zeros((0, WEEK))
        self._windows: Floats = np.zeros((0, WEEK))
        self._seen: npt.NDArray[np.bool_] = np.zeros(0, bool)

    def learn(self, hour: int, windows: int, numbers: Sequence[int], demands: Sequence[float]) -> None:
        """Add an hour: its number of windows, and the demands of the classes with these numbers."""
        if windows <= 0 or (self.learnt is not None and hour <= self.learnt):
            return
        if self.learnt is None:
            self._first = hour
        self.learnt = hour
        weight, slot = self._weight(hour), hour % WEEK
        if len(numbers):
            self.grow(max(numbers) + 1)
            self._seen[numbers] = True
            np.add.at(self._sums[:, slot], np.asarray(numbers), weight * np.asarray(demands, float))
        self._windows[self._seen, slot] += weight * windows

    def grow(self, classes: int) -> None:
        """Have a row for this many classes."""
        more = classes - len(self._sums)
        if more > 0:
            more = max(more, len(self._sums) // 2)
            self._sums = np.vstack([self._sums, np.zeros((more, WEEK))])
            self._windows = np.vstack([self._windows, np.zeros((more, WEEK))])
            self._seen = np.append(self._seen, np.zeros(more, bool))

    def keep(self, rows: npt.NDArray[np.int64]) -> None:
        """Forget all classes but these; they are numbered anew, in this order."""
        self._sums, self._windows, self._seen = self._sums[rows], self._windows[rows], self._seen[rows]

    def overall(self, classes: int) -> Floats:
        """The mean demand of each class in a window, whenever that is."""
        self.grow(classes)
        found: Floats = self._sums[:classes].sum(1) / np.maximum(self._windows[:classes].sum(1), 1e-9)
        return found

    def means(self, classes: int, hours: Sequence[int], now: int, windows_per_hour: float) -> Floats | None:
        """The usual demand of each class in a window of each of these hours, as it seems in the hour `now`.

        None if no hour was learnt yet.
        """
        if self.learnt is None:
            return None
        self.grow(classes)
        scale = self._weight(now)
        sums, windows = self._sums[:classes] / scale, self._windows[:classes] / scale
        overall = self.overall(classes)
        days, of_days = (each.reshape(classes, -1, DAY).sum(1) for each in (sums, windows))
        daily = _drawn(days, of_days, overall[:, None], windows_per_hour)
        slots = np.asarray(hours) % WEEK
        found = _drawn(sums[:, slots], windows[:, slots], daily[:, slots % DAY], windows_per_hour)
        return found

    def _weight(self, hour: int) -> float:
        """Newer hours weigh more, instead of older ones less and less: so no sum is ever changed."""
        return float(2.0 ** ((hour - self._first) / HALF_LIFE))


def _drawn(sums: Floats, windows: Floats, towards: Floats, windows_per_hour: float) -> Floats:
    """The means, drawn towards others. (Of a Poisson distributed demand whose mean has a gamma distribution
    with the shape `PRIOR_DEMAND`, this is the expected mean.)"""
    prior = PRIOR_HOURS * windows_per_hour + PRIOR_DEMAND / np.maximum(towards, 1e-9)
    found: Floats = (sums + prior * towards) / (windows + prior)
    return found
