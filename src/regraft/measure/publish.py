"""Computes the tables of some windows, and commits them together with all that was taken in before."""

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from regraft.measure import schemas
from regraft.measure.history import sum_up_hours
from regraft.measure.lake import Lake, with_date
from regraft.measure.ledger import PipelineState, Turn, commit
from regraft.measure.members import Brokers
from regraft.measure.retention import forget_old_windows
from regraft.measure.schemas import SNAPSHOT_VERSION, TABLES
from regraft.measure.segments import HISTORY, INDEX, REJECTED_TABLE
from regraft.measure.stored_files import are_few
from regraft.measure.tables import Asked, Kept, Ready, compute
from regraft.measure.taking_in import TakenFile, copies_in, good_records, without_copies
from regraft.measure.windows import among, date_of, shown
from regraft.model.delta import DATE, LAST_WINDOW
from regraft.model.snapshot import WINDOWS, Counts
from regraft.model.store import Store
from regraft.protocol.telemetry import RECORD_VERSION

AT_ONCE = 5
LARGE = frozenset({"traffic_classes", "local_views", "overlap"})
"""Tables that may have as many rows as a window has publications. Every other one is written by one task, so
that it does not become many small files."""
OUTGROWING = frozenset({"local_views", "filter_similarity"})
"""Tables that may have many more rows than there are records: workers write them, however few those are."""
MANY = 4_000_000
"""More records are read anew for each table, if they need no checks: only the columns of that table."""
Say = Callable[[str], None]


def publish(
    spark: SparkSession,
    store: Store,
    now: Turn,
    windows: Sequence[int],
    asked: Asked,
    say: Say,
    interest: Callable[[], None] = lambda: None,
    keep: int | None = None,
) -> PipelineState:
    """Compute the tables of these windows, commit, and return the state after that.

    `interest` waits until the table of interest, which is made at the same time, is complete. Windows older
    than `keep` microseconds are removed."""
    state, lake = now
    files = _files(lake, windows)
    count = sum(file.rows for file in files)
    records = _records(spark, store, files, state, windows)
    again = measured(lake, windows)

    def interests() -> DataFrame:
        interest()
        return lake.frame(spark, "interest", TABLES["interest"])

    with Kept(asked) as kept, _writing(lake, again, are_few(spark, count), say) as kept.ready:
        if windows:
            traffic = records.where(f.col("kind") != "interest")
            if count <= MANY or not all(file.plain for file in files):
                traffic = kept.keep(traffic)
            compute(kept, traffic, interests, Brokers.of(state.brokers), windows)
    interest()
    for name in asked.tables - lake.versions.keys():
        lake.make(name, TABLES[name])
    new = sorted(set(windows) - again)
    lake.append_rows(WINDOWS, _rows(new))
    after = msgspec.structs.replace(state, commit=state.commit + 1, dirty=state.dirty - set(windows))
    if "traffic_classes" in asked.tables:
        after = sum_up_hours(spark, lake, after, windows)
    after = forget_old_windows(lake, after, keep)
    lake.tidy([*TABLES, WINDOWS, INDEX, REJECTED_TABLE, HISTORY])
    return commit(after, lake, _manifest(after, kept))


def _records(
    spark: SparkSession,
    store: Store,
    files: Sequence[TakenFile],
    state: PipelineState,
    windows: Collection[int],
) -> DataFrame:
    """The records of these windows (`CLEAN`), each once."""
    records = good_records(spark, store, files, state.width)
    records = records.where(among(windows, state.width)) if windows else records.limit(0)
    return without_copies(records) if any(map(state.may_repeat, windows)) else records


def count_copies(
    spark: SparkSession, store: Store, lake: Lake, before: PipelineState, state: PipelineState
) -> tuple[PipelineState, int]:
    """How many of the records that were taken in since `before` were known or came twice."""
    changed = [start for start in state.dirty if state.may_repeat(start)]
    if not changed or (before.files == state.files):
        return state, 0
    records = good_records(spark, store, _files(lake, changed), state.width)
    found = copies_in(records.where(among(changed, state.width)))
    new = sum(found.values()) - sum(state.doubled.get(start, 0) for start in found)
    return msgspec.structs.replace(state, doubled=state.doubled | found), new


def measured(lake: Lake, windows: Collection[int]) -> set[int]:
    """Those of the windows that have tables already."""
    found = lake.read(WINDOWS, ["window"], windows) if windows else None
    return set() if found is None else set(found["window"].cast(pa.int64()).to_pylist())


def _files(lake: Lake, windows: Collection[int]) -> list[TakenFile]:
    """The files that may have records of the windows."""
    if not windows:
        return []
    found = lake.between(INDEX, TakenFile._fields, min(windows), max(windows), LAST_WINDOW)
    return [] if found is None else [TakenFile(**row) for row in found.to_pylist()]


@contextmanager
def _writing(lake: Lake, again: Collection[int], few: bool, say: Say) -> Iterator[Ready]:
    """Writes the tables that it is given, a few at the same time, because planning one and computing another
    use different parts of the machine. The block ends when all are written."""

    def write(name: str, table: DataFrame) -> None:
        lake.delete_windows(name, again)
        by_driver = few and name not in OUTGROWING
        lake.append(name, with_date(table if name in LARGE else table.coalesce(1)), few=by_driver)
        say(name)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun: list[Future[None]] = []
        yield lambda name, table: begun.append(pool.submit(write, name, table))
        for each in begun:
            each.result()


def _rows(starts: Sequence[int]) -> pa.Table:
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415

    schema = to_arrow_schema(schemas.WINDOWS, timezone="UTC").append(pa.field(DATE, pa.string()))
    return pa.Table.from_pylist([{"window": start, DATE: date_of(start)} for start in starts], schema)


def _manifest(state: PipelineState, kept: Kept) -> dict[str, Any]:
    merged = kept.merging
    return {
        "schema": SNAPSHOT_VERSION,
        "record_schema": RECORD_VERSION,
        "snapshot": state.commit,
        "window_seconds": state.width / 1e6,
        "counts": Counts(**state.counts).as_json(),
        "rejected": state.reasons,
        "input": {
            "first": shown(state.first) if state.first is not None else None,
            "last": shown(state.newest) if state.brokers else None,
            "files": state.files,
            "bytes": state.bytes,
        },
        "brokers": sorted(state.brokers),
        "top": None
        if merged is None
        else {
            "kept": merged.kept,
            "merged_classes": merged.merged_classes,
            "merged_demand": merged.merged_demand,
            "link_load_excess_at_most": merged.merged_demand,
            "excess_visits": merged.excess_visits,
            "visits": merged.visits,
            "error": merged.error,
        },
        "attributes_sampled_one_in": kept.one_in,
    }
