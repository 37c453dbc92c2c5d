"""Takes in new files: which records count, are rejected, late or repeated, and which windows they change.

Plain files (`looking`) are taken in by their summaries alone, unless a record in them may be late or a copy
of one that is known. All other files are checked by Spark, record by record.

Lateness is judged for each broker separately: a record is late if it is older than the newest record of its
broker in earlier commits, minus the allowed lateness. A broker's segments are in the order of time, so
brokers whose segments arrive hours after those of others lose nothing, unless their windows were forgotten.
"""

import time
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema

from regraft.measure import schemas
from regraft.measure.checks import checked_rows
from regraft.measure.conform import conform
from regraft.measure.lake import Lake
from regraft.measure.ledger import PipelineState
from regraft.measure.looking import Looked
from regraft.measure.schemas import CLEAN, RECORDS, REJECTED
from regraft.measure.segments import INDEX, REJECTED_TABLE, NewFile
from regraft.measure.stored_files import placed, stored
from regraft.measure.windows import counts_at, date_of, window_of
from regraft.model.delta import DATE, LAST_WINDOW
from regraft.model.snapshot import Counts
from regraft.model.store import Store

KEY = (
    *("broker", "kind", "publisher", "seq", "at"),
    # If a broker's clock is coarse, records that one event causes at one moment differ only in these.
    *("to", "subscriber", "client", "role", "filter", "change"),
)
"""Records that are equal in these columns are duplicates."""
GOOD, LATE, BAD = "good", "late", "bad"
FEW_WINDOWS = 10
"""A plain file concerns all windows from its first publication to its last record. If these are more, its
records say which: one that a client has dated 1970 would otherwise concern all windows since then."""
_INDEX = to_arrow_schema(schemas.INDEX, timezone="UTC").append(pa.field(DATE, pa.string()))
_REJECTED = to_arrow_schema(REJECTED, timezone="UTC").append(pa.field(DATE, pa.string()))


class Limits(msgspec.Struct, frozen=True):
    """What was allowed when a file was taken in: no record later than `now` and a little, none of a broker
    before `late`, none of a window before `closed`. In microseconds."""

    now: int
    closed: int
    late: dict[str, int]


class TakenFile(NamedTuple):
    """A file, and how it is read. `plain`: without checks. `ours`: its columns have the types of records'.
    `limits` (JSON): by what its records are judged, if it is not plain."""

    name: str
    plain: bool
    ours: bool
    limits: str
    rows: int


class TakenIn(NamedTuple):
    """`interests`: the files that hold records of interest."""

    state: PipelineState
    counts: Counts
    interests: list[TakenFile]


class _Part(NamedTuple):
    """Records of one verdict, broker and window in a file that was checked; times in microseconds."""

    source: str
    verdict: str
    reason: str | None
    broker: str | None
    window: int | None
    rows: int
    interests: int
    first: int | None
    last: int | None


def take_in(
    spark: SparkSession,
    store: Store,
    looked: Sequence[Looked],
    lake: Lake,
    state: PipelineState,
    lateness: int,
) -> TakenIn:
    """Add the files to the index, and what is rejected to its table. The caller commits, and saves the state;
    its counts have no duplicates yet."""
    number = state.commit + 1
    damaged = [file for file in looked if file.reason is not None]
    plain, doubtful = _told_apart([file for file in looked if file.reason is None], state)
    late = {broker: last - lateness for broker, last in state.brokers.items()}
    limits = Limits(time.time_ns() // 1000, max(state.closed, state.sealed), late)
    text = msgspec.json.encode(limits).decode()
    checked = [TakenFile(file.name, False, file.ours, text, file.rows) for file in doubtful]
    parts: list[_Part] = []
    copies = False
    if checked:
        table = _judged(spark, store, checked, state.width)
        parts = _parts(table)
        copies = _may_have_copies(parts, plain, state) or _has_copies(table)
        if any(part.verdict == BAD for part in parts):
            bad = table.where(f.col("verdict") == BAD).withColumn("run", f.lit(number).cast("long"))
            date = f.lit(date_of(state.newest)).alias(DATE)
            lake.append(REJECTED_TABLE, conform(bad, REJECTED).select("*", date))
    lake.append_rows(REJECTED_TABLE, _damaged(damaged, number, date_of(state.newest)))
    taken = [TakenFile(file.name, True, True, "", file.rows) for file in plain]
    lake.append_rows(INDEX, _index(looked, taken, checked, parts, state.width))
    after, counts = _after(state, looked, plain, parts, copies)
    told = {part.source for part in parts if part.interests}
    told |= {file.name for file in plain if file.summary is not None and file.summary.interests}
    return TakenIn(after, counts, [file for file in (*taken, *checked) if file.name in told])


def good_records(spark: SparkSession, store: Store, files: Sequence[TakenFile], width: int) -> DataFrame:
    """The good records in these files (`CLEAN`)."""
    plain = [file for file in files if file.plain]
    names, count = [file.name for file in plain], sum(file.rows for file in plain)
    tables = [stored(spark, store, names, RECORDS, count)] if plain else []
    if checked := [file for file in files if not file.plain]:
        judged = _judged(spark, store, checked, width)
        tables.append(judged.where(f.col("verdict") == GOOD).select(*map(_quoted, RECORDS.names)))
    table = reduce(DataFrame.unionByName, tables) if tables else spark.createDataFrame([], RECORDS)
    return conform(table.withColumn("window", _window(width)), CLEAN)


def without_copies(records: DataFrame) -> DataFrame:
    return records.dropDuplicates(list(KEY))


def copies_in(records: DataFrame) -> dict[int, int]:
    """How many records of each window (by its start in microseconds) are there more than once."""
    key = f.xxhash64(*map(_quoted, KEY))
    counted = records.groupBy(f.unix_micros("window").alias("start")).agg(
        f.count(f.lit(1)).alias("rows"), f.count_distinct(key).alias("different")
    )
    return {row.start: row.rows - row.different for row in counted.collect()}


def _told_apart(files: Sequence[Looked], state: PipelineState) -> tuple[list[Looked], list[Looked]]:
    """The plain files, of which all records are newer than all that are known of their broker; the others."""
    newest, oldest = dict(state.brokers), max(state.closed, state.sealed)
    plain, doubtful = [], []
    for file in sorted(files, key=lambda each: each.summary.first if each.summary else 0):
        said = file.summary
        if (
            said is None
            or said.first <= newest.get(said.broker, -1)
            or said.published - said.published % state.width < oldest
            or said.last - said.published > FEW_WINDOWS * state.width
        ):
            doubtful.append(file)
            continue
        newest[said.broker] = said.last
        plain.append(file)
    return plain, doubtful


def _judged(spark: SparkSession, store: Store, files: Sequence[TakenFile], width: int) -> DataFrame:
    """All records of these files (`CHECKED`), with `window` and `verdict`."""
    groups: dict[tuple[bool, str], list[TakenFile]] = {}
    for file in files:
        groups.setdefault((file.ours, file.limits), []).append(file)
    tables = []
    for (ours, text), group in groups.items():
        limits = msgspec.json.decode(text, type=Limits)
        names, count = [file.name for file in group], sum(file.rows for file in group)
        rows = checked_rows(placed(spark, store, names, RECORDS, count, cast=not ours), limits.now)
        rows = rows.withColumn("window", _window(width))
        good = f.col("reason").isNull()
        verdict = f.when(~good, BAD).when(_is_late(limits), LATE).otherwise(GOOD)
        tables.append(rows.withColumn("verdict", verdict))
    return reduce(DataFrame.unionByName, tables)


def _window(width: int) -> Column:
    return window_of(counts_at(), width)


def _is_late(limits: Limits) -> Column:
    closed = f.unix_micros("window") < limits.closed
    if not limits.late:
        return closed
    pairs = [f.lit(cell) for pair in limits.late.items() for cell in pair]
    oldest = f.try_element_at(f.create_map(*pairs), f.col("broker"))
    return closed | f.coalesce(f.unix_micros("at") < oldest, f.lit(False))


def _parts(table: DataFrame) -> list[_Part]:
    at, good = f.unix_micros("at"), f.col("verdict") == GOOD
    counted = table.groupBy(
        "source",
        "verdict",
        f.when(good, f.col("broker")).alias("broker"),
        f.when(good, f.unix_micros("window")).alias("window"),
        f.when(f.col("verdict") == BAD, f.col("reason")).alias("reason"),
    ).agg(
        f.count(f.lit(1)).alias("rows"),
        f.count_if(good & (f.col("kind") == "interest")).alias("interests"),
        f.min(at).alias("first"),
        f.max(at).alias("last"),
    )
    names = _Part._fields
    return [_Part(*(row[name] for name in names)) for row in counted.select(*names).collect()]


def _may_have_copies(parts: Sequence[_Part], plain: Sequence[Looked], state: PipelineState) -> bool:
    """Whether good records of a broker in two files, or in earlier ones, may be from the same time."""
    spans: dict[str, dict[str, tuple[int, int]]] = {}
    told = [(part.broker, part.source, part.first, part.last) for part in parts if part.verdict == GOOD]
    told += [
        (said.broker, file.name, said.first, said.last)
        for file in plain
        if (said := file.summary) is not None
    ]
    for broker, source, first, last in told:
        if broker is not None and first is not None and last is not None:
            low, high = spans.setdefault(broker, {}).get(source, (first, last))
            spans[broker][source] = min(first, low), max(last, high)
    for broker, of_broker in spans.items():
        ordered = sorted(of_broker.values())
        if ordered[0][0] <= state.brokers.get(broker, -1):
            return True
        if any(one[1] >= other[0] for one, other in pairwise(ordered)):
            return True
    return False


def _has_copies(table: DataFrame) -> bool:
    key = f.xxhash64(*map(_quoted, KEY)).alias("key")
    good = table.where(f.col("verdict") == GOOD)
    return bool(good.groupBy(key).count().where("count > 1").limit(1).collect())


def _damaged(files: Sequence[Looked], number: int, date: str) -> pa.Table:
    rows = [
        {"run": number, "source": file.name, "line": 0, "reason": file.reason, "text": None, DATE: date}
        for file in files
    ]
    return pa.Table.from_pylist(rows, _REJECTED)


def _index(
    looked: Sequence[Looked],
    plain: Sequence[TakenFile],
    checked: Sequence[TakenFile],
    parts: Sequence[_Part],
    width: int,
) -> pa.Table:
    said = {file.name: file for file in looked}
    rows = []
    for file in plain:
        summary = said[file.name].summary
        assert summary is not None
        rows.append(_row(file, summary.published, summary.last, width))
    windows: dict[str, list[_Part]] = {}
    for part in parts:
        if part.verdict == GOOD:
            windows.setdefault(part.source, []).append(part)
    for file in checked:
        if held := windows.get(file.name):
            starts = [part.window for part in held if part.window is not None]
            row = _row(file, min(starts), max(starts), width)
            rows.append(row | {"last": max(part.last or 0 for part in held)})
    return pa.Table.from_pylist(rows, _INDEX)


def _row(file: TakenFile, first: int, last: int, width: int) -> dict[str, object]:
    window = first - first % width
    return {
        **file._asdict(),
        "window": window,
        LAST_WINDOW: last - last % width,
        "last": last,
        DATE: date_of(window),
    }


def _after(
    state: PipelineState,
    looked: Sequence[Looked],
    plain: Sequence[Looked],
    parts: Sequence[_Part],
    copies: bool,
) -> tuple[PipelineState, Counts]:
    brokers, dirty, width = dict(state.brokers), set(state.dirty), state.width
    firsts = [] if state.first is None else [state.first]
    for file in plain:
        if (said := file.summary) is not None:
            brokers[said.broker] = max(said.last, brokers.get(said.broker, 0))
            firsts.append(said.first)
            begin = said.published - said.published % width
            dirty.update(range(begin, said.last + 1, width))
    good = [part for part in parts if part.verdict == GOOD]
    for part in good:
        if part.broker is not None and part.last is not None and part.first is not None:
            brokers[part.broker] = max(part.last, brokers.get(part.broker, 0))
            firsts.append(part.first)
    windows = {part.window for part in good if part.window is not None}
    repeats = ((min(windows), max(windows)),) if copies and windows else ()
    counts, reasons = _counts(looked, parts), Counter(state.reasons)
    for part in parts:
        if part.verdict == BAD:
            reasons[part.reason or ""] += part.rows
    for file in looked:
        if file.reason is not None:
            reasons[file.reason.partition(":")[0]] += 1
    return (
        msgspec.structs.replace(
            state,
            offset=state.offset.after(NewFile(file.name, file.size) for file in looked),
            brokers=brokers,
            first=min(firsts, default=None),
            dirty=frozenset(dirty | windows),
            repeats=merged((*state.repeats, *repeats)),
            reasons=dict(reasons),
            files=state.files + len(looked),
            bytes=state.bytes + sum(file.size for file in looked),
        ),
        counts,
    )


def _counts(looked: Sequence[Looked], parts: Sequence[_Part]) -> Counts:
    """A file that cannot be read counts as one record."""
    by_verdict = {
        verdict: sum(part.rows for part in parts if part.verdict == verdict) for verdict in (BAD, LATE)
    }
    damaged = sum(file.reason is not None for file in looked)
    read = sum(file.rows for file in looked) + damaged
    rejected, late = by_verdict[BAD] + damaged, by_verdict[LATE]
    return Counts(read, read - rejected - late, rejected, 0, late)


def merged(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same windows in the fewest spans."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return tuple(found)


def _quoted(name: str) -> Column:
    return f.col(f"`{name}`")
