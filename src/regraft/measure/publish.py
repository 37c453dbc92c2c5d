"""Publishes a new snapshot, atomically, with new tables of the windows that have changed.

The tables are written into a folder of their own. A second folder gets links to the newest version of every
window, and one rename makes that folder the current one. A reader that resolves `current` once sees one
complete snapshot for as long as it is kept (the last few are).
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from regraft.measure.counting.interests import stored_interests
from regraft.measure.counting.pieces import Piece, pieces_in
from regraft.measure.history import keep_hours
from regraft.measure.ingest import read_records, read_rejected
from regraft.measure.members import Brokers
from regraft.measure.retention import forget_old_windows, merge_old_interest
from regraft.measure.schemas import (
    INTEREST,
    REJECTED,
    SNAPSHOT_VERSION,
    TABLES,
    TRAFFIC,
)
from regraft.measure.state import RECORDS, SNAPSHOTS, VERSIONS, PipelineState, reserve, save, sync, tidy
from regraft.measure.tables import Asked, Kept, Ready, compute
from regraft.measure.windows import folder_name, shown
from regraft.model import RegraftError
from regraft.model.snapshot import CURRENT, MANIFEST, Counts, Snapshot, read_snapshot
from regraft.protocol.telemetry import RECORD_VERSION

ALL_TABLES = (*TABLES, "rejected")
AT_ONCE = 5
MANY = 100_000
"""From this number on, records are counted file by file. For fewer, workers would take longer to start."""
_NO_WINDOW = "window=1970-01-01 00%3A00%3A00"
Say = Callable[[str], None]


def publish(
    spark: SparkSession,
    out: Path,
    state: PipelineState,
    windows: list[int],
    asked: Asked,
    say: Say,
    keep: int | None = None,
) -> tuple[PipelineState, Snapshot]:
    """Compute the tables of these windows, make the snapshot current, save the state, and return both.

    Windows older than `keep` microseconds are removed, as soon as no snapshot shows them any more.
    """
    state = reserve(out, state)
    number = state.commit
    records = _of_windows(spark, out, state, windows)
    interests = partial(_interests, spark, out, state)
    pieces = _pieces(out, state, windows)
    with Kept(asked) as kept, writing(out / VERSIONS / str(number), say) as kept.ready:
        compute(kept, records, interests, Brokers.of(state.brokers), windows, pieces)
    after = _after(out, state, number, windows)
    hours = keep_hours(spark, out, after, windows) if "traffic_classes" in asked.tables else []
    after = forget_old_windows(after, keep)
    after = merge_old_interest(spark, out, after, number)
    written = _assemble(spark, out, after, _manifest(after, kept))
    sync([out / VERSIONS / str(number), out / RECORDS / str(number), *hours, *written])
    save(out, after)
    make_current(out, number)
    tidy(out, after)
    return after, read_snapshot(out)


def _interests(spark: SparkSession, out: Path, state: PipelineState) -> DataFrame:
    places = (out / RECORDS / str(commit) / f"part={INTEREST}" for commit in sorted(state.interests))
    few = stored_interests(spark, pieces_in(places))
    return read_records(spark, out, state.interests, INTEREST) if few is None else few


def _pieces(out: Path, state: PipelineState, windows: list[int]) -> tuple[Piece, ...]:
    """Where the records of the windows are stored, if they are many."""
    if sum(state.windows[str(start)].records for start in windows) < MANY:
        return ()
    return pieces_in(
        out / RECORDS / str(commit) / f"part={TRAFFIC}" for commit in sorted(_commits(state, windows))
    )


def _commits(state: PipelineState, windows: list[int]) -> set[int]:
    return {commit for start in windows for commit in state.windows[str(start)].commits}


def _of_windows(spark: SparkSession, out: Path, state: PipelineState, windows: list[int]) -> DataFrame:
    wanted = {str(start) for start in windows}
    commits = _commits(state, windows)
    records = read_records(spark, out, commits, TRAFFIC)
    others = (key for key, window in state.windows.items() if key not in wanted)
    if any(commits & set(state.windows[key].commits) for key in others):
        starts = [f.timestamp_micros(f.lit(start)) for start in windows]
        records = records.where(f.col("window").isin(*starts))
    return records


@contextmanager
def writing(folder: Path, say: Say, by: Sequence[str] = ("window",)) -> Iterator[Ready]:
    """Writes the tables that it is given, a few at the same time, because planning one and computing another
    use different parts of the machine. The block ends when all are written."""

    def write(name: str, table: DataFrame) -> None:
        table.write.mode("overwrite").partitionBy(*by).parquet(str(folder / name))
        say(name)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun: list[Future[None]] = []
        yield lambda name, table: begun.append(pool.submit(write, name, table))
        for each in begun:
            each.result()


def _after(out: Path, state: PipelineState, number: int, windows: list[int]) -> PipelineState:
    replaced = {folder_name(start) for start in windows}
    tables = {}
    for name in TABLES:
        folder = out / VERSIONS / str(number) / name
        written = {each.name for each in folder.glob("window=*")}
        # Interest is always computed for all windows: what ends now may have begun in any of them.
        everything = name == "interest"
        if not everything and not written <= replaced:
            raise RegraftError(f"{name}: has windows that were not to be computed: {min(written - replaced)}")
        left = (
            {}
            if everything
            else {key: version for key, version in state.tables.get(name, {}).items() if key not in replaced}
        )
        tables[name] = left | dict.fromkeys(sorted(written), number)
    clean = {
        start: msgspec.structs.replace(window, dirty=window.dirty and int(start) not in windows)
        for start, window in state.windows.items()
    }
    return msgspec.structs.replace(state, commit=number, snapshot=number, tables=tables, windows=clean)


def _assemble(spark: SparkSession, out: Path, state: PipelineState, manifest: dict[str, Any]) -> list[Path]:
    """Write the folder of links; returns the folders that were written."""
    folder = out / SNAPSHOTS / f"{state.commit}.new"
    shutil.rmtree(folder, ignore_errors=True)
    for name, versions in state.tables.items():
        (folder / name).mkdir(parents=True)
        for window, version in versions.items():
            (folder / name / window).symlink_to(f"../../../{VERSIONS}/{version}/{name}/{window}")
        if not versions:
            _write_empty(TABLES[name], "window", folder / name / _NO_WINDOW)
    (folder / "rejected").mkdir()
    written = []
    for commit in state.rejections:
        place = out / RECORDS / str(commit)
        if not (place / "rejected").is_dir():
            read_rejected(spark, place).write.mode("overwrite").parquet(str(place / "rejected"))
            written.append(place / "rejected")
        (folder / "rejected" / f"run={commit}").symlink_to(f"../../../{RECORDS}/{commit}/rejected")
    if not state.rejections:
        _write_empty(REJECTED, "run", folder / "rejected" / "run=0")
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    target = folder.with_name(str(state.commit))
    shutil.rmtree(target, ignore_errors=True)
    folder.rename(target)
    return [*written, target]


def _write_empty(schema: StructType, partition: str, folder: Path) -> None:
    """A table without rows, so that readers find its columns."""
    fields: Iterable[StructField] = (field for field in schema.fields if field.name != partition)
    arrow = to_arrow_schema(StructType(list(fields)), timezone="UTC")
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist([], arrow), folder / "empty.parquet")


def make_current(out: Path, number: int) -> None:
    """Called again at the next start, because a run may be killed between its commit and this."""
    if (out / CURRENT).is_symlink() and os.readlink(out / CURRENT) == f"{SNAPSHOTS}/{number}":
        return
    new = out / f".{CURRENT}.new"
    new.unlink(missing_ok=True)
    new.symlink_to(f"{SNAPSHOTS}/{number}")
    os.replace(new, out / CURRENT)
    for name in (*ALL_TABLES, MANIFEST):
        if not (out / name).is_symlink():
            (out / name).symlink_to(f"{CURRENT}/{name}")


def _manifest(state: PipelineState, kept: Kept) -> dict[str, Any]:
    last = max(state.brokers.values(), default=None)
    merged = kept.merging
    return {
        "schema": SNAPSHOT_VERSION,
        "record_schema": RECORD_VERSION,
        "snapshot": state.snapshot,
        "window_seconds": state.width / 1e6,
        "windows": [
            {"start": shown(int(start)), "end": shown(int(start) + state.width), "records": window.records}
            for start, window in sorted(state.windows.items(), key=lambda item: int(item[0]))
        ],
        "counts": Counts(**state.counts).as_json(),
        "rejected": state.reasons,
        "input": {
            "first": shown(state.first) if state.first is not None else None,
            "last": shown(last) if last is not None else None,
            "files": len(state.spools) + len(state.parquet),
            "bytes": sum(state.spools.values()) + sum(state.parquet.values()),
        },
        "brokers": sorted(state.brokers),
        "tables": {name: f"{name}/" for name in ALL_TABLES},
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
