"""Stored clean records: row groups of Parquet files, which the workers that count them read."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from regraft.measure.counting.groups import Ints, coded, whole

ROWS = 1 << 21
"""How many rows are read together."""
OF_TASK = 4 * ROWS
"""About how many rows one task reads. Starting a task takes as long as counting 500,000 rows."""
_TEXTS = frozenset({"kind", "broker", "publisher", "topic", "from", "to"})
"""Columns with few different texts."""

Columns = dict[str, pa.Array]


class Piece(NamedTuple):
    """A row group. `kinds` and `windows`: the smallest and the largest in it (None: unknown); `under`: the
    most of its records that may have been made under a transformation."""

    path: str
    group: int
    rows: int
    kinds: tuple[str, str] | None
    windows: tuple[int, int] | None
    under: int

    def may_hold(self, kinds: Sequence[str], windows: Sequence[int]) -> bool:
        of_kind = self.kinds is None or any(self.kinds[0] <= kind <= self.kinds[1] for kind in kinds)
        bounds = self.windows
        return of_kind and (bounds is None or any(bounds[0] <= start <= bounds[1] for start in windows))


class Stored(NamedTuple):
    """`windows`: the starts of the windows to be counted, in microseconds."""

    session: SparkSession
    pieces: tuple[Piece, ...]
    windows: tuple[int, ...]


class Task(NamedTuple):
    """What one task reads: the records of these windows in these pieces."""

    pieces: tuple[Piece, ...]
    windows: tuple[int, ...]


Count = Callable[[Task], Iterable[Columns]]


def pieces_in(folders: Iterable[Path]) -> tuple[Piece, ...]:
    files = sorted(path for folder in folders for path in folder.glob("*.parquet"))
    return tuple(piece for path in files for piece in _pieces(path))


def tasks(records: Stored, kinds: Sequence[str]) -> list[Task]:
    """Tasks of some row groups each."""
    found, waiting = [], list[Piece]()
    for piece in records.pieces:
        if not piece.may_hold(kinds, records.windows):
            continue
        if waiting and sum(each.rows for each in waiting) + piece.rows > OF_TASK:
            found.append(Task(tuple(waiting), records.windows))
            waiting = []
        waiting.append(piece)
    return [*found, Task(tuple(waiting), records.windows)] if waiting else found


def counted(session: SparkSession, tasks: Sequence[Task], count: Count, schema: StructType) -> DataFrame:
    """The results of `count` for each task, computed by workers, as rows of the schema."""
    if not tasks:
        return session.createDataFrame([], schema)
    arrow = to_arrow_schema(schema, timezone="UTC")
    run = partial(_run, tasks=list(tasks), count=count, schema=arrow)
    return session.range(0, len(tasks), 1, len(tasks)).mapInArrow(run, schema)


def _run(
    batches: Iterator[pa.RecordBatch], *, tasks: list[Task], count: Count, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            for found in count(tasks[number]):
                arrays = [found[field.name].cast(field.type) for field in schema]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def read(task: Task, kinds: Sequence[str], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The records of some kinds, with `kind`, `window` and the given columns."""
    wanted = ["kind", "window", *columns]
    texts = [column for column in wanted if column in _TEXTS]
    for piece in task.pieces:
        with pq.ParquetFile(piece.path, read_dictionary=texts, memory_map=True) as file:
            for some in file.iter_batches(ROWS, row_groups=[piece.group], columns=wanted, use_threads=False):
                batch = _whole_records(some, wanted)
                rows = _of_windows(_of_kinds(batch, kinds), task.windows)
                if rows.num_rows:
                    yield rows


def read_together(task: Task, kinds: Sequence[str], columns: Sequence[str]) -> pa.RecordBatch | None:
    """All these records in one batch; None if there are none."""
    batches = list(read(task, kinds, columns))
    if len(batches) > 1:
        batches = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches()
    return batches[0] if batches else None


def _whole_records(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Add columns that files of older versions lack, as null. The only such column is a number."""
    for name in columns:
        if name not in batch.schema.names:
            batch = batch.append_column(name, pa.nulls(batch.num_rows, pa.int64()))
    return batch


def _of_kinds(batch: pa.RecordBatch, kinds: Sequence[str]) -> pa.RecordBatch:
    codes, _, values = coded(batch.column("kind"))
    return _only(batch, codes, np.array([kind in kinds for kind in values.to_pylist()]))


def _of_windows(batch: pa.RecordBatch, windows: Sequence[int]) -> pa.RecordBatch:
    """The window column becomes a dictionary here, so that later steps need not encode it again."""
    column = pc.dictionary_encode(batch.column("window"))
    batch = batch.set_column(batch.schema.get_field_index("window"), "window", column)
    codes, _, values = coded(column)
    return _only(batch, codes, np.isin(whole(values), np.array(windows)))


def _only(batch: pa.RecordBatch, codes: Ints, wanted_codes: npt.NDArray[np.bool_]) -> pa.RecordBatch:
    """The rows whose code is wanted."""
    return batch if wanted_codes.all() else batch.filter(pa.array(wanted_codes[codes]))


def _pieces(path: Path) -> Iterator[Piece]:
    with pq.ParquetFile(path) as file:
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            columns = (group.column(place) for place in range(group.num_columns))
            known = {each.path_in_schema: each.statistics for each in columns}
            kinds, windows, under = (known.get(name) for name in ("kind", "window", "transformation"))
            nulls = under.null_count if under and under.has_null_count else 0
            yield Piece(
                os.fspath(path.absolute()),
                number,
                group.num_rows,
                (kinds.min, kinds.max) if kinds and kinds.has_min_max else None,
                (windows.min_raw, windows.max_raw) if windows and windows.has_min_max else None,
                group.num_rows - nulls,
            )
