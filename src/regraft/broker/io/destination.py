"""Where the segments of a broker go, and what they are called there.

Names ascend whatever the clock does and however often the broker starts, because readers remember the last
name that they have read. A folder of this machine is asked for the last name there is. A store that is
elsewhere may be away, so only the outbox is asked at first (`outbox` says what happens then).
"""

import time
from pathlib import Path
from typing import NamedTuple, Protocol

from regraft.broker.io.configuration import OUTBOX, Telemetry
from regraft.broker.io.outbox import Outbox
from regraft.broker.io.shipping import SHIPPING, shared_store
from regraft.model import BadInput
from regraft.model.store import FolderStore, Store
from regraft.segments.listing import last_name
from regraft.segments.names import SegmentName, folder_of, hour_of

PATIENCE = 10.0
"""For how many seconds a broker that stops waits until its outbox is empty."""


class Waiting(NamedTuple):
    """Segments that are not in the store. `oldest`: when it was closed, in seconds since 1970."""

    segments: int = 0
    bytes: int = 0
    oldest: float = 0.0


class Destination(Protocol):
    """Used by the telemetry thread; its properties by any thread."""

    @property
    def lost(self) -> int:
        """How many records that were put are not in the store and never will be."""
        ...

    @property
    def waiting(self) -> Waiting: ...

    def name_next(self) -> SegmentName: ...

    def put(self, name: SegmentName, content: bytes, rows: int) -> None:
        """`StoreFault` if it cannot be kept."""
        ...

    def close(self) -> None: ...


class Names:
    """The names that a broker gives in one life."""

    def __init__(self, folder: str, last: SegmentName | None) -> None:
        """`last`: of the life before."""
        now = time.time_ns() // 1000
        self._folder = folder
        self._life = now if last is None else max(now, last.life + 1)
        self._hour = "" if last is None else last.hour
        self._number = 0

    def name_next(self) -> SegmentName:
        self._hour = max(self._hour, hour_of(time.time_ns() // 1000))
        self._number += 1
        return SegmentName(self._folder, self._hour, self._life, self._number)


class Direct(Names):
    """A folder of this machine."""

    lost = 0
    waiting = Waiting()

    def __init__(self, folder: str, store: Store) -> None:
        super().__init__(folder, _last_in(store, folder))
        self._store = store

    def put(self, name: SegmentName, content: bytes, rows: int) -> None:
        self._store.put(name.path, content)

    def close(self) -> None:
        pass


class Shipped(Names):
    """A store that may be away, by way of an outbox."""

    def __init__(self, folder: str, outbox: Outbox, place: FolderStore) -> None:
        super().__init__(folder, _last_in(place, folder))
        self._outbox = outbox
        SHIPPING.add(outbox)

    @property
    def lost(self) -> int:
        return self._outbox.lost

    @property
    def waiting(self) -> Waiting:
        return Waiting(*self._outbox.waiting)

    def put(self, name: SegmentName, content: bytes, rows: int) -> None:
        self._outbox.put(name, content, rows)
        SHIPPING.wake()

    def close(self) -> None:
        SHIPPING.remove(self._outbox, PATIENCE)


def destination(broker: str, telemetry: Telemetry, store: Store | None = None) -> Destination:
    """`BadInput` if nothing can be written there, or waiting for it."""
    folder = folder_of(broker)
    if store is None:
        store = shared_store(str(telemetry.place))
    if store.is_local:
        return Direct(folder, store)
    place = FolderStore(str(telemetry.outbox or OUTBOX))
    return Shipped(folder, Outbox(folder, place, store, telemetry.outbox_bytes), place)


def _last_in(store: Store, folder: str) -> SegmentName | None:
    """The last name in a folder of this machine, which is made, and rid of what a crash has left."""
    last = last_name(store, folder)
    if isinstance(store, FolderStore):
        try:
            Path(store.at(folder)).mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise BadInput(store.place, f"cannot hold telemetry: {fault.strerror}") from None
        if last is not None:
            store.remove_torn(f"{folder}/{last.hour}")
    return last
