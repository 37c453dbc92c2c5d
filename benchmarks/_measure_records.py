"""Generated telemetry as segments of brokers: `python -m benchmarks._measure_records FOLDER ROWS`."""

import json
import sys
import time
from collections.abc import Iterator
from functools import partial

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import functions as f

from regraft.lab.workload import SHAPES, tree
from regraft.measure.generate.telemetry import TelemetrySettings, telemetry
from regraft.measure.session import start
from regraft.model.store import Store, open_store
from regraft.segments.names import SegmentName, folder_of, hour_of
from regraft.segments.schema import RECORDS
from regraft.segments.writing import SUMMARY, Summary

ROWS_PER_TASK = 2_500_000
ROWS_PER_SEGMENT = 100_000
"""A broker closes a segment that has so many records."""
RATE = 500.0
"""A hundred times IPITT's, so that a window holds as many records as a busy network's."""
LIFE = 1_767_000_000_000_000


def main() -> None:
    place, count = sys.argv[1], int(sys.argv[2])
    session = start("local[2]", memory="4g")
    began = time.perf_counter()
    tasks = max(2, count // ROWS_PER_TASK)
    records = telemetry(session, tree(60, SHAPES[0]), TelemetrySettings(count, rate=RATE, partitions=tasks))
    ordered = records.repartition(tasks, "broker").sortWithinPartitions("broker", "at")
    rows = ordered.mapInArrow(partial(_written, place=place), "rows long").agg(f.sum("rows")).collect()[0][0]
    print(json.dumps({"rows": rows, "seconds": time.perf_counter() - began}))
    session.stop()


def _written(batches: Iterator[pa.RecordBatch], *, place: str) -> Iterator[pa.RecordBatch]:
    """In a worker: the records come broker by broker, in the order of time."""
    store, waiting, number = open_store(place), RECORDS.empty_table(), 0
    for batch in batches:
        rows = pa.Table.from_batches([batch]).cast(RECORDS)
        for broker in pc.unique(rows["broker"]).to_pylist():
            own = rows.filter(pc.equal(rows["broker"], broker))
            if waiting.num_rows and waiting["broker"][0].as_py() != broker:
                _put(store, waiting, number)
                waiting, number = RECORDS.empty_table(), 0
            waiting = pa.concat_tables([waiting, own])
            if waiting.num_rows >= ROWS_PER_SEGMENT and (until := _before_last_moment(waiting)):
                _put(store, waiting.slice(0, until), number)
                waiting, number = waiting.slice(until), number + 1
        yield pa.record_batch({"rows": pa.array([rows.num_rows], pa.int64())})
    if waiting.num_rows:
        _put(store, waiting, number)


def _before_last_moment(rows: pa.Table) -> int:
    """How many rows are older than the last one. Brokers give no two records the same time, so that segments
    that follow each other have none in common; records made here may have."""
    return int(pc.sum(pc.less(rows["at"], rows["at"][-1])).as_py())


def _put(store: Store, rows: pa.Table, number: int) -> None:
    """A segment as brokers write it: without columns that have no value, with a summary."""
    broker, kinds = rows["broker"][0].as_py(), rows["kind"]
    at = rows["at"].cast(pa.int64())
    published = pc.subtract(at, pc.fill_null(rows["latency"], 0))
    of_kind = {kind: pc.sum(pc.equal(kinds, kind)).as_py() for kind in ("publication", "interest")}
    summary = Summary(
        broker,
        rows.num_rows,
        pc.min(at).as_py(),
        pc.max(at).as_py(),
        pc.min(published).as_py(),
        of_kind["publication"],
        of_kind["interest"],
    )
    used = [name for name in rows.column_names if rows[name].null_count < rows.num_rows]
    alike = [name for name in used if name not in ("at", "seq")]
    table, sink = rows.select(used), pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink, table.schema, compression="zstd", use_dictionary=alike, store_schema=False
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({SUMMARY: msgspec.json.encode(summary)})
    name = SegmentName(folder_of(broker), hour_of(summary.last), LIFE, number)
    store.put(name.path, bytes(sink.getvalue()))


if __name__ == "__main__":
    main()
