"""Looks at new files: whose records they hold, from when to when, or why they cannot be read.

A segment says so in its footer, and the statistics of its columns prove it (`regraft.segments.reading`); such
a file is `plain`, and no record of it is looked at before its windows are computed. Any other file is checked
record by record by Spark (`taking_in`). A file that cannot be read is rejected as a whole.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from regraft.measure.segments import NewFile
from regraft.model import BadInput
from regraft.model.store import Store, open_store
from regraft.segments.reading import is_ours, summary_of
from regraft.segments.schema import RECORDS
from regraft.segments.writing import Summary

FEW = 1024
"""Up to this many files are looked at by the driver: starting workers would take longer."""
AT_ONCE = 8
_COLUMNS = "name string, reason string, summary string, size long, rows long, ours boolean"
_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("name", "reason", "summary")]
    + [("size", pa.int64()), ("rows", pa.int64()), ("ours", pa.bool_())]
)


class Looked(NamedTuple):
    """`reason`: why the file cannot be read. `ours`: all its columns are those of records, of their types."""

    name: str
    size: int
    rows: int = 0
    reason: str | None = None
    ours: bool = True
    summary: Summary | None = None


def look_at(spark: SparkSession, store: Store, files: Sequence[NewFile]) -> list[Looked]:
    """What is in these files, in the same order."""
    if len(files) <= FEW:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(partial(_look, store), files))
    names = spark.createDataFrame([tuple(file) for file in files], "name string, size long")
    parts = names.repartition(-(-len(files) // FEW))
    found = parts.mapInArrow(partial(_look_in_worker, place=store.place), _COLUMNS).collect()
    decode = msgspec.json.Decoder(Summary).decode
    looked = {
        row.name: Looked(
            row.name, row.size, row.rows, row.reason, row.ours, decode(row.summary) if row.summary else None
        )
        for row in found
    }
    return [looked[file.name] for file in files]


def _look_in_worker(batches: Iterable[pa.RecordBatch], *, place: str) -> Iterator[pa.RecordBatch]:
    store = open_store(place)
    for batch in batches:
        rows = []
        for row in batch.to_pylist():
            found = _look(store, NewFile(row["name"], row["size"]))
            text = msgspec.json.encode(found.summary).decode() if found.summary else None
            rows.append(found._asdict() | {"summary": text})
        yield pa.RecordBatch.from_pylist(rows, _SCHEMA)


def _look(store: Store, file: NewFile) -> Looked:
    try:
        with store.open(file.name) as content:
            opened = pq.ParquetFile(content)
            if not set(opened.schema_arrow.names) & set(RECORDS.names):
                return Looked(*file, reason="no column of a telemetry record")
            ours = is_ours(opened.schema_arrow)
            return Looked(*file, opened.metadata.num_rows, None, ours, summary_of(opened))
    except (pa.ArrowException, OSError, ValueError) as fault:  # ValueError: text that is no UTF-8, e.g.
        if isinstance(fault, PermissionError):
            raise BadInput(store.at(file.name), f"cannot be read: {fault.strerror}") from None
        reason = str(fault).partition("\n")[0]
        return Looked(*file, reason=f"not Parquet, or damaged: {reason}"[:300])
