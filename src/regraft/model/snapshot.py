"""A reference to a snapshot: the tables that the loop decides on, as they were after one commit.

A snapshot never changes: it names a version of every table, and reads these versions, whatever is written
meanwhile. The newest one is named by the table `_state`, which has one row and is replaced as the last act of
every commit.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regraft.model.delta import WINDOW, open_table, read_rows, read_table
from regraft.model.errors import BadInput
from regraft.model.fields import an_object, required
from regraft.model.files import shown

if TYPE_CHECKING:
    import pyarrow as pa

STATE = "_state"
"""The table of one row: what the last commit was (`manifest`), and what the next run needs (`state`)."""
WINDOWS = "windows"
"""The table of all windows that were measured."""


@dataclass(frozen=True)
class Counts:
    """Numbers of records. Each record that was read is kept, rejected, a duplicate, or late."""

    read: int = 0
    kept: int = 0
    rejected: int = 0
    duplicated: int = 0
    late: int = 0

    @property
    def add_up(self) -> bool:
        return self.read == self.kept + self.rejected + self.duplicated + self.late

    def plus(self, other: "Counts") -> "Counts":
        return Counts(
            self.read + other.read,
            self.kept + other.kept,
            self.rejected + other.rejected,
            self.duplicated + other.duplicated,
            self.late + other.late,
        )

    def as_json(self) -> dict[str, int]:
        return {
            "read": self.read,
            "kept": self.kept,
            "rejected": self.rejected,
            "duplicated": self.duplicated,
            "late": self.late,
        }


@dataclass(frozen=True)
class Snapshot:
    """`place` is the folder or address of all tables, `version` the number of the commit."""

    place: str
    version: int
    counts: Counts
    manifest: Mapping[str, Any] = field(repr=False)

    def table(self, name: str) -> str:
        """The place of a table, for any reader of Delta tables: its newest version."""
        return place_of(self.place, name)

    def table_version(self, name: str) -> int | None:
        """The version that belongs to this snapshot; None if the table had no rows yet."""
        found = self.manifest["tables"].get(name)
        return None if found is None else int(found)

    def read(
        self, name: str, columns: Iterable[str] | None = None, start: float | None = None
    ) -> "pa.Table | None":
        """A table, or its rows of the window that begins then (in seconds); None if it had no rows yet."""
        version = self.table_version(name)
        if version is None:
            return None
        starts = None if start is None else [round(start * 1e6)]
        return read_table(self.table(name), columns, starts, version)

    def rows(
        self, name: str, columns: Iterable[str] | None = None, start: float | None = None
    ) -> list[dict[str, Any]]:
        """As `read`, row by row; none if the table had none yet."""
        found = self.read(name, columns, start)
        return [] if found is None else found.to_pylist()

    def by_window(
        self, name: str, columns: Iterable[str], starts: Collection[float]
    ) -> dict[float, list[dict[str, Any]]]:
        """The rows of several windows, which begin then (in seconds), read together: for many windows, that
        is much quicker than one by one."""
        found: dict[float, list[dict[str, Any]]] = {start: [] for start in starts}
        version, by_micros = self.table_version(name), {round(start * 1e6): start for start in starts}
        if version is not None:
            table = read_table(self.table(name), [WINDOW, *columns], by_micros, version)
            for row in table.set_column(0, WINDOW, table[WINDOW].cast("int64")).to_pylist():
                found[by_micros[row.pop(WINDOW)]].append(row)
        return found

    @cached_property
    def windows(self) -> tuple[str, ...]:
        """The starts of all windows, in order, e.g. 2026-11-16T00:05:00Z."""
        return tuple(sorted({_shown(row[WINDOW]) for row in self.rows(WINDOWS, (WINDOW,))}))


def read_snapshot(place: str | Path) -> Snapshot:
    """The newest snapshot at a place where `regraft measure` writes."""
    text, name = str(place), shown(place)
    table = open_table(place_of(text, STATE))
    if table is None:
        raise BadInput(name, "has no tables of `regraft measure`")
    try:
        (row,) = read_rows(place_of(text, STATE), ("manifest",), version=table.version())
        manifest = an_object(json.loads(row["manifest"]), "")
        counts = an_object(required(manifest, "counts"), "counts")
        return Snapshot(
            text,
            int(required(manifest, "snapshot")),
            Counts(**{each: int(counts[each]) for each in Counts().as_json()}),
            manifest,
        )
    except (
        KeyError,
        TypeError,
        ValueError,
        BadInput,
    ):  # a run that was killed may leave a table without rows
        raise BadInput(name, "has no snapshot of `regraft measure` yet") from None


def place_of(place: str, name: str) -> str:
    """Where a table is."""
    return f"{place.rstrip('/')}/{name}"


def _shown(at: datetime) -> str:
    whole = at if at.tzinfo else at.replace(tzinfo=UTC)
    return whole.astimezone(UTC).isoformat().replace("+00:00", "Z")
