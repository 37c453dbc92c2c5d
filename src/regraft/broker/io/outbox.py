"""The segments of a broker that wait on its disk for a store that is elsewhere, the oldest first.

What happens on failure: a segment is removed from the outbox when the store has it, so after a crash it is
put again, under the same name. If the store is away for so long that the outbox is full, the oldest segments
lose their records, which are counted, and keep only interest: a table without that would stay wrong.

Names in the store ascend. If the first name is not after the last one there (the clock was set back, or the
broker was on another machine), the segments get the names that follow the last one until their own are later.
"""

import contextlib
import threading
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from regraft.model.store import FolderStore, Store, StoreFault
from regraft.protocol.telemetry import Interest
from regraft.segments.listing import last_name, names_after
from regraft.segments.names import SegmentName
from regraft.segments.reading import records_of
from regraft.segments.writing import segment


class _Kept(NamedTuple):
    name: SegmentName
    size: int
    since: float
    rows: int | None = None
    """None: from a former life, and not known."""
    only_interest: bool = False


class Outbox:
    """`put` from the telemetry thread, `ship_next` from one shipping thread at a time."""

    def __init__(self, folder: str, place: FolderStore, store: Store, most_bytes: int) -> None:
        self.lost = 0
        """Records that were dropped."""
        self._folder, self._place, self._store, self._most = folder, place, store, most_bytes
        self._changing = threading.Lock()
        self._shipping = False
        """Whether the oldest segment is being put into the store."""
        self._asked = False
        self._last: SegmentName | None = None
        """The last name in the store, when it was asked; afterwards what was put there last."""
        self._kept: deque[_Kept] = deque()
        for name in names_after(place, folder, None):
            found = self._path(name).stat()
            self._kept.append(_Kept(name, found.st_size, found.st_mtime))

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def waiting(self) -> tuple[int, int, float]:
        """How many segments, their bytes, and when the oldest was closed, in seconds since 1970."""
        kept = list(self._kept)
        return len(kept), sum(each.size for each in kept), kept[0].since if kept else 0.0

    def put(self, name: SegmentName, content: bytes, rows: int) -> None:
        self._place.put(name.path, content)
        with self._changing:
            self._kept.append(_Kept(name, len(content), time.time(), rows))
            with contextlib.suppress(StoreFault):  # it will be tried with the next one
                self._make_room()

    def ship_next(self) -> bool:
        """Put the oldest segment into the store. False if there is none; `StoreFault` if it does not work."""
        with self._changing:
            if not self._kept:
                return False
            one = self._kept[0]
            self._shipping = True
        lost = 0
        try:
            if not self._asked:
                self._last = last_name(self._store, self._folder)
                self._asked = True
            try:
                self._ship(one.name)
            except FileNotFoundError:  # somebody has emptied the outbox
                lost = one.rows or 0
        finally:
            self._shipping = False
        with self._changing:
            self.lost += lost
            self._kept.popleft()
            if self._kept and self._kept[0].name.hour > one.name.hour:
                with contextlib.suppress(OSError):
                    self._path(one.name).parent.rmdir()
        return True

    def _ship(self, name: SegmentName) -> None:
        try:
            content = self._path(name).read_bytes()
        except FileNotFoundError:
            raise
        except OSError as fault:
            raise StoreFault(f"{self._path(name)}: {fault.strerror}") from None
        last, name_there = self._last, name
        if last is not None and name < last:  # if they are equal, it is there already, from before a crash
            name_there = last._replace(number=last.number + 1)
        self._store.put(name_there.path, content)
        self._last = name_there
        self._place.remove(name.path)

    # When it is full

    def _make_room(self) -> None:
        """Strip the oldest segments to their interest; if that is too much, drop them."""
        for strip in (True, False):
            index = 1 if self._shipping else 0
            while sum(each.size for each in self._kept) > self._most and index < len(self._kept):
                if strip:
                    if (rest := self._stripped(self._kept[index])) is not None:
                        self._kept[index] = rest
                        index += 1
                        continue
                else:
                    self.lost += self._kept[index].rows or 0
                self._place.remove(self._kept[index].name.path)
                del self._kept[index]

    def _stripped(self, one: _Kept) -> _Kept | None:
        """The segment with nothing but its interest, in the place of the whole one. None: it has none."""
        if one.only_interest:
            return one
        rows = one.rows or 0
        try:
            with self._place.open(one.name.path) as file:
                rows = pq.read_metadata(file).num_rows
            records = [each for each in records_of(self._place, one.name.path) if isinstance(each, Interest)]
        except (OSError, pa.ArrowException, ValueError):  # damaged, or removed by somebody
            records = []
        self.lost += rows - len(records)
        if not records:
            return None
        content = segment(records[0].broker, records)
        self._place.put(one.name.path, content)
        return one._replace(size=len(content), rows=len(records), only_interest=True)

    def _path(self, name: SegmentName) -> Path:
        return Path(self._place.at(name.path))
