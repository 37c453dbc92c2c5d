"""Workers store the records that they read from the spools themselves, as Parquet.

Through Spark, a row takes seven times as long. Each file has a unique name, in a folder that readers ignore.
The driver moves only the files that tasks report to it into a commit, so files of a task that failed, or ran
twice, never count.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from regraft.measure.schemas import CLEAN, INTEREST, LINES, TRAFFIC, UNREAD, WHOLE

LEFT = StructType([*LINES.fields, StructField("read_at", WHOLE)])
"""Lines that are not plain, and when they were read (microseconds)."""
ROWS = 1 << 19
"""About how many rows a row group has."""
_SCHEMAS = {
    TRAFFIC: to_arrow_schema(CLEAN, timezone="UTC"),
    INTEREST: to_arrow_schema(CLEAN, timezone="UTC"),
    UNREAD: to_arrow_schema(LEFT, timezone="UTC"),
}
_UNLIKE = ("at", "seq", "line", "text", "read_at")
"""Columns with almost only different values, for which a dictionary would not help."""


class File(NamedTuple):
    part: str
    file: str


def store(batches: Iterable[pa.RecordBatch], into: Path, width: int) -> list[File]:
    """Store records and lines, as `spool_source` reads them, in one file for each part. `width` of a window
    in microseconds."""
    into.mkdir(parents=True, exist_ok=True)
    writers: dict[str, _Writer] = {}
    for batch in batches:
        for part, rows in _parts(batch, width):
            if part not in writers:
                writers[part] = _Writer(into / f"{uuid4().hex}.parquet", _SCHEMAS[part])
            writers[part].add(rows)
    for writer in writers.values():
        writer.close()
    return [File(part, writer.path.name) for part, writer in writers.items()]


def _parts(batch: pa.RecordBatch, width: int) -> Iterator[tuple[str, pa.RecordBatch]]:
    kinds = batch.column("kind")
    if kinds.null_count:  # either all rows of a batch are records, or none is
        yield UNREAD, batch.select(_SCHEMAS[UNREAD].names)
        return
    records = pa.RecordBatch.from_arrays(
        [_windows(batch, width), *batch.select(_SCHEMAS[TRAFFIC].names[1:]).columns], schema=_SCHEMAS[TRAFFIC]
    )
    asked = pc.equal(kinds, "interest")
    for part, rows in ((INTEREST, records.filter(asked)), (TRAFFIC, records.filter(pc.invert(asked)))):
        if rows.num_rows:
            yield part, rows


def _windows(records: pa.RecordBatch, width: int) -> pa.Array:
    """As `windows.published` and `windows.window_of`."""
    latency = pc.if_else(pc.equal(records.column("kind"), "delivery"), records.column("latency"), 0)
    micros = records.column("at").cast(pa.int64()).to_numpy() - latency.to_numpy()
    return pa.array(micros - np.mod(micros, width)).cast(_SCHEMAS[TRAFFIC].field("window").type)


class _Writer:
    """Combines small batches into large row groups."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self._waiting: list[pa.RecordBatch] = []
        alike = [name for name in schema.names if name not in _UNLIKE]
        self._file = pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=alike)

    def add(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        if sum(each.num_rows for each in self._waiting) >= ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._waiting:
            self._file.write_table(pa.Table.from_batches(self._waiting))
            self._waiting = []
