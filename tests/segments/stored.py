"""Segments in a store, as tests read them, and a store that can be away."""

from pathlib import Path
from typing import Any

import msgspec

from regraft.model.store import Entry, FolderStore, Store, StoreFault, open_store
from regraft.segments.listing import folders, names_after
from regraft.segments.names import SegmentName
from regraft.segments.reading import records_of


class RemoteStore(FolderStore):
    """A folder that behaves like a store elsewhere."""

    def __init__(self, place: Path) -> None:
        super().__init__(str(place))
        self.away = False

    @property
    def is_local(self) -> bool:
        return False

    def list(self, folder: str = "", after: str = "") -> list[Entry]:
        self._check()
        return super().list(folder, after)

    def put(self, name: str, content: bytes) -> None:
        self._check()
        super().put(name, content)

    def _check(self) -> None:
        if self.away:
            raise StoreFault(f"{self.place}: is away")


def names(store: Store) -> list[SegmentName]:
    return [name for folder in folders(store) for name in names_after(store, folder, None)]


def records(place: Path | str | Store, kind: str = "") -> list[dict[str, Any]]:
    """Broker by broker, in the order in which they were written; those of one kind, or all."""
    store = open_store(place) if isinstance(place, Path | str) else place
    found = [msgspec.to_builtins(each) for name in names(store) for each in records_of(store, name.path)]
    return [each for each in found if kind in ("", each["kind"])]
