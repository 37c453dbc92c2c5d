"""Finds a measured table at a place that a user names.

That is where `regraft measure` writes, or one table there, such as `tables/interest`. Then the version is
that of the newest snapshot, not what a run has written since, which may not count yet. Any other Delta table
is read as it is now.
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regraft.model.delta import LOG, open_table, read_table
from regraft.model.errors import BadInput
from regraft.model.files import shown
from regraft.model.snapshot import STATE, Snapshot, place_of, read_snapshot
from regraft.model.store import is_address

if TYPE_CHECKING:
    import pyarrow as pa


class TableAt(NamedTuple):
    """`version`: None is the newest."""

    place: str
    version: int | None


def find_table(place: str | Path, name: str) -> TableAt | None:
    """The table `name` of the snapshot there, or the table that is there; None if it is neither."""
    text = str(place).rstrip("/")
    if _has_table(place_of(text, STATE)):
        return _of_snapshot(read_snapshot(text), name)
    if not _has_table(text):
        return None
    above, _, name = text.rpartition("/")
    if _has_table(place_of(above or ".", STATE)):
        return _of_snapshot(read_snapshot(above or "."), name)
    return TableAt(text, None)


def read_measured(place: str | Path, name: str) -> "pa.Table | None":
    """As `find_table`: its rows."""
    found = find_table(place, name)
    return None if found is None else read_table(found.place, version=found.version)


def _has_table(place: str) -> bool:
    if is_address(place):
        return open_table(place) is not None
    return Path(place, LOG).is_dir()  # does not load the library of Delta tables


def _of_snapshot(snapshot: Snapshot, name: str) -> TableAt:
    version = snapshot.table_version(name)
    if version is None:
        raise BadInput(shown(snapshot.place), f"has no rows of {name!r}: it was not measured")
    return TableAt(snapshot.table(name), version)
