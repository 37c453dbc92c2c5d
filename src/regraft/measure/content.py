"""What a commit holds: how many records of which part, broker and window, and from when to when.

Little is counted here, file by file, sooner than Spark has planned it; much by Spark.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

LITTLE = 1_000_000
"""Records that are counted here."""
_KEY = ["broker", "window"]
_SUMS = [([], "count_all"), ("at", "min"), ("at", "max"), ("at", "count_distinct")]


class Content(NamedTuple):
    """Of one part, broker and window of a commit; times in microseconds."""

    part: str
    broker: str | None
    window: int | None
    records: int
    first: int | None
    last: int | None
    different: int
    """How many different records there are: it may be too few, never too many."""


def content_of_little(folder: Path) -> list[Content] | None:
    """None: it is not little. Records of one broker that tell the same time are taken for one record."""
    files = {place: list(place.glob("*.parquet")) for place in sorted(folder.glob("part=*"))}
    rows = sum(pq.read_metadata(path).num_rows for paths in files.values() for path in paths)
    if rows > LITTLE:
        return None
    return [each for place, paths in files.items() for each in _counted(place.name, paths)]


def content_of_much(stored: DataFrame, key: tuple[str, ...]) -> list[Content]:
    """`key`: what records differ in; it is compared by hashes, and if two agree nobody is said to differ."""
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
