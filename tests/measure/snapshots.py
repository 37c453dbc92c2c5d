"""Tables of a snapshot as rows, read without Spark, which takes a second for a few rows."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.measure.telemetry import START

from regraft.model.snapshot import read_snapshot


def table(out: str | Path, name: str, *columns: str) -> list[tuple[Any, ...]]:
    """The rows in order; times in microseconds since START."""
    from regraft.measure.schemas import TABLES

    wanted = columns or TABLES[name].fieldNames()
    snapshot = read_snapshot(out)
    assert snapshot.table_version(name) is not None, f"{name} is missing"
    rows = snapshot.rows(name)
    return sorted((tuple(_plain(row.get(column)) for column in wanted) for row in rows), key=repr)


def everything(out: str | Path) -> dict[str, list[tuple[Any, ...]]]:
    from regraft.measure.schemas import TABLES

    return {name: table(out, name) for name in TABLES}


def _plain(cell: Any) -> Any:
    if isinstance(cell, datetime):
        return (cell - START) // timedelta(microseconds=1)
    return tuple(cell) if isinstance(cell, list) else cell
