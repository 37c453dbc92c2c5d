"""The pipeline as a stream: live spools in, a snapshot whenever a window closes.

Spark's checkpoint says how far the spools were read, the state beside the tables which micro-batch was taken
in last. So a batch that Spark repeats after a crash is recognised and skipped, and every record counts once.
A window closes when a record from `GRACE` after its end has been seen; a later record opens it again.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from regraft.measure.carried import carried, put_package
from regraft.measure.faults import one_line
from regraft.measure.ingest import ingest
from regraft.measure.inputs import spool_files, unread
from regraft.measure.publish import Say, publish
from regraft.measure.run import Job, RunResult, exclusive, reading, take_new
from regraft.measure.spool_source import NAME, Spools
from regraft.measure.state import CHECKPOINT, PipelineState, load, save
from regraft.model.files import shown
from regraft.model.snapshot import CURRENT, Counts, read_snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

GRACE = 2_000_000
"""In microseconds. Brokers bring their spools to the disk every second."""
MOST_BYTES = 256 << 20
"""The most bytes of one micro-batch, if there is a backlog."""
_POLL_SECONDS = 0.25
_FINISH_SECONDS = 120.0
_SLOW_WORKER = "waiting for the Python worker to connect back"
_MOST_SLOW_WORKERS = 30
"""How many queries in a row may end for that reason before it is a fault."""
_SLOW_SECONDS = 10.0
"""A pause, because the worker that was late is still loading modules: together with the next one, both would
be too slow."""


def follow(
    job: Job,
    spark: "SparkSession",
    say: Say = lambda stage: None,
    *,
    ended: Callable[[], bool] = lambda: False,
    idle: float | None = None,
    every: float = 1.0,
) -> RunResult:
    """Run until `ended` is true, or nothing new has come for `idle` seconds; then publish all windows."""
    with exclusive(job) as before, one_line(shown(job.source)):
        job = job.located
        take_new(job, before, spark, say, spools=False)
        _stream(job, spark, every, lambda query: _watch(query, job, say, ended, idle))
        with _busy(job.out):
            state = load(job.out, job.width)
            if state.dirty() or not (job.out / CURRENT).exists():
                state, _ = publish(spark, job.out, state, state.dirty(), job.asked, say, job.keep)
        return RunResult(read_snapshot(job.out), _minus(state.counts, before.counts))


def _stream(job: Job, spark: "SparkSession", every: float, watch: Callable[["StreamingQuery"], None]) -> None:
    """Run the query for as long as `watch` lasts.

    Spark gives a Python process of a stream ten seconds to start, which no setting changes; on a busy machine
    that is too short. Nothing is lost with such a query, so it is started again after a pause.
    """
    slow, seen = 0, -1
    while True:
        state = load(job.out, job.width)
        slow, seen = (slow if state.commit == seen else 0), state.commit
        try:
            query = _start(job, state, spark, every)
            try:
                watch(query)
            finally:
                _stop(query)
            if fault := query.exception():
                raise fault
            return
        except Exception as fault:
            slow += 1
            if _SLOW_WORKER not in str(fault) or slow == _MOST_SLOW_WORKERS:
                raise
            time.sleep(_SLOW_SECONDS)


def _start(job: Job, state: PipelineState, spark: "SparkSession", every: float) -> "StreamingQuery":
    checkpoint = job.out / CHECKPOINT / str(state.stream)
    spark.dataSource.register(Spools)
    options = reading(job, spark)
    take: Callable[[DataFrame, int], None] = partial(take_in, job=job, stream=state.stream)
    if not hasattr(spark, "sparkContext"):  # through Connect, processes of the server use both
        options["package"] = put_package(job.out)
        take = carried(take, options["package"])
    files = (
        spark.readStream.format(NAME)
        .options(**options)
        .option("start", json.dumps(state.spools))
        .option("most_bytes", str(MOST_BYTES))
        .load()
    )
    return (
        files.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(checkpoint))
        .trigger(processingTime=f"{every} seconds")
        .start()
    )


def take_in(files: "DataFrame", batch: int, *, job: Job, stream: int) -> None:
    """Take in the records of one micro-batch, and publish the windows that have closed."""
    with _busy(job.out):
        state = load(job.out, job.width)
        if state.stream != stream:
            return
        if batch > state.batch:
            state, _ = ingest([files], job.out, state, job.lateness)
            read = _read_until(job.out / CHECKPOINT / str(stream), batch)
            state = msgspec.structs.replace(state, batch=batch, spools=read)
            save(job.out, state)
        if closed := closed_windows(state):
            publish(files.sparkSession, job.out, state, closed, job.asked, lambda stage: None, job.keep)


def closed_windows(state: PipelineState) -> list[int]:
    """Windows that are over and whose tables are out of date."""
    now = max(state.brokers.values(), default=0)
    return [start for start in state.dirty() if start + state.width + GRACE <= now]


def _read_until(checkpoint: Path, batch: int) -> dict[str, int]:
    """How far a micro-batch reads the spools, from the offset that Spark writes before it."""
    text = (checkpoint / "offsets" / str(batch)).read_text(encoding="utf-8")
    read: dict[str, int] = json.loads(text.splitlines()[-1])["read"]
    return read


def _watch(
    query: "StreamingQuery", job: Job, say: Say, ended: Callable[[], bool], idle: float | None
) -> None:
    quiet_since, seen = time.monotonic(), -1
    while query.isActive and not ended():
        time.sleep(_POLL_SECONDS)
        state = load(job.out, job.width)
        if state.commit != seen or unread(spool_files(job.source), state.spools):
            quiet_since = time.monotonic()
        if state.commit != seen:
            seen = state.commit
            say(f"{state.counts.get('kept', 0)} records, {len(state.windows)} windows")
        if idle is not None and time.monotonic() - quiet_since >= idle:
            return


def _stop(query: "StreamingQuery") -> None:
    """Stop the query after the micro-batch that is under way."""
    until = time.monotonic() + _FINISH_SECONDS
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < until:
        time.sleep(0.05)
    query.stop()


@contextmanager
def _busy(out: Path) -> Iterator[None]:
    """A lock for one commit at a time, because through Connect another process takes in micro-batches."""
    lock = os.open(out / ".busy", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _minus(now: dict[str, int], before: dict[str, int]) -> Counts:
    names: dict[str, Any] = Counts().as_json()
    return Counts(**{name: now.get(name, 0) - before.get(name, 0) for name in names})
