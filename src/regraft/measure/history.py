"""Keeps the demand of every traffic class, hour by hour, for longer than windows are kept.

A forecast needs weeks; tables and clean records of so many windows would fill the disk. An hour that is over
is summed up once, on Spark, from the tables of its windows, and is written anew if one of them changes. Each
hour is one folder with one file, so a run that is killed leaves whole hours only.

    OUT/history/hour=2026-01-05T12/      members, demand, windows
"""

import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from regraft.forecast.seasons import MOST_HOURS
from regraft.measure.schemas import TABLES, TEXT, TIME, WHOLE, struct
from regraft.measure.state import DUE, HISTORY, VERSIONS, PipelineState
from regraft.measure.windows import folder_name

HOUR = 3_600_000_000
"""In microseconds."""
_WINDOWS = struct(window=TIME, hour=TEXT, windows=WHOLE)


def keep_hours(spark: SparkSession, out: Path, state: PipelineState, published: Iterable[int]) -> list[Path]:
    """Sum up the hours that are over, if they are new or have windows among the `published` ones.

    To be called before old windows are forgotten. Returns the folders that were written."""
    folder = out / HISTORY
    for left in folder.glob(".spark-staging-*"):
        shutil.rmtree(left, ignore_errors=True)
    known = kept(out)
    due = hours_due(state, known.keys(), set(published))
    if not due:
        return []
    rows = [
        (datetime.fromtimestamp(start / 1e6, UTC), hour_name(hour), len(starts))
        for hour, starts in due.items()
        for start in starts
    ]
    windows = spark.createDataFrame(rows, _WINDOWS)
    classes = _classes(spark, out, state, [start for starts in due.values() for start in starts])
    demand = f.coalesce(f.sum("demand"), f.lit(0).cast("long")).alias("demand")
    # An hour without traffic has one row without members.
    hours = (
        windows.join(classes, "window", "left")
        .groupBy("hour", "windows", "members")
        .agg(demand)
        .repartition("hour")
        .write.mode("overwrite")
        .option("partitionOverwriteMode", "dynamic")
        .partitionBy("hour")
    )
    hours.parquet(str(folder))
    shutil.rmtree(out / DUE, ignore_errors=True)
    for hour, place in known.items():
        if hour < _newest(state) - MOST_HOURS:
            shutil.rmtree(place, ignore_errors=True)
    return [place for hour, place in kept(out).items() if hour in due]


def _classes(spark: SparkSession, out: Path, state: PipelineState, starts: Iterable[int]) -> DataFrame:
    """The traffic classes of these windows, which are in folders of several commits: read through links."""
    place = out / DUE
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    versions = state.tables["traffic_classes"]
    there = [name for name in map(folder_name, starts) if name in versions]
    for name in there:
        (place / name).symlink_to(f"../{VERSIONS}/{versions[name]}/traffic_classes/{name}")
    schema = TABLES["traffic_classes"]
    return spark.read.schema(schema).parquet(str(place)) if there else spark.createDataFrame([], schema)


def hours_due(state: PipelineState, known: Collection[int], published: set[int]) -> dict[int, list[int]]:
    """Hours (since 1970) to be summed up, each with the starts of its windows."""
    newest = max(state.brokers.values(), default=0)
    oldest = _newest(state) - MOST_HOURS
    found: defaultdict[int, list[int]] = defaultdict(list)
    for start in state.windows:
        found[int(start) // HOUR].append(int(start))
    dirty = {start // HOUR for start in state.dirty()}
    return {
        hour: sorted(starts)
        for hour, starts in sorted(found.items())
        if hour >= oldest
        and max((hour + 1) * HOUR, max(starts) + state.width) <= newest
        and hour not in dirty
        and (hour not in known or (hour * HOUR >= state.closed and not published.isdisjoint(starts)))
    }


def _newest(state: PipelineState) -> int:
    """The hour of the newest record."""
    return int(max(state.brokers.values(), default=0)) // HOUR


def kept(out: Path) -> dict[int, Path]:
    """The hours (since 1970) that are kept, in order, and their folders."""
    found = ((hour_of(each), each) for each in sorted((out / HISTORY).glob("hour=*")))
    return {hour: folder for hour, folder in found if hour is not None}


def hour_name(hour: int) -> str:
    return datetime.fromtimestamp(hour * 3600, UTC).strftime("%Y-%m-%dT%H")


def hour_of(folder: Path) -> int | None:
    """The hour of a folder, since 1970; None if its name says no hour."""
    try:
        at = datetime.strptime(folder.name.removeprefix("hour="), "%Y-%m-%dT%H").replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(at.timestamp()) // 3600
