"""Forecasts the traffic of the next windows, and compares itself with the guess that the last ones repeat.

    forecaster = Forecaster(width=60.0, horizon=20, repeated=3)
    for hour in history: forecaster.learn(hour)
    forecast = forecaster.take(start, traffic)        window after window

The demand of a class is what is usual in that hour of the week (`Seasons`), times its level: how much more or
less than usual the last windows had. The level returns to what is usual within hours. Every forecast is
compared later with what came, and so is the guess that the mean of the last `repeated` windows repeats. Only
a forecast that was nearer than that guess is worth using (`seasonal`).
"""

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from regraft.forecast.seasons import Floats, HourOfTraffic, Seasons
from regraft.model.phrases import counted
from regraft.model.traffic import Traffic, TrafficClass

HOUR = 3600.0
RECENT = 30
"""From how many of the last windows the level is taken, at the most."""
FADES = 0.9
"""How much less each earlier one of them counts."""
PRIOR_WINDOWS = 2.0
"""The usual demand counts as much for the level as this many windows."""
RETURNS = 6 * HOUR
"""After this time, half of the difference from the usual level is gone."""
MOST_AHEAD = 240
"""The most windows that are forecast at once."""
CHECKS = 10
"""How many forecasts wait for what comes, so that they can be compared with it."""
LEAST_CHECKED = 5
"""From so many compared forecasts on, one is used if it was better."""
STAYS = 0.05
"""A forecast that is used may be worse by this share, and one that is not has to be better by it."""
FORGETS = 24 * HOUR
"""An error that is this much older counts half: repeating is wrong only where the day turns."""
MOST_CLASSES = 20_000
"""With more classes, those with the least demand are forgotten until half as many are left."""


class Errors(NamedTuple):
    """How far off forecasts were, and how far off repeating would have been: the sum of the differences as a
    share of the demand that came. None: nothing was compared yet."""

    seasonal: float | None = None
    repeated: float | None = None
    checked: int = 0


class Forecast(NamedTuple):
    """The traffic to be expected in one of the next `windows` windows, on average.

    `seasonal`: it is better than to repeat the last windows, as far as the past tells.
    """

    traffic: Traffic
    windows: int
    seasonal: bool
    errors: Errors

    def __str__(self) -> str:
        ahead = f"the forecast for {counted(self.windows, 'window')}"
        seasonal, repeated, _ = self.errors
        if seasonal is None or repeated is None:
            return ahead
        return f"{ahead} (error {seasonal:.0%} lately; that of repeating the last windows: {repeated:.0%})"


class _Made(NamedTuple):
    """A forecast that waits for what comes: the number of its window, what had come by then, both guesses."""

    at: int
    before: Floats
    seasonal: Floats
    repeated: Floats


class Forecaster:
    """`width` of a window in seconds; `horizon`: how many windows a forecast is about; `repeated`: the mean
    of how many windows it is compared with. Windows are taken in order, each once."""

    def __init__(self, width: float, horizon: int, repeated: int) -> None:
        self._width = width
        self._horizon = max(1, min(horizon, MOST_AHEAD))
        self._repeated = max(1, repeated)
        self._every = max(1, self._horizon // CHECKS)
        self._fades = 0.5 ** (self._every * width / FORGETS)
        self._classes: dict[frozenset[str], int] = {}
        self._seasons = Seasons()
        recent = min(RECENT, int(RETURNS // width) + 1)
        self._recent: deque[tuple[int, Floats]] = deque(maxlen=max(recent, self._repeated))
        """The hour and the demands of each of the last windows."""
        self._hour = HourOfTraffic(-1, 0, {})
        self._over: deque[HourOfTraffic] = deque()
        """Hours that are over, and have one of the last windows: the level compares these with the hours
        before them. With the hours learnt at once, half of what is unusual would count as usual."""
        self._end: float | None = None
        self._last: Forecast | None = None
        self._count = 0
        self._came: Floats = np.zeros(0)
        """The sum of all demands since the last gap."""
        self._made: deque[_Made] = deque()
        self._off = np.zeros(2)
        self._demand = 0.0
        self._checked = 0
        self._used = False

    def learn(self, hour: HourOfTraffic) -> None:
        """An hour of the past. Hours come in order; one that was learnt already is ignored."""
        if len(self._classes) > MOST_CLASSES:
            self._forget_rare()
        numbers = [self._number(members) for members in hour.demand]
        self._seasons.learn(hour.hour, hour.windows, numbers, list(hour.demand.values()))

    def take(self, start: float, traffic: Traffic) -> Forecast | None:
        """The next window's traffic; returns what to expect after it, or None as long as nothing is known of
        earlier hours. A window that was taken before is ignored."""
        if self._end is not None and start < self._end - self._width / 2:
            return self._last
        demands = self._vector(dict(traffic))
        if self._end is None or abs(start - self._end) > self._width / 2:
            self._forget_recent()
        if len(self._classes) > MOST_CLASSES:
            self._forget_rare()
            demands = self._vector(dict(traffic))
        self._end = start + self._width
        self._count_in(int(start // HOUR), traffic)
        self._count += 1
        self._came = _as_long(self._came, len(demands)) + demands
        self._recent.append((int(start // HOUR), demands))
        while self._over and self._over[0].hour < self._recent[0][0]:
            self.learn(self._over.popleft())
        self._compare()
        self._last = self._forecast()
        return self._last

    def _forecast(self) -> Forecast | None:
        seasonal = self._expected()
        if seasonal is None:
            return None
        if self._count % self._every == 0:
            self._made.append(_Made(self._count, self._came, seasonal, self._mean_of_last()))
        margin = 1 + (STAYS if self._used else -STAYS)
        self._used = self._checked >= LEAST_CHECKED and bool(self._off[0] < margin * self._off[1])
        classes = zip(self._classes, seasonal.tolist(), strict=True)
        found = tuple(TrafficClass(members, demand) for members, demand in classes if demand > 0)
        return Forecast(found, self._horizon, self._used, self.errors)

    @property
    def errors(self) -> Errors:
        if not self._checked or not self._demand:
            return Errors()
        seasonal, repeated = (self._off / self._demand).tolist()
        return Errors(seasonal, repeated, self._checked)

    def _number(self, members: frozenset[str]) -> int:
        return self._classes.setdefault(members, len(self._classes))

    def _vector(self, demand: Mapping[frozenset[str], float]) -> Floats:
        numbers = [self._number(members) for members in demand]
        found = np.zeros(len(self._classes))
        found[numbers] = list(demand.values())
        return found

    def _forget_recent(self) -> None:
        """Windows are missing: the level is unknown, and what was forecast cannot be compared."""
        self._recent.clear()
        self._made.clear()
        self._came = np.zeros(len(self._classes))

    def _forget_rare(self) -> None:
        classes = len(self._classes)
        recent = sum((_as_long(each, classes) for _, each in self._recent), np.zeros(classes))
        usual = self._seasons.overall(classes)
        kept = np.sort(np.argsort(-(usual + recent / max(1, len(self._recent))))[: MOST_CLASSES // 2])
        names = list(self._classes)
        self._classes = {names[number]: place for place, number in enumerate(kept.tolist())}

        def of_kept(demands: Floats) -> Floats:
            return _as_long(demands, classes)[kept]

        self._seasons.keep(kept)
        self._recent = deque(
            ((hour, of_kept(each)) for hour, each in self._recent), maxlen=self._recent.maxlen
        )
        self._came = of_kept(self._came)
        self._made = deque(_Made(at, *map(of_kept, others)) for at, *others in self._made)

    def _count_in(self, hour: int, traffic: Traffic) -> None:
        """Add the window to its hour."""
        if hour != self._hour.hour:
            self._over.append(self._hour)
            self._hour = HourOfTraffic(hour, 0, {})
        demand = dict(self._hour.demand)
        for members, more in traffic:
            demand[members] = demand.get(members, 0.0) + more
        self._hour = HourOfTraffic(hour, self._hour.windows + 1, demand)

    def _expected(self) -> Floats | None:
        """The mean demand of each class in the windows of the horizon."""
        classes, now = len(self._classes), self._recent[-1][0]
        per_hour = max(1.0, HOUR / self._width)
        assert self._end is not None
        starts = self._end + self._width * np.arange(self._horizon)
        remains = 0.5 ** (self._width * np.arange(1, self._horizon + 1) / RETURNS)
        hours, place = np.unique((starts // HOUR).astype(np.int64), return_inverse=True)
        ahead = self._seasons.means(classes, hours.tolist(), now, per_hour)
        usual = self._seasons.means(classes, [hour for hour, _ in self._recent], now, per_hour)
        if ahead is None or usual is None:
            return None
        weights = FADES ** np.arange(len(self._recent))[::-1]
        seen = weights @ np.array([_as_long(each, classes) for _, each in self._recent])
        was_usual = usual @ weights
        prior = PRIOR_WINDOWS * usual.mean(1)
        known = was_usual > 0
        level = np.divide(seen + prior, was_usual + prior, out=np.ones(classes), where=known)
        # The mean over the horizon of `usual · (1 + (level − 1) · remains)`, hour by hour.
        shares = np.bincount(place, minlength=len(hours)) / self._horizon
        left = np.bincount(place, remains, minlength=len(hours)) / self._horizon
        found: Floats = ahead @ (shares - left) + level * (ahead @ left)
        # Nothing is usual for a class that is new: it is expected to last.
        return np.where(known, found, seen / weights.sum())

    def _mean_of_last(self) -> Floats:
        last = list(self._recent)[-self._repeated :]
        found: Floats = np.sum([_as_long(each, len(self._classes)) for _, each in last], 0) / len(last)
        return found

    def _compare(self) -> None:
        """Compare forecasts whose windows have all come."""
        while self._made and self._count - self._made[0].at >= self._horizon:
            _, before, *guesses = self._made.popleft()
            classes = len(self._came)
            came = (self._came - _as_long(before, classes)) / self._horizon
            off = [float(np.abs(_as_long(guess, classes) - came).sum()) for guess in guesses]
            self._off = self._fades * self._off + np.array(off)
            self._demand = self._fades * self._demand + float(came.sum())
            self._checked += 1


def _as_long(demands: Floats, classes: int) -> Floats:
    """With a zero for each class that was not known then."""
    return demands if len(demands) == classes else np.pad(demands, (0, classes - len(demands)))
