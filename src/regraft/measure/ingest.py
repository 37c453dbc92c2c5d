"""Takes in new records: sorts them into parts, removes duplicates, counts them.

Lateness is judged for each broker separately: a record is late if it is older than the newest record of its
broker in earlier commits, minus the allowed lateness. A broker's spool is in the order of time, so brokers
whose files arrive hours after those of others lose nothing, unless their windows have been forgotten
(`retention`). Duplicates within a commit and of earlier commits are removed. A record that is newer than all
known records of its broker cannot be a duplicate of one, so earlier commits are read only if old records
have come.
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from regraft.measure.checks import checked_lines
from regraft.measure.conform import conform
from regraft.measure.content import Content, content_by_arrow, content_by_spark
from regraft.measure.schemas import (
    CLEAN,
    INTEREST,
    LATE,
    LINES,
    REJECT,
    REJECTED,
    TRAFFIC,
    UNREAD,
)
from regraft.measure.spool_store import LEFT
from regraft.measure.state import INCOMING, RECORDS, PipelineState, WindowState, reserve, sync
from regraft.measure.windows import published, window_of
from regraft.model.snapshot import Counts

GOOD = (TRAFFIC, INTEREST)
_STORED = StructType([*CLEAN.fields, *LEFT.fields, StructField("reason", StringType())])
_PARTED = StructType([*_STORED.fields, StructField("part", StringType())])

KEY = (
    *("broker", "kind", "publisher", "seq", "at"),
    # If a broker's clock is coarse, records that one event causes at one moment differ only in these.
    *("to", "subscriber", "client", "role", "filter", "change"),
)
"""Records that are equal in these columns are duplicates."""


def ingest(
    new: Sequence[DataFrame], out: Path, state: PipelineState, lateness: int
) -> tuple[PipelineState, Counts]:
    """The new state, which the caller saves, and what became of the records. `new`: tables of files that
    workers have stored (`STORED`), or of records that were checked (`CHECKED`)."""
    spark, state = new[0].sparkSession, reserve(out, state)
    number = state.commit
    folder = out / RECORDS / str(number)
    for table in new:
        if "file" in table.columns:
            _move_files(table, out, folder)
        else:
            _write(table, state, folder)
    if (folder / f"part={UNREAD}").is_dir():
        _write(checked_lines(spark.read.schema(LEFT).parquet(str(folder / f"part={UNREAD}"))), state, folder)
        shutil.rmtree(folder / f"part={UNREAD}")
    content = _content(spark, folder)
    before = _records(content, *GOOD)
    if _may_have_duplicates(content) or _old_windows(content, state):
        _separate(spark, out, number, content, state, lateness)
        content = _content(spark, folder)
    sync([folder])
    kept = _records(content, *GOOD)
    rejected, late = _records(content, REJECT), _records(content, LATE)
    counts = Counts(before + rejected, kept, rejected, before - late - kept, late)
    return _after(state, number, content, counts, _reasons(spark, folder, rejected)), counts


def read_records(spark: SparkSession, out: Path, commits: Iterable[int], part: str) -> DataFrame:
    """The clean records of some commits."""
    folders = (out / RECORDS / str(commit) / f"part={part}" for commit in sorted(commits))
    there = [str(folder) for folder in folders if folder.is_dir()]
    reader = spark.read.schema(CLEAN)
    return reader.parquet(*there) if there else spark.createDataFrame([], CLEAN)


def read_rejected(spark: SparkSession, folder: Path) -> DataFrame:
    table = spark.read.schema(_STORED).parquet(str(folder / f"part={REJECT}"))
    return conform(table, REJECTED).drop("run")


def _move_files(files: DataFrame, out: Path, folder: Path) -> None:
    """Move the stored files into the commit. Others in that folder are of failed tasks, and are removed."""
    for part, file in files.collect():
        place = folder / f"part={part}"
        place.mkdir(parents=True, exist_ok=True)
        (out / INCOMING / file).rename(place / file)
    shutil.rmtree(out / INCOMING, ignore_errors=True)


def _write(table: DataFrame, state: PipelineState, folder: Path) -> None:
    """Write checked records, by part."""
    good = f.col("reason").isNull()
    start = window_of(published(f.col("kind"), f.col("at"), f.col("latency")), state.width)
    part = f.when(~good, REJECT).when(f.col("kind") == "interest", INTEREST).otherwise(TRAFFIC)
    placed = table.withColumn("window", f.when(good, start)).withColumn("part", part)
    # The place of a good record is no longer needed.
    for name in LINES.fieldNames():
        placed = placed.withColumn(name, f.when(~good, f.col(name)))
    conform(placed, _PARTED).write.mode("append").partitionBy("part").parquet(str(folder))


def _is_late(state: PipelineState, lateness: int) -> Column:
    closed = f.unix_micros("window") < state.closed
    if not state.brokers:
        return closed
    pairs = [f.lit(cell) for name, last in state.brokers.items() for cell in (name, last - lateness)]
    oldest = f.try_element_at(f.create_map(*pairs), f.col("broker"))
    return closed | f.coalesce(f.unix_micros("at") < oldest, f.lit(False))


def _stored(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.read.schema(_PARTED).parquet(str(folder))


def _content(spark: SparkSession, folder: Path) -> list[Content]:
    little = content_by_arrow(folder)
    if little is None or _may_have_duplicates(little):
        return content_by_spark(_stored(spark, folder), KEY)
    return little


def _records(content: Iterable[Content], *parts: str) -> int:
    return sum(each.records for each in content if each.part in parts)


def _reasons(spark: SparkSession, folder: Path, rejected: int) -> dict[str, int]:
    if not rejected:
        return {}
    counted = _stored(spark, folder).where(f.col("part") == REJECT).groupBy("reason").count()
    return {row["reason"]: row["count"] for row in counted.collect()}


def _may_have_duplicates(content: list[Content]) -> bool:
    """Whether there may be duplicates, which have one broker and window. A wrong yes only costs time."""
    return any(each.different < each.records for each in content if each.part in GOOD)


def _old_windows(content: list[Content], state: PipelineState) -> set[int]:
    """Windows that were forgotten, or that have records not newer than the known ones of their broker."""
    return {
        each.window
        for each in content
        if each.part in GOOD and each.window is not None and each.first is not None
        if each.window < state.closed or each.first <= state.brokers.get(each.broker or "", -1)
    }


def _separate(
    spark: SparkSession, out: Path, number: int, content: list[Content], state: PipelineState, lateness: int
) -> None:
    """Move late records into a part of their own, and remove duplicates."""
    folder = out / RECORDS / str(number)
    late = _is_late(state, lateness)
    all_good = _stored(spark, folder).where(f.col("part").isin(*GOOD))
    good = all_good.where(~late)
    # The order makes every run keep the same one of several records that differ only outside the key.
    order = Window.partitionBy(*KEY).orderBy("latency", "queue", "size", "memory")
    once = good.withColumn("nth", f.row_number().over(order)).where("nth = 1").drop("nth")
    old = _old_windows(content, state)
    commits = {
        commit for start in old if str(start) in state.windows for commit in state.windows[str(start)].commits
    }
    for part in GOOD if commits else ():
        known = read_records(spark, out, commits, part).select(*KEY)
        same = [f.col(f"new.`{name}`").eqNullSafe(f.col(f"old.`{name}`")) for name in KEY]
        once = once.alias("new").join(known.alias("old"), same, "left_anti")
    clean = folder.with_name(f"{number}.clean")
    both = conform(once, _PARTED).union(all_good.where(late).withColumn("part", f.lit(LATE)))
    both.write.mode("overwrite").partitionBy("part").parquet(str(clean))
    for part in (*GOOD, LATE):
        shutil.rmtree(folder / f"part={part}", ignore_errors=True)
        if (clean / f"part={part}").is_dir():
            (clean / f"part={part}").rename(folder / f"part={part}")
    shutil.rmtree(clean, ignore_errors=True)


def _after(
    state: PipelineState, number: int, content: list[Content], counts: Counts, reasons: dict[str, int]
) -> PipelineState:
    brokers = dict(state.brokers)
    windows = {start: msgspec.structs.replace(window) for start, window in state.windows.items()}
    firsts = [each.first for each in content if each.part in GOOD and each.first is not None]
    for part, broker, window, records, _, last, _ in content:
        if part not in GOOD or broker is None or window is None or last is None:
            continue
        brokers[broker] = max(last, brokers.get(broker, last))
        known = windows.setdefault(str(window), WindowState([], 0))
        commits = known.commits if number in known.commits else [*known.commits, number]
        windows[str(window)] = WindowState(commits, known.records + records)
    there = {each.part for each in content}
    totals = Counts(**state.counts).plus(counts).as_json()
    return msgspec.structs.replace(
        state,
        commit=number,
        brokers=brokers,
        first=min([*firsts, *([state.first] if state.first is not None else [])], default=None),
        windows=windows,
        interests=[*state.interests, number] if INTEREST in there else state.interests,
        rejections=[*state.rejections, number] if REJECT in there else state.rejections,
        counts=totals,
        reasons=state.reasons | {key: n + state.reasons.get(key, 0) for key, n in reasons.items()},
    )
