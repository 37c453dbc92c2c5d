"""Writes tables as `regraft measure` leaves them, without Spark."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from regraft.model.delta import DATE, WINDOW, open_table
from regraft.model.snapshot import STATE, WINDOWS, Counts, place_of
from regraft.model.store import table_options, table_uri

Rows = Sequence[Mapping[str, Any]]
TIME = pa.timestamp("us", tz="UTC")


def write_tables(place: str | Path, tables: Mapping[str, Rows], commit: int = 1) -> None:
    """Add rows, and commit them. A row without a `window` is in the one that begins in 1970."""
    starts = sorted({row.get(WINDOW, 0) for rows in tables.values() for row in rows})
    for name, rows in (*tables.items(), (WINDOWS, [{WINDOW: start} for start in starts])):
        add_rows(place, name, rows)
    versions = {
        each.name: table.version()
        for each in Path(place).iterdir()
        if (table := open_table(each)) is not None and each.name != STATE
    }
    write_state(place, versions, commit)


def add_rows(place: str | Path, name: str, rows: Rows) -> None:
    """Add rows to a table; they count from the next commit on."""
    if not rows:
        return
    starts = [row.get(WINDOW, 0) for row in rows]
    dates = [datetime.fromtimestamp(start / 1e6, UTC).strftime("%Y-%m-%d") for start in starts]
    table = pa.Table.from_pylist([{key: row[key] for key in row if key != WINDOW} for row in rows])
    if not table.num_columns:
        table = pa.table({WINDOW: pa.array(starts, TIME), DATE: dates})
    else:
        table = table.append_column(WINDOW, pa.array(starts, TIME)).append_column(DATE, pa.array(dates))
    _write(place, name, table, mode="append", partition_by=[DATE])


def write_state(place: str | Path, versions: Mapping[str, int], commit: int = 1) -> None:
    manifest = {
        "schema": 2,
        "snapshot": commit,
        "counts": Counts().as_json(),
        "rejected": {},
        "brokers": [],
        "top": None,
        "input": {"first": None, "last": None},
        "tables": dict(versions),
    }
    row = {"commit": [commit], "epoch": [1], "state": ["{}"], "manifest": [json.dumps(manifest)]}
    _write(place, STATE, pa.table(row), mode="overwrite")


def _write(place: str | Path, name: str, table: pa.Table, **how: Any) -> None:
    where = place_of(str(place), name)
    write_deltalake(table_uri(where), table, storage_options=dict(table_options(where)), **how)
