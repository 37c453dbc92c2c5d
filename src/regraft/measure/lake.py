"""Tables in the Delta format: workers write the files, the driver commits them.

Spark as it comes from PyPI cannot write Delta tables, and reaches no object store; so workers write Parquet
through `model.store`, and what a task that failed or ran twice has written is never committed. Each run has
an epoch, larger than those before it, which every commit carries: a run that finds a larger one in a table
has been superseded, and ends. A table whose version is not the one of the last commit of all tables
(`ledger`) has changes of a run that was killed or superseded: they are taken back first.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from regraft.measure.schemas import TEXT
from regraft.measure.stored_files import rows_in, stored
from regraft.measure.windows import shown
from regraft.model import BadInput, RegraftError
from regraft.model.delta import (
    DATE,
    LAST_WINDOW,
    WINDOW,
    TableFile,
    in_one_line,
    open_table,
    read_files,
    read_table,
    table_files,
)
from regraft.model.snapshot import place_of
from regraft.model.store import StoreFault, open_store, table_options

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

APP = "regraft"
"""Under this name, commits carry the epoch of the run that made them."""
ROWS = 1 << 20
"""How many rows a file has at most."""
HOURS_KEPT = 6
"""A reader has so long to read the version that it has begun with. What was written by runs that were killed
goes then, too."""
SETTINGS = {
    "delta.deletedFileRetentionDuration": f"interval {HOURS_KEPT} hours",
    "delta.logRetentionDuration": f"interval {HOURS_KEPT} hours",
    # Opening a table reads each commit since the last checkpoint.
    "delta.checkpointInterval": "20",
}
FILES_EACH = 64
"""After this many commits, the small files of a table are merged."""
_TURNS = 5
"""How often a change begins again because another run has changed the table at the same moment."""
_ADDED = pa.schema(
    [(name, pa.int64()) for name in ("size", "rows", "first", "last")]
    + [(name, pa.string()) for name in ("path", "date", "until")]
)
_ADDED_DDL = "size long, rows long, first long, last long, path string, date string, until string"


class Superseded(RegraftError):
    """Another run writes these tables now."""


class Added(NamedTuple):
    """A file that was written for a table; windows in microseconds."""

    size: int
    rows: int
    first: int | None
    last: int | None
    path: str
    date: str
    until: str
    """The column of which `last` is the largest."""


class Lake:
    """The tables at a place, as one run sees and changes them. Threads may change different tables."""

    def __init__(self, place: str, epoch: int, versions: Mapping[str, int]) -> None:
        self.place = place
        self.epoch = epoch
        self.versions = dict(versions)

    def make(self, name: str, schema: StructType) -> None:
        """A table without rows, so that readers find it."""
        self._change(name, _with_partition(schema)[1], lambda table: table.version())

    def append(self, name: str, table: DataFrame, *, few: bool = False) -> None:
        """Add rows. They have a column `date`. `few`: the driver can hold them, and writes them itself, which
        is faster than to have a worker do it."""
        schema, arrow = _with_partition(table.schema)
        table = table.select(*schema.fieldNames())
        if few:
            self.append_rows(name, table.toArrow().cast(arrow))
            return
        write = partial(_written, place=place_of(self.place, name), schema=arrow)
        rows = table.mapInArrow(write, _ADDED_DDL).collect()
        self._commit(name, [Added(*row) for row in rows], arrow)

    def append_rows(self, name: str, rows: pa.Table) -> None:
        """Add a few rows that the driver holds."""
        if rows.num_rows:
            found = _written(iter(rows.to_batches()), place=place_of(self.place, name), schema=rows.schema)
            added = [Added(**row) for batch in found for row in batch.to_pylist()]
            self._commit(name, added, rows.schema)

    def delete(self, name: str, condition: str | None = None) -> None:
        """Remove rows; all, without a condition."""
        if name in self.versions:
            self._change(name, None, partial(self._delete, condition=condition))

    def delete_windows(self, name: str, starts: Collection[int]) -> None:
        if starts and name in self.versions:
            times = ", ".join(f"'{shown(start)}'" for start in sorted(starts))
            dates = ", ".join(sorted({f"'{shown(start)[:10]}'" for start in starts}))
            self.delete(name, f"{DATE} IN ({dates}) AND {WINDOW} IN ({times})")

    def read(
        self, name: str, columns: Sequence[str] | None = None, starts: Collection[int] | None = None
    ) -> pa.Table | None:
        """Rows for the driver; None if there is no table yet."""
        if name not in self.versions:
            return None
        return read_table(place_of(self.place, name), columns, starts, self.versions[name])

    def between(
        self, name: str, columns: Sequence[str], first: int, last: int, until: str = WINDOW
    ) -> pa.Table | None:
        """The rows that are about a window between these two; None if there is no table yet. `until`: the
        column of the last window that a row is about."""
        place = place_of(self.place, name)
        table = open_table(place, self.versions[name]) if name in self.versions else None
        if table is None:
            return None
        chosen = [file for file in table_files(table) if _overlaps(file, first, last)]
        rows = read_files(place, table, chosen, list(dict.fromkeys([*columns, WINDOW, until])))
        begin, end = (rows[column].cast(pa.int64()) for column in (WINDOW, until))
        found = rows.filter(pc.and_(pc.less_equal(begin, last), pc.greater_equal(end, first)))
        return found.select(list(columns))

    def files(self, name: str) -> list[TableFile]:
        if name not in self.versions:
            return []
        table = open_table(place_of(self.place, name), self.versions[name])
        return [] if table is None else table_files(table)

    def frame(
        self,
        spark: SparkSession,
        name: str,
        schema: StructType,
        first: int | None = None,
        last: int | None = None,
    ) -> DataFrame:
        """Rows for Spark, from the files that may hold windows between `first` and `last`."""
        chosen = [file for file in self.files(name) if _overlaps(file, first, last)]
        store = open_store(place_of(self.place, name))
        return stored(spark, store, [file.name for file in chosen], schema, rows_in(chosen))

    def tidy(self, names: Collection[str]) -> None:
        """Merge small files from time to time, and remove what no reader needs any more."""
        for name in names:
            version = self.versions.get(name, 0)
            if version and version % FILES_EACH == 0:
                self._change(name, None, self._merge)

    def _commit(self, name: str, files: Sequence[Added], schema: pa.Schema) -> None:
        if files:
            self._change(name, schema, partial(self._add, files=files))

    def _change(self, name: str, schema: pa.Schema | None, change: "Callable[[DeltaTable], int]") -> None:
        """`change` commits to the table, and says which version it has then. If another run has committed
        since the table was opened, `_table` decides whose turn it is: an older one may not have noticed yet
        that it was superseded."""
        from deltalake.exceptions import CommitFailedError  # noqa: PLC0415 — takes 70 ms to load

        for _ in range(_TURNS):
            try:
                with _one_line(self.place):
                    self.versions[name] = change(self._table(name, schema))
                    return
            except CommitFailedError:
                continue
        raise _other(self.place)

    def _add(self, table: "DeltaTable", files: Sequence[Added]) -> int:
        from deltalake.transaction import AddAction, RemoveAction  # noqa: PLC0415

        before = table.version()
        actions: list[AddAction | RemoveAction] = [
            AddAction(each.path, each.size, {DATE: each.date}, 0, True, _statistics(each)) for each in files
        ]
        table.create_write_transaction(
            actions, "append", table.schema(), partition_by=[DATE], commit_properties=self._properties()
        )
        return before + 1

    def _delete(self, table: "DeltaTable", condition: str | None) -> int:
        table.delete(condition, commit_properties=self._properties())
        return table.version()

    def _merge(self, table: "DeltaTable") -> int:
        table.optimize.compact(commit_properties=self._properties())
        table.vacuum(HOURS_KEPT, dry_run=False, commit_properties=self._properties())
        return table.version()

    def _table(self, name: str, schema: pa.Schema | None) -> "DeltaTable":
        """The table, at the version that this run expects. With a schema, it is made if there is none."""
        place = place_of(self.place, name)
        table = open_table(place)
        if table is None:
            if schema is None or name in self.versions:
                raise StoreFault(f"{place}: the table has gone")
            if (made := self._made(place, schema)) is not None:
                return made
            return self._table(name, schema)
        if (last := table.transaction_version(APP)) is None:
            raise BadInput(place, "is a table of another program: use another --out")
        if last > self.epoch:
            raise _other(self.place)
        expected = self.versions.get(name)
        if table.version() != (expected or 0):
            if expected is None:  # a run that was killed has made it
                table.delete(commit_properties=self._properties())
            else:
                table.restore(expected, commit_properties=self._properties())
            table = open_table(place)
            assert table is not None
        return table

    def _made(self, place: str, schema: pa.Schema) -> "DeltaTable | None":
        """None if another run, older or newer, has made it at this moment."""
        from deltalake import DeltaTable  # noqa: PLC0415
        from deltalake.exceptions import DeltaError  # noqa: PLC0415

        try:
            return DeltaTable.create(
                place,
                schema,
                partition_by=[DATE],
                configuration=dict(SETTINGS),
                storage_options=dict(table_options(place)),
                commit_properties=self._properties(),
            )
        except DeltaError:
            if open_table(place) is None:
                raise
            return None

    def _properties(self) -> "CommitProperties":
        return properties(self.epoch)


def properties(epoch: int) -> "CommitProperties":
    """A commit with these fails if anybody else has committed since the table was opened."""
    from deltalake import CommitProperties, Transaction  # noqa: PLC0415

    return CommitProperties(app_transactions=[Transaction(APP, epoch)], max_commit_retries=0)


def _with_partition(schema: StructType) -> tuple[StructType, pa.Schema]:
    """The schema for Spark and for Arrow, with the column by which tables are partitioned at the end."""
    fields = [field for field in schema.fields if field.name != DATE]
    whole = StructType([*fields, StructField(DATE, TEXT)])
    return whole, to_arrow_schema(whole, timezone="UTC")


def with_date(table: DataFrame) -> DataFrame:
    """With the column by which tables are partitioned, from their `window`."""
    return table.withColumn(DATE, f.date_format(WINDOW, "yyyy-MM-dd"))


@contextmanager
def _one_line(place: str) -> Iterator[None]:
    """Faults of the library as one line, but for a commit that was refused."""
    from deltalake.exceptions import CommitFailedError, DeltaError  # noqa: PLC0415

    try:
        yield
    except CommitFailedError:
        raise
    except (DeltaError, OSError) as fault:
        raise StoreFault(f"{place}: {in_one_line(fault)}") from fault


def _other(place: str) -> Superseded:
    return Superseded(
        f"{place}: another run writes there now; what this one had not committed is in that one"
    )


def _overlaps(file: TableFile, first: int | None, last: int | None) -> bool:
    below = last is not None and file.first is not None and file.first > last
    above = first is not None and file.last is not None and file.last < first
    return not (below or above)


def _statistics(file: Added) -> str:
    found: dict[str, Any] = {"numRecords": file.rows}
    if file.first is not None and file.last is not None:
        found |= {"minValues": {WINDOW: _precise(file.first)}, "maxValues": {file.until: _precise(file.last)}}
    return json.dumps(found)


def _precise(micros: int) -> str:
    text = shown(micros)
    return text if "." in text else text.removesuffix("Z") + ".000000Z"


def _written(batches: Iterator[pa.RecordBatch], *, place: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """In a worker: writes the rows, one file for each date (more, if there are many), and says which."""
    store, waiting = open_store(place), dict[str, list[pa.Table]]()
    names = [name for name in schema.names if name != DATE]
    for batch in batches:
        rows = pa.Table.from_batches([batch]).cast(schema)
        for date in pc.unique(rows[DATE]).to_pylist():
            some = rows.filter(pc.equal(rows[DATE], date)).select(names)
            held = waiting.setdefault(date, [])
            held.append(some)
            if sum(each.num_rows for each in held) >= ROWS:
                yield _file(store, date, waiting.pop(date))
    for date, parts in waiting.items():
        yield _file(store, date, parts)


def _file(store: Any, date: str, parts: Sequence[pa.Table]) -> pa.RecordBatch:
    table, sink = pa.concat_tables(parts), pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content = bytes(sink.getvalue())
    path = f"{DATE}={date}/part-{uuid4().hex}.parquet"
    store.put(path, content)
    first = last = None
    until = LAST_WINDOW if LAST_WINDOW in table.column_names else WINDOW
    if WINDOW in table.column_names:
        first = pc.min(table[WINDOW].cast(pa.int64())).as_py()
        last = pc.max(table[until].cast(pa.int64())).as_py()
    row = Added(len(content), table.num_rows, first, last, path, date, until)
    return pa.RecordBatch.from_pylist([row._asdict()], _ADDED)
