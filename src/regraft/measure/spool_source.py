"""Spools as a Spark data source, for batches and for streams: lines, or their records.

A row is a line with its file, its number and its text; or, if the line is plain (`plain_frequent`,
`plain_rare`), its record. With the option `into`, workers store what they read themselves (`spool_store`),
and the rows name the stored files. An offset says for each file how many bytes were read; files that no
longer exist are dropped from it. Spark asks the driver for offsets, and the workers for the lines between
two offsets. Workers must see the same folder.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, SupportsIndex

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes
from pyspark.sql.types import StructField, StructType

from regraft.measure.carried import carried
from regraft.measure.inputs import Span, at_most, open_spool, spool_files, unread
from regraft.measure.plain_frequent import frequent
from regraft.measure.plain_rare import rare
from regraft.measure.schemas import LINES, RECORDS, TEXT, WHOLE, struct
from regraft.measure.spool_store import store

NAME = "regraft_spool"
PIECE, LEAST_PIECE = 32 << 20, 1 << 20
"""About how many bytes one task reads. If there is little to read, as many tasks read it as run at once."""
BLOCK = 4 << 20
_LINES = pa.schema([("source", pa.string()), ("line", pa.int64()), ("text", pa.string())])
SPOOLED = StructType([*LINES.fields, StructField("read_at", WHOLE), *RECORDS.fields])
"""A line and when it was read (microseconds), or its record; the columns of the other one are null."""
_counted: dict[str, tuple[int, int]] = {}
"""File → a place in it, and how many lines are before that."""
_ARROW = to_arrow_schema(SPOOLED, timezone="UTC")
STORED = struct(part=TEXT, file=TEXT)
"""A file that was stored, and the part that it belongs to (`spool_store`)."""
_FILES = to_arrow_schema(STORED, timezone="UTC")

Reading = Callable[[Sequence[Span]], Iterator[pa.RecordBatch]]


class Spools(DataSource):
    """Options: `source`, the folder; `spans` (batch) or `start` and `most_bytes` (stream) as JSON; `tasks`,
    how many run at once, by default one; `into`, a folder, and `width`, the microseconds of a window: to
    store what is read; `package`: where processes of a Connect server find this package."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """For the process that asks for the offsets of a stream through Connect (`carried`)."""
        package = self.options.get("package")
        if package is None:
            return super().__reduce_ex__(protocol)
        return carried(partial(type(self), dict(self.options)), package), ()

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return STORED if "into" in self.options else SPOOLED

    def reader(self, schema: StructType) -> DataSourceReader:
        spans = [Span(*span) for span in json.loads(self.options["spans"])]
        return _Batch(self._reading(), spans, self._tasks())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        most = self.options.get("most_bytes")
        start = json.loads(self.options.get("start", "{}"))
        source = Path(self.options["source"])
        return _Stream(source, self._reading(), start, int(most) if most else None, self._tasks())

    def _tasks(self) -> int:
        return int(self.options.get("tasks", "1"))

    def _reading(self) -> Reading:
        read = partial(read_spools, Path(self.options["source"]))
        into = self.options.get("into")
        return partial(_stored, read, Path(into), int(self.options["width"])) if into else read


class Pieces(InputPartition):
    def __init__(self, spans: list[Span]) -> None:
        super().__init__(spans)


class _Batch(DataSourceReader):
    def __init__(self, reading: Reading, spans: list[Span], tasks: int) -> None:
        self._reading, self._spans, self._tasks = reading, spans, tasks

    def partitions(self) -> Sequence[InputPartition]:
        return pieces(self._spans, size_of_pieces(self._spans, self._tasks))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reading(partition.value)


class _Stream(DataSourceStreamReader):
    def __init__(
        self, source: Path, reading: Reading, start: Mapping[str, int], most_bytes: int | None, tasks: int
    ) -> None:
        self._source, self._reading, self._tasks = source, reading, tasks
        self._start, self._most_bytes = dict(start), most_bytes

    def initialOffset(self) -> dict[str, Any]:
        return {"read": self._start}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxBytes(self._most_bytes) if self._most_bytes else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        files = spool_files(self._source)
        before = start["read"]
        spans = unread(files, before)
        if not spans:
            return start
        if isinstance(limit, ReadMaxBytes):
            spans = at_most(spans, limit.max_bytes, self._source)
        there = {name for name, _ in files}
        after = {name: count for name, count in before.items() if name in there}
        return {"read": after | {span.name: span.end for span in spans}}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        before, after = start["read"], end["read"]
        spans = [Span(name, before.get(name, 0), size) for name, size in after.items()]
        new = [span for span in spans if span.end > span.start]
        return pieces(new, size_of_pieces(new, self._tasks))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reading(partition.value)


def size_of_pieces(spans: list[Span], tasks: int) -> int:
    """How many bytes a task reads, if so many tasks run at once."""
    there = sum(span.end - span.start for span in spans)
    return min(PIECE, max(LEAST_PIECE, -(-there // tasks)))


def pieces(spans: list[Span], size: int) -> list[InputPartition]:
    """Tasks of about the same size: long spans are cut, short ones are combined."""
    found: list[InputPartition] = []
    waiting: list[Span] = []
    room = size
    for name, start, end in spans:
        for place in range(start, end, size):
            span = Span(name, place, min(end, place + size))
            if waiting and span.end - span.start > room:
                found.append(Pieces(waiting))
                waiting, room = [], size
            waiting.append(span)
            room -= span.end - span.start
    return [*found, Pieces(waiting)] if waiting else found


def read_spools(source: Path, spans: Sequence[Span]) -> Iterator[pa.RecordBatch]:
    for lines in read_lines(source, spans):
        records, plain = frequent(lines.column("text"))
        left = lines.filter(pc.invert(plain))
        others, plain = rare(left.column("text"))
        left = left.filter(pc.invert(plain))
        now = pa.repeat(time.time_ns() // 1000, left.num_rows)
        for rows in (records, *others, left.append_column("read_at", now)):
            if rows.num_rows:
                yield _filled(rows)


def _stored(read: Reading, into: Path, width: int, spans: Sequence[Span]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pylist([file._asdict() for file in store(read(spans), into, width)], _FILES)


def _filled(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with all columns; missing ones are null."""
    there = set(rows.schema.names)
    arrays = [
        rows.column(field.name) if field.name in there else pa.nulls(rows.num_rows, field.type)
        for field in _ARROW
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def read_lines(source: Path, spans: Sequence[Span]) -> Iterator[pa.RecordBatch]:
    """The lines that begin inside the spans. A line that a cut divides belongs to the piece before it."""
    for name, start, end in spans:
        with open_spool(source, name) as file:
            number, place = _lines_before(file, source / name, start), start
            if start:
                file.seek(start - 1)
                if file.read(1) != b"\n":  # in the middle of a line, which `_lines_before` did not count
                    place += len(file.readline())
                    number += 1
            for lines in _blocks(file, place, end):
                batch = _batch(name, number, lines)
                number += batch.num_rows
                yield batch


def _lines_before(file: BinaryIO, path: Path, start: int) -> int:
    """Counted from where this process stopped counting last, because a stream returns to a file often."""
    key = str(path)
    place, number = _counted.get(key, (0, 0))
    if place > start:
        place, number = 0, 0
    file.seek(place)
    while place < start and (block := file.read(min(start - place, BLOCK))):
        number += block.count(b"\n")
        place += len(block)
    _counted[key] = place, number
    return number


def _blocks(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    """Blocks of whole lines."""
    file.seek(start)
    while start < end:
        block = file.read(min(BLOCK, end - start))
        if not block:
            return
        if not block.endswith(b"\n"):
            block += file.readline()
        start += len(block)
        yield block


def _batch(name: str, number: int, lines: bytes) -> pa.RecordBatch:
    """Lines as a batch, without copying the text. A line includes its line end."""
    ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n")) + 1
    if len(ends) == 0 or ends[-1] != len(lines):
        ends = np.append(ends, len(lines))
    count = len(ends)
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    text = pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(lines)])
    numbers = pa.array(np.arange(number + 1, number + 1 + count, dtype=np.int64))
    return pa.RecordBatch.from_arrays([pa.repeat(name, count), numbers, text], schema=_LINES)
