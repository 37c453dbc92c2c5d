"""Says of each measured window what traffic to expect after it, from the kept hours and the last windows."""

import logging
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from regraft.estate.regraft.tables import read_traffic
from regraft.estate.windows import MeasuredWindow
from regraft.forecast import Forecaster, HourOfTraffic
from regraft.forecast.forecaster import RECENT
from regraft.model import BadInput, RegraftError
from regraft.model.snapshot import Snapshot, read_snapshot

HISTORY = "history"
"""The table of the demand of past hours, which outlives their windows."""
HOUR = 3600

log = logging.getLogger("regraft.loop")


class Expecting:
    """`tables`: where a run of the pipeline writes; `width` of a window in seconds. Windows come in order.

    A forecast is a help, and no reason to lose a measured window: without one, the loop repeats the last
    windows.
    """

    def __init__(self, tables: str | Path, width: float, horizon: int, repeated: int) -> None:
        self._tables = tables
        self._width = width
        self._horizon = horizon
        self._repeated = repeated
        self._forecaster: Forecaster | None = None
        self._end = 0.0
        """Of the last window."""
        self._lock = threading.Lock()
        """A measurement that took too long is left behind in its thread."""

    def after(self, window: MeasuredWindow) -> MeasuredWindow:
        """The window with its forecast. Only what came before it is used.

        The loop may have missed windows before it, and the pipeline has measured them: these are taken first.
        """
        with self._lock:
            try:
                forecaster = self._ready(window.start)
            except (RegraftError, OSError, ValueError) as fault:  # Arrow's faults are of these kinds, too
                log.warning("no forecast for the window from %s on: %s", window.id, fault)
                return window
            self._end = max(self._end, window.end)
            return replace(window, forecast=forecaster.take(window.start, window.workload.traffic))

    def _ready(self, start: float) -> Forecaster:
        """The forecaster, which has taken all windows before `start`."""
        missed = round((start - self._end) / self._width)
        if self._forecaster is None or missed > RECENT + 3 * self._horizon:
            self._forecaster = self._begun(start)
        elif missed > 0:
            self._catch_up(self._forecaster, [self._end + number * self._width for number in range(missed)])
        return self._forecaster

    def _catch_up(self, forecaster: Forecaster, starts: Sequence[float]) -> None:
        for start, traffic in read_traffic(read_snapshot(self._tables), starts).items():
            forecaster.take(start, traffic)

    def _begun(self, start: float) -> Forecaster:
        """A forecaster that knows what came before `start`, so that a restart of the loop changes little: the
        last windows, and the hours before them. (Hours of these windows would make it look too good.)"""
        found = Forecaster(self._width, self._horizon, self._repeated)
        try:
            snapshot = read_snapshot(self._tables)
        except BadInput:  # nothing was measured yet
            return found
        last = self._last_before(snapshot, start)
        for hour in kept_hours(self._tables, int((last[0] if last else start) // HOUR)):
            found.learn(hour)
        self._catch_up(found, last)
        return found

    def _last_before(self, snapshot: Snapshot, start: float) -> list[float]:
        """As many windows as the level and some comparisons need, those without traffic included. They begin
        with an hour, because hours are kept as wholes."""
        known = min((datetime.fromisoformat(each).timestamp() for each in snapshot.windows), default=start)
        wanted = (start - (RECENT + 3 * self._horizon) * self._width) // HOUR * HOUR
        count = max(0, round((start - max(known, wanted)) / self._width))
        return [start - back * self._width for back in range(count, 0, -1)]


def kept_hours(tables: str | Path, before: int) -> Iterator[HourOfTraffic]:
    """The hours (since 1970) before this one that the pipeline has kept, in order."""
    try:
        rows = read_snapshot(tables).rows(HISTORY, ("hour", "members", "demand", "windows"))
    except (RegraftError, OSError) as fault:
        log.warning("past hours cannot be read, and forecasts do without them: %s", fault)
        return
    windows: dict[int, int] = {}
    demands: defaultdict[int, dict[frozenset[str], float]] = defaultdict(dict)
    for row in rows:
        hour = _hour(row["hour"])
        windows[hour] = row["windows"]
        if row["members"]:  # an hour without traffic has one row without members
            demands[hour][frozenset(row["members"])] = float(row["demand"])
    for hour in sorted(each for each in windows if each < before):
        yield HourOfTraffic(hour, windows[hour], demands[hour])


def _hour(name: str) -> int:
    """The hour since 1970 of a name such as 2026-01-05T12."""
    return round(datetime.strptime(name, "%Y-%m-%dT%H").replace(tzinfo=UTC).timestamp()) // HOUR
