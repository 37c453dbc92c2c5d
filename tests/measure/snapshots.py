"""Tables of a snapshot as any reader of Parquet sees them: with Spark, reading a few rows takes a second."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.measure.telemetry import START


def table(folder: Path, name: str, *columns: str) -> list[tuple[Any, ...]]:
    """The rows in order; times in microseconds since START."""
    import pyarrow.parquet as pq

    from regraft.measure.schemas import TABLES

    wanted = columns or TABLES[name].fieldNames()
    found = []
    assert (folder / name).is_dir(), f"{name} is missing"
    for part in (folder / name).glob("window=*"):
        window = {"window": _time(part.name)}
        for file in part.glob("*.parquet"):
            with file.open("rb") as content:  # its folder's name is no column to pyarrow
                rows = pq.read_table(content).to_pylist()
            found += [tuple(_plain((row | window).get(column)) for column in wanted) for row in rows]
    return sorted(found, key=repr)


def everything(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    from regraft.measure.schemas import TABLES

    return {name: table(folder, name) for name in TABLES}


def _time(name: str) -> datetime:
    return datetime.fromisoformat(unquote(name.removeprefix("window="))).replace(tzinfo=UTC)


def _plain(cell: Any) -> Any:
    if isinstance(cell, datetime):
        return (cell - START) // timedelta(microseconds=1)
    return tuple(cell) if isinstance(cell, list) else cell
