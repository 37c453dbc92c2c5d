"""What a commit holds: how many records of each part, broker and window, and from when to when.

A few records are counted here, file by file, faster than Spark could plan it; many are counted by Spark.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

FEW = 1_000_000
"""The most records that are counted here."""
_KEY = ["broker", "window"]
_SUMS = [([], "count_all"), ("at", "min"), ("at", "max"), ("at", "count_distinct")]


class Content(NamedTuple):
    """The records of one part, broker and window of a commit; times in microseconds."""

    part: str
    broker: str | None
    window: int | None
    records: int
    first: int | None
    last: int | None
    different: int
    """How many different records there are. The number may be too low, never too high."""


def content_by_arrow(folder: Path) -> list[Content] | None:
    """None if there are more than `FEW` records. Records of one broker with the same time count as one."""
    files = {place: list(place.glob("*.parquet")) for place in sorted(folder.glob("part=*"))}
    rows = sum(pq.read_metadata(path).num_rows for paths in files.values() for path in paths)
    if rows > FEW:
        return None
    return [each for place, paths in files.items() for each in _counted(place.name, paths)]


def content_by_spark(stored: DataFrame, key: tuple[str, ...]) -> list[Content]:
    """`key`: the columns in which records differ. If the hashes of two are equal, `different` is 0."""
    at = f.unix_micros("at")
    table = stored.groupBy("part", "broker", f.unix_micros("window").alias("window")).agg(
        f.count(f.lit(1)).alias("records"), f.min(at).alias("first"), f.max(at).alias("last")
    )
    twice = stored.groupBy(f.xxhash64(*key).alias("key")).count().where("count > 1").limit(1)
    different = not twice.collect()
    return [Content(**row.asDict(), different=row["records"] if different else 0) for row in table.collect()]


def _counted(part: str, paths: list[Path]) -> Iterator[Content]:
    columns = [*_KEY, "at"]
    table = pa.concat_tables(pq.ParquetFile(path).read(columns) for path in paths)
    plain = pa.table(
        [table["broker"], table["window"].cast(pa.int64()), table["at"].cast(pa.int64())], columns
    )
    for row in plain.group_by(_KEY).aggregate(_SUMS).to_pylist():
        yield Content(
            part.removeprefix("part="),
            row["broker"],
            row["window"],
            row["count_all"],
            row["at_min"],
            row["at_max"],
            row["at_count_distinct"],
        )
