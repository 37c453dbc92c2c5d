"""Keeps the demand of every traffic class, hour by hour, for longer than windows are kept.

A forecast needs weeks; tables and segments of so many windows would fill the disk. An hour that is over is
summed up once, on Spark, from the tables of its windows, and anew if one of them changes.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from regraft.forecast.seasons import MOST_HOURS
from regraft.measure.lake import Lake
from regraft.measure.ledger import PipelineState
from regraft.measure.schemas import HISTORY as SCHEMA
from regraft.measure.schemas import TABLES, TIME, WHOLE, struct
from regraft.measure.segments import HISTORY
from regraft.measure.windows import date_of
from regraft.model.delta import DATE, WINDOW
from regraft.model.snapshot import WINDOWS

HOUR = 3_600_000_000
"""In microseconds."""
_HOURS = struct(window=TIME, hour=SCHEMA["hour"].dataType, windows=WHOLE)


def sum_up_hours(
    spark: SparkSession, lake: Lake, state: PipelineState, published: Iterable[int]
) -> PipelineState:
    """Sum up the hours that are over and have windows that were published since. To be called before old
    windows are forgotten."""
    waiting = state.hours | {start // HOUR for start in published if start >= state.closed}
    oldest = state.newest // HOUR - MOST_HOURS
    dirty = {start // HOUR for start in state.dirty}
    over = {hour for hour in waiting if oldest <= hour and _is_over(hour, state) and hour not in dirty}
    windows = {hour: _windows(lake, hour) for hour in sorted(over)}
    due = {
        hour: starts
        for hour, starts in windows.items()
        if starts and max(starts) + state.width <= state.newest
    }
    if due:
        _sum_up(spark, lake, due)
        lake.delete(HISTORY, f"{DATE} < '{date_of(max(0, oldest) * HOUR)}'")
    left = {hour for hour in waiting - due.keys() if hour >= oldest}
    return msgspec.structs.replace(state, hours=frozenset(left))


def hour_name(hour: int) -> str:
    return datetime.fromtimestamp(hour * 3600, UTC).strftime("%Y-%m-%dT%H")


def _is_over(hour: int, state: PipelineState) -> bool:
    return (hour + 1) * HOUR <= state.newest


def _windows(lake: Lake, hour: int) -> list[int]:
    """The measured windows that begin in this hour."""
    found = lake.between(WINDOWS, [WINDOW], hour * HOUR, (hour + 1) * HOUR - 1)
    return [] if found is None else sorted(found[WINDOW].cast(pa.int64()).to_pylist())


def _sum_up(spark: SparkSession, lake: Lake, due: dict[int, list[int]]) -> None:
    rows = [
        (datetime.fromtimestamp(start / 1e6, UTC), hour_name(hour), len(starts))
        for hour, starts in due.items()
        for start in starts
    ]
    first, last = min(map(min, due.values())), max(map(max, due.values()))
    classes = lake.frame(spark, "traffic_classes", TABLES["traffic_classes"], first, last)
    demand = f.coalesce(f.sum("demand"), f.lit(0).cast("long")).alias("demand")
    # An hour without traffic has one row without members.
    hours = (
        spark.createDataFrame(rows, _HOURS)
        .join(classes, "window", "left")
        .groupBy("hour", "windows", "members")
        .agg(demand)
        .select(*SCHEMA.names, f.substring("hour", 1, 10).alias(DATE))
    )
    names = ", ".join(f"'{hour_name(hour)}'" for hour in due)
    lake.delete(HISTORY, f"hour IN ({names})")
    lake.append(HISTORY, hours.coalesce(1))
