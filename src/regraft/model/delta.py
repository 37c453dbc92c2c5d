"""Reads tables in the Delta format, as they were at one of their versions.

The library for the format says which files hold a version. They are read by Arrow itself: handing files to
Arrow through Python, as that library offers, may abort a process when it ends.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from regraft.model.errors import BadInput
from regraft.model.store import StoreFault, open_store, table_options, table_uri

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

LOG = "_delta_log"
DATE, WINDOW, LAST_WINDOW = "date", "window", "last_window"
"""The column by which tables are partitioned, and those whose range is known of each file: a row is about a
window, or about all from one to another."""
_ROUNDED = 999
"""The log keeps times in milliseconds, rounded down."""
_UNDERSTOOD = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""Features of the format that change nothing in the files. Others, such as vectors of deleted rows, do."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TableFile(NamedTuple):
    """A file of a table, by its name there. `rows`, `first` and `last` if they are known: no window in it
    begins before `first` or after `last` (microseconds)."""

    name: str
    rows: int | None
    first: int | None
    last: int | None


_MOST = 300
"""How many characters of a fault of the library are shown."""


def open_table(place: str | Path, version: int | None = None) -> "DeltaTable | None":
    """The table as it is now, or as it was; None if there is none."""
    from deltalake import DeltaTable  # noqa: PLC0415 — takes 70 ms to load
    from deltalake.exceptions import DeltaError, TableNotFoundError  # noqa: PLC0415

    try:
        table = DeltaTable(table_uri(place), version=version, storage_options=dict(table_options(place)))
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as fault:
        raise StoreFault(f"{place}: {in_one_line(fault)}") from None
    if unknown := set(table.protocol().reader_features or ()) - _UNDERSTOOD:
        raise BadInput(
            str(place), f"is a table that uses {', '.join(sorted(unknown))}, which is not understood"
        )
    return table


def in_one_line(fault: Exception) -> str:
    """What the library says in a drawing of several lines, in color, perhaps with a trace of its calls."""
    text = " ".join(re.sub(r"\x1b\[\d*m|↳", "", str(fault)).split()).partition(" 0: <unknown>")[0]
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"


def table_files(table: "DeltaTable", starts: Collection[int] | None = None) -> list[TableFile]:
    """The files of a table; with `starts` of windows in microseconds, those that may hold one of them."""
    actions = table.get_add_actions(flatten=True)
    names = actions.schema.names
    paths = actions.column("path").to_pylist()
    last = LAST_WINDOW if f"max.{LAST_WINDOW}" in names else WINDOW
    rows = actions.column("num_records").to_pylist() if "num_records" in names else [None] * len(paths)
    firsts, lasts = (
        actions.column(column).to_pylist() if column in names else [None] * len(paths)
        for column in (f"min.{WINDOW}", f"max.{last}")
    )
    found = [
        TableFile(path, count, first and _micros(first), last and _micros(last) + _ROUNDED)
        for path, count, first, last in zip(paths, rows, firsts, lasts, strict=True)
    ]
    if starts is None:
        return found
    return [each for each in found if _may_hold(each, starts)]


def read_table(
    place: str | Path,
    columns: Iterable[str] | None = None,
    starts: Collection[int] | None = None,
    version: int | None = None,
) -> "pa.Table":
    """The rows, or only those of the windows that begin at `starts` (microseconds). Of the `columns`, those
    that the table does not have are left out; those that only some files lack are null there. `BadInput` if
    there is no table."""
    table = open_table(place, version)
    if table is None:
        raise BadInput(str(place), "there is no table")
    return _read(str(place), table, columns, starts)


def read_rows(
    place: str | Path,
    columns: Iterable[str] | None = None,
    starts: Collection[int] | None = None,
    version: int | None = None,
) -> list[dict[str, Any]]:
    """As `read_table`; nothing if there is no table."""
    table = open_table(place, version)
    return [] if table is None else _read(str(place), table, columns, starts).to_pylist()


def _read(
    place: str, table: "DeltaTable", columns: Iterable[str] | None, starts: Collection[int] | None
) -> "pa.Table":
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    schema = _schema(table)
    wanted = schema.names if columns is None else [name for name in columns if name in schema.names]
    needed = wanted if starts is None or WINDOW in wanted else [*wanted, WINDOW]
    whole = read_files(place, table, table_files(table, starts), needed)
    if starts is not None:
        times = pa.array(list(starts), pa.int64()).cast(whole[WINDOW].type)
        whole = whole.filter(pc.is_in(whole[WINDOW], times))
    return whole.select(wanted)


def read_files(
    place: str, table: "DeltaTable", files: Iterable[TableFile], columns: Sequence[str]
) -> "pa.Table":
    """The rows in these files of a table."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    schema = _schema(table)
    fields, store, parts = [schema.field(name) for name in columns], open_store(place), []
    for file in files:
        name = store.at(file.name)
        try:
            with store.open(file.name) as content:
                rows = pq.ParquetFile(content).read(columns=columns, use_threads=False)
        except FileNotFoundError:
            raise StoreFault(f"{name}: is gone: version {table.version()} of the table is too old") from None
        except (pa.ArrowException, OSError) as fault:
            raise BadInput(name, f"not Parquet: {str(fault).partition(chr(10))[0]}") from None
        parts.append(_conformed(rows, fields))
    return pa.concat_tables(parts) if parts else pa.schema(fields).empty_table()


def _conformed(rows: "pa.Table", fields: Sequence["pa.Field"]) -> "pa.Table":
    import pyarrow as pa  # noqa: PLC0415

    columns = [
        rows[field.name].cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in fields
    ]
    return pa.table(columns, schema=pa.schema(list(fields)))


def _schema(table: "DeltaTable") -> "pa.Schema":
    """Of the data: the column by which the table is partitioned is not in the files."""
    import pyarrow as pa  # noqa: PLC0415

    return pa.schema([field for field in pa.schema(table.schema()) if field.name != DATE])


def _micros(at: datetime) -> int:
    whole = at if at.tzinfo else at.replace(tzinfo=UTC)
    return (whole - _EPOCH) // timedelta(microseconds=1)


def _may_hold(file: TableFile, starts: Collection[int]) -> bool:
    if file.first is None or file.last is None:
        return True
    return any(file.first <= start <= file.last for start in starts)
