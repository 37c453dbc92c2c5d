"""One run of the pipeline over what is new in a source: read, check, store, publish."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from regraft.measure.checks import checked_rows
from regraft.measure.faults import one_line
from regraft.measure.ingest import ingest
from regraft.measure.inputs import at_most, check_source, parquet_files, spool_files, unread
from regraft.measure.publish import Say, make_current, publish
from regraft.measure.retention import without_removed
from regraft.measure.schemas import RECORDS
from regraft.measure.session import tasks_at_once
from regraft.measure.spool_source import NAME, Spools
from regraft.measure.state import INCOMING, PipelineState, load, prepare, save, tidy
from regraft.measure.tables import ALL, Asked
from regraft.model import BadInput, Topology
from regraft.model.files import shown
from regraft.model.snapshot import CURRENT, Counts, Snapshot, read_snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LATENESS = 600_000_000


@dataclass(frozen=True)
class Job:
    """What is measured, and where the tables go. Lengths in microseconds."""

    source: Path
    out: Path
    width: int
    lateness: int = LATENESS
    top: int | None = None
    topology: Topology | None = None
    tables: frozenset[str] = ALL
    keep: int | None = None
    """Windows that end this long before the newest record are removed; None: none are."""
    most_bytes: int | None = None
    """How many bytes of spools one commit takes in, so that an interrupted run loses little; None: all."""

    @property
    def located(self) -> "Job":
        """With whole paths, because the working folder of a Connect server is another one."""
        return replace(self, source=self.source.absolute(), out=self.out.absolute())

    @property
    def asked(self) -> Asked:
        return Asked(self.width, self.top, self.topology, self.tables)


@dataclass(frozen=True)
class RunResult:
    """The snapshot after a run, and what became of the records that it read."""

    snapshot: Snapshot
    counts: Counts


def run(job: Job, spark: "SparkSession", say: Say = lambda stage: None) -> RunResult:
    """Measure what is new in the source."""
    with exclusive(job) as before, one_line(shown(job.source)):
        job = job.located
        state, counts, more = before, Counts(), True
        while more:
            more = job.most_bytes is not None and _waiting(job, state) > job.most_bytes
            state, new = take_new(job, state, spark, say, spools=True)
            counts = counts.plus(new)
        if state.dirty() or not (job.out / CURRENT).exists():
            publish(spark, job.out, state, state.dirty(), job.asked, say, job.keep)
        return RunResult(read_snapshot(job.out), counts)


def _waiting(job: Job, state: PipelineState) -> int:
    """How many bytes of the spools were not read yet."""
    return sum(span.end - span.start for span in unread(spool_files(job.source), state.spools))


def take_new(
    job: Job, state: PipelineState, spark: "SparkSession", say: Say, *, spools: bool
) -> tuple[PipelineState, Counts]:
    """Take in what is new (from spools only with `spools`), and save the new state."""
    new = _new_records(job, state, spark, spools)
    if new is None:
        return state, Counts()
    say("records")
    tables, read = new
    after, counts = ingest(tables, job.out, state, job.lateness)
    after = msgspec.structs.replace(after, spools=read.spools, parquet=read.parquet)
    if read.spools != state.spools:  # a stream that ran before does not know what was read here
        after = msgspec.structs.replace(after, stream=state.stream + 1, batch=-1)
    save(job.out, after)
    return after, counts


@contextmanager
def exclusive(job: Job) -> Iterator[PipelineState]:
    """The state of the output folder, locked so that no other run writes to it."""
    check_source(job.source)
    prepare(job.out)
    try:
        lock = os.open(job.out / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as fault:
        raise BadInput(shown(job.out), f"cannot be written: {fault.strerror}") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(shown(job.out), "another run is writing there") from None
        state = load(job.out, job.width)
        if state.snapshot:
            make_current(job.out, state.snapshot)
        tidy(job.out, state)
        yield state
    finally:
        os.close(lock)


class _Read(msgspec.Struct):
    spools: dict[str, int]
    parquet: dict[str, int]


def _new_records(
    job: Job, state: PipelineState, spark: "SparkSession", with_spools: bool
) -> "tuple[list[DataFrame], _Read] | None":
    """Records that were not read yet, and how far the files are read once these are taken in."""
    now = time.time_ns() // 1000
    spans = unread(spool_files(job.source), state.spools) if with_spools else []
    if job.most_bytes is not None:
        spans = at_most(spans, job.most_bytes, job.source)
    tables = [each for each in parquet_files(job.source) if state.parquet.get(each.name) != each.size]
    found = []
    if spans:
        spark.dataSource.register(Spools)
        reader = spark.read.format(NAME).options(**reading(job, spark))
        found.append(reader.option("spans", json.dumps(spans)).load())
    if tables:
        folder = job.source if job.source.is_dir() else job.source.parent
        found.append(_checked_parquet(spark, [str(folder / each.name) for each in tables], now))
    if not found:
        return None
    known = state.spools if job.keep is None else without_removed(state.spools, job.source)
    spools = known | {span.name: span.end for span in spans}
    return found, _Read(spools, state.parquet | dict(tables))


def reading(job: Job, spark: "SparkSession") -> dict[str, str]:
    """The options of the data source: how workers read the spools."""
    options = {"source": str(job.source), "into": str(job.out / INCOMING), "width": str(job.width)}
    return options | {"tasks": str(tasks_at_once(spark))}


def _checked_parquet(spark: "SparkSession", paths: list[str], now: int) -> "DataFrame":
    """Files may be of several versions, so their columns are merged."""
    rows = spark.read.option("mergeSchema", "true").parquet(*paths)
    if not set(rows.columns) & set(RECORDS.fieldNames()):
        raise BadInput(shown(Path(paths[0])), "has no column of a telemetry record")
    return checked_rows(rows, now)
