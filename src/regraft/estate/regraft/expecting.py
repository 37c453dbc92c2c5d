"""Says of each measured window what traffic to expect after it, from the kept hours and the last windows."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from regraft.estate.regraft.tables import read_rows
from regraft.estate.windows import MeasuredWindow
from regraft.forecast import Forecaster, HourOfTraffic
from regraft.forecast.forecaster import RECENT
from regraft.model import BadInput
from regraft.model.snapshot import Snapshot, read_snapshot
from regraft.model.traffic import Traffic, TrafficClass, merged

HOUR = 3600


class Expecting:
    """`tables`: where a run of the pipeline writes; `width` of a window in seconds. Windows come in order."""

    def __init__(self, tables: Path, width: float, horizon: int, repeated: int) -> None:
        self._tables = tables
        self._width = width
        self._horizon = horizon
        self._repeated = repeated
        self._forecaster: Forecaster | None = None

    def after(self, window: MeasuredWindow) -> MeasuredWindow:
        """The window with its forecast. Only what came before it is used."""
        if self._forecaster is None:
            self._forecaster = self._begun(window.start)
        return replace(window, forecast=self._forecaster.take(window.start, window.workload.traffic))

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
        for earlier in last:
            found.take(earlier, _traffic(snapshot, earlier))
        return found

    def _last_before(self, snapshot: Snapshot, start: float) -> list[float]:
        """As many windows as the level and some comparisons need, those without traffic included. They begin
        with an hour, because hours are kept as wholes."""
        known = min((datetime.fromisoformat(each).timestamp() for each in snapshot.windows), default=start)
        wanted = (start - (RECENT + 3 * self._horizon) * self._width) // HOUR * HOUR
        count = max(0, round((start - max(known, wanted)) / self._width))
        return [start - back * self._width for back in range(count, 0, -1)]


def kept_hours(tables: Path, before: int) -> Iterator[HourOfTraffic]:
    """The hours (since 1970) before this one that the pipeline has kept, in order."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    from regraft.measure.history import hour_of  # noqa: PLC0415 — loads pyspark
    from regraft.measure.state import HISTORY  # noqa: PLC0415

    for folder in sorted((tables / HISTORY).glob("hour=*")):
        hour = hour_of(folder)
        files = [file for file in folder.glob("*.parquet") if not file.name.startswith((".", "_"))]
        if hour >= before or not files:
            continue
        rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
        demand = {frozenset(row["members"]): float(row["demand"]) for row in rows if row["members"]}
        yield HourOfTraffic(hour, rows[0]["windows"], demand)


def _traffic(snapshot: Snapshot, start: float) -> Traffic:
    rows = read_rows(snapshot, "traffic_classes", start, ("members", "demand"))
    return merged(
        TrafficClass(frozenset(row["members"]), float(row["demand"])) for row in rows if row["members"]
    )
