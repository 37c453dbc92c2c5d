"""The pipeline as a stream: new segments in, a commit whenever a window closes.

Spark asks the store what is new (`NewSegments`) and hands the names to each micro-batch; records are read
once, when their windows are computed. How far the store was read is committed together with the tables, and
a stream begins there. So Spark's own checkpoint is only of use while a query runs, and goes with it.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes

from regraft.measure.carried import carried
from regraft.measure.faults import one_line
from regraft.measure.ledger import Turn, read_state, resumed, turn
from regraft.measure.publish import Say
from regraft.measure.run import Job, RunResult, difference, measure_files
from regraft.measure.segments import (
    NewFile,
    Offset,
    at_most,
    check_source,
    find_new,
    open_source,
    segments_after,
)
from regraft.model.snapshot import read_snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

NAME = "regraft_segments"
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
_SCHEMA = pa.schema([("name", pa.string()), ("size", pa.int64())])


def follow(
    job: Job,
    spark: "SparkSession",
    say: Say = lambda stage: None,
    *,
    ended: Callable[[], bool] = lambda: False,
    idle: float | None = None,
    every: float = 1.0,
) -> RunResult:
    """Run until `ended` is true, or nothing new has come for `idle` seconds; then compute all windows."""
    check_source(job.source)
    job = job.located
    with turn(str(job.out), job.width) as begun, one_line(str(job.source)):
        source, epoch = open_source(job.source), begun.lake.epoch
        loose = find_new(source, begun.state.offset).loose
        if loose or not begun.state.commit:
            measure_files(job, spark, source, begun, loose, say, only_closed=True)
        _stream(job, spark, epoch, every, lambda query: _watch(query, job, say, ended, idle))
        now = measure_files(job, spark, source, _again(job, epoch), [], say, only_closed=False)
        return RunResult(read_snapshot(job.out), difference(now.state.counts, begun.state.counts))


def take_batch(files: "DataFrame", batch: int, *, job: Job, epoch: int) -> None:
    """Measure the segments of one micro-batch, and commit the windows that have closed."""
    found = [NewFile(*row) for row in files.collect()]
    now = _again(job, epoch)
    done = now.state.offset.last
    # A query that is started again after a fault may hand out what was committed already.
    new = [file for file in found if file.name.partition("/")[2] > done.get(file.name.partition("/")[0], "")]
    source = open_source(job.source)
    measure_files(job, files.sparkSession, source, now, new, lambda stage: None, only_closed=True)


def _again(job: Job, epoch: int) -> Turn:
    return resumed(str(job.out), job.width, epoch)


def _stream(
    job: Job, spark: "SparkSession", epoch: int, every: float, watch: Callable[["StreamingQuery"], None]
) -> None:
    """Run the query for as long as `watch` lasts.

    Spark gives a Python process of a stream ten seconds to start, which no setting changes; on a busy machine
    that is too short. Nothing is lost with such a query, so it is started again after a pause.
    """
    slow, seen = 0, -1
    while True:
        state = read_state(job.out, job.width)
        slow, seen = (slow if state.commit == seen else 0), state.commit
        try:
            query = _start(job, state.offset, spark, epoch, every)
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


def _start(job: Job, offset: Offset, spark: "SparkSession", epoch: int, every: float) -> "StreamingQuery":
    spark.dataSource.register(NewSegments)
    options = {"source": str(job.source), "start": msgspec.json.encode(offset.last).decode()}
    options["most_bytes"] = str(MOST_BYTES)
    take: Callable[[DataFrame, int], None] = partial(take_batch, job=job, epoch=epoch)
    through_connect = not hasattr(spark, "sparkContext")
    if through_connect or not str(spark.sparkContext.master).startswith("local"):
        # A process of the driver or the server asks for offsets, in the Python of the workers.
        options["carried"] = "true"
    if through_connect:  # for each micro-batch, another process of the server is called
        take = carried(take)
    files = spark.readStream.format(NAME).options(**options).load()
    return files.writeStream.foreachBatch(take).trigger(processingTime=f"{every} seconds").start()


def _watch(
    query: "StreamingQuery", job: Job, say: Say, ended: Callable[[], bool], idle: float | None
) -> None:
    quiet_since, seen, source = time.monotonic(), -1, open_source(job.source)
    while query.isActive and not ended():
        time.sleep(_POLL_SECONDS)
        state = read_state(job.out, job.width)
        if state.commit != seen or find_new(source, state.offset).segments:
            quiet_since = time.monotonic()
        if state.commit != seen:
            seen = state.commit
            say(f"{state.counts.get('kept', 0)} records, {len(state.brokers)} brokers")
        if idle is not None and time.monotonic() - quiet_since >= idle:
            return


def _stop(query: "StreamingQuery") -> None:
    """Stop the query after the micro-batch that is under way."""
    until = time.monotonic() + _FINISH_SECONDS
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < until:
        time.sleep(0.05)
    query.stop()


class NewSegments(DataSource):
    """The names of segments as a stream. Options: `source`, the store; `start`, the last segment of each
    broker that is known (JSON); `most_bytes` of a micro-batch; `carried`, if the process that asks for
    offsets does not find this package. An offset is the last segment of each broker."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """For the process that asks for the offsets of a stream (`carried`)."""
        if "carried" not in self.options:
            return super().__reduce_ex__(protocol)
        return carried(partial(type(self), dict(self.options))), ()

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return "name string, size long"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        start = msgspec.json.decode(self.options["start"], type=dict[str, str])
        return _Stream(self.options["source"], start, int(self.options["most_bytes"]))


class _Names(InputPartition):
    def __init__(self, files: list[tuple[str, int]]) -> None:
        super().__init__(files)


class _Stream(DataSourceStreamReader):
    def __init__(self, place: str, start: Mapping[str, str], most_bytes: int) -> None:
        self._source, self._start, self._most_bytes = open_source(place), dict(start), most_bytes

    def initialOffset(self) -> dict[str, Any]:
        return {"last": self._start}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxBytes(self._most_bytes)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        offset = Offset(start["last"])
        most = None if isinstance(limit, ReadAllAvailable) else self._most_bytes
        return {"last": dict(offset.after(at_most(find_new(self._source, offset).segments, most)).last)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        before = start["last"]
        files = [
            (file.name, file.size)
            for folder, until in end["last"].items()
            for file in segments_after(self._source.store, folder, before.get(folder, ""), until)
        ]
        return [_Names(files)] if files else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        names, sizes = zip(*partition.value, strict=True)
        yield pa.RecordBatch.from_arrays([pa.array(names), pa.array(sizes, pa.int64())], schema=_SCHEMA)
