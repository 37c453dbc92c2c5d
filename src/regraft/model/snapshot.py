"""A reference to a snapshot: the folder of tables that the loop decides on, and what its manifest says.

A snapshot never changes; a newer one is written to another folder. A process that holds this value reads all
tables of one snapshot, whatever is written meanwhile.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regraft.model.errors import BadInput
from regraft.model.fields import a_list, an_object, required
from regraft.model.files import as_text, parse_json, read_bytes, shown

MANIFEST = "manifest.json"
CURRENT = "current"


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
    """`folder` holds one folder of Parquet files for each table; `windows` are the starts of those in it."""

    folder: Path
    version: int
    windows: tuple[str, ...]
    counts: Counts
    manifest: Mapping[str, Any] = field(repr=False)

    def table(self, name: str) -> Path:
        """Where a table is, for any reader of partitioned Parquet."""
        return self.folder / name


def read_snapshot(place: str | Path) -> Snapshot:
    """The newest snapshot in a folder that `regraft measure` writes, or the one in that very folder."""
    place = Path(place)
    newest = place / CURRENT
    folder = newest.resolve() if newest.exists() else place.resolve()
    path = folder / MANIFEST
    try:
        document = an_object(parse_json(as_text(read_bytes(path))), "")
        counts = an_object(required(document, "counts"), "counts")
        windows = a_list(required(document, "windows"), "windows")
        return Snapshot(
            folder,
            int(required(document, "schema")),
            tuple(str(an_object(window, "windows")["start"]) for window in windows),
            Counts(**{name: int(counts[name]) for name in Counts().as_json()}),
            document,
        )
    except (KeyError, TypeError, ValueError):
        raise BadInput(shown(path), "not a manifest of `regraft measure`") from None
    except BadInput as fault:
        raise fault if fault.place.startswith(shown(path)) else fault.within(shown(path)) from None
