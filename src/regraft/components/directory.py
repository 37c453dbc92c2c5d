"""Where each component is: one entry for each name, changed by compare-and-set. In ZooKeeper:

    ROOT/components
      names/NAME    an `Entry`: the place that owns it, and which tenure there
      hosts/ID      ephemeral: a running host, and its address

On failure: `DirectoryAway` if the directory did not answer; a write may then have happened, or may still
happen. An entry that holds garbage is `coord.Corrupt`, with the repair.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Protocol

from regraft.components.messages import Entry, Found
from regraft.coord import Conflict, Coord, CoordError, Corrupt, Layout, Presence, Record
from regraft.coord.layout import decoded, encoded
from regraft.coord.typed import decode, encode
from regraft.model import RegraftError

Address = tuple[str, int]


class DirectoryAway(RegraftError):
    """The directory could not be reached, or did not answer."""


class Directory(Protocol):
    async def find(self, name: str) -> Found | None:
        """Reads with every write that was acknowledged to anyone before."""

    async def put(self, entry: Entry, version: int | None) -> int | None:
        """Writes over `version`, or a new entry (None); returns the new version, or None after a conflict."""

    async def remove(self, name: str, version: int) -> Found | None:
        """Deletes the entry if it has this version; returns what is there afterwards."""

    async def all(self) -> dict[str, Entry]: ...

    def follow(self) -> AsyncIterator[dict[str, Entry]]:
        """All entries, now and after each change."""

    async def address(self, host: str) -> Address | None:
        """The address of a running host."""

    async def announce(self, host: str, address: Address) -> None:
        """Makes the address known until `withdraw`."""

    async def withdraw(self) -> None: ...


def places(entries: Mapping[str, Entry]) -> dict[str, tuple[str, ...]]:
    """The components of each broker that has any, as `model.facts` holds them."""
    found: dict[str, list[str]] = {}
    for name, entry in sorted(entries.items()):
        found.setdefault(entry.place, []).append(name)
    return {place: tuple(names) for place, names in found.items()}


class HostRecord(Record, frozen=True, kw_only=True):
    host: str
    port: int


class EntryRecord(Record, frozen=True, kw_only=True):
    """An Entry as a node holds it."""

    name: str
    place: str
    tenure: str
    bundle: str = ""
    origin: str = ""


class ZookeeperDirectory:
    """Uses a connection that its owner opens and closes."""

    def __init__(self, coord: Coord, layout: Layout) -> None:
        self.root = f"{layout.root}/components"
        self._coord = coord
        self._presence: Presence | None = None

    def _path(self, name: str) -> str:
        return f"{self.root}/names/{encoded(name)}"

    async def find(self, name: str) -> Found | None:
        with _away():
            await self._coord.sync()
            return await self._get(name)

    async def _get(self, name: str) -> Found | None:
        node = await self._coord.get(self._path(name))
        return None if node is None else Found(_entry(self._path(name), node.data), node.version)

    async def put(self, entry: Entry, version: int | None) -> int | None:
        path, data = self._path(entry.name), _data(entry)
        with _away():
            try:
                if version is None:
                    await self._coord.create(path, data)
                    return 0
                return (await self._coord.set(path, data, version)).version
            except Conflict:
                return None

    async def remove(self, name: str, version: int) -> Found | None:
        with _away():
            with contextlib.suppress(Conflict):
                await self._coord.delete(self._path(name), version)
            return await self._get(name)

    async def all(self) -> dict[str, Entry]:
        with _away():
            names = await self._coord.children(f"{self.root}/names")
            found = await asyncio.gather(*[self._get(decoded(name, self.root)) for name in names])
            return {each.entry.name: each.entry for each in found if each is not None}

    async def follow(self) -> AsyncIterator[dict[str, Entry]]:
        """Each name has a watch of its own: moves do not change the list of names."""
        changed = asyncio.Event()
        watches: dict[str, asyncio.Task[None]] = {}
        entries: dict[str, Entry] = {}

        async def one(name: str) -> None:
            async for node in self._coord.watch(self._path(name)):
                entries.pop(name, None)
                if node is not None:
                    with contextlib.suppress(Corrupt):
                        entries[name] = _entry(self._path(name), node.data)
                changed.set()

        async def names() -> None:
            async for listed in self._coord.watch_children(f"{self.root}/names"):
                known = {decoded(name, self.root) for name in listed}
                for name in known - watches.keys():
                    watches[name] = asyncio.create_task(one(name))
                for name in watches.keys() - known:
                    watches.pop(name).cancel()
                    entries.pop(name, None)
                changed.set()

        await self._coord.ensure(f"{self.root}/names")
        listing = asyncio.create_task(names())
        try:
            while True:
                await changed.wait()
                changed.clear()
                yield dict(entries)
        finally:
            for task in (listing, *watches.values()):
                task.cancel()

    async def address(self, host: str) -> Address | None:
        path = f"{self.root}/hosts/{encoded(host)}"
        with _away():
            node = await self._coord.get(path)
            if node is not None:
                record = decode(path, node.data, HostRecord)
                return record.host, record.port
        return None

    async def announce(self, host: str, address: Address) -> None:
        data = encode(HostRecord(host=address[0], port=address[1]))
        path = f"{self.root}/hosts/{encoded(host)}"
        self._presence = Presence(self._coord, path, data, replace=True)
        await self._presence.__aenter__()
        with _away():
            await self._coord.ensure(f"{self.root}/names")
            await self._presence.established()

    async def withdraw(self) -> None:
        if self._presence is not None:
            await self._presence.__aexit__(None, None, None)


def _data(entry: Entry) -> bytes:
    return encode(
        EntryRecord(
            name=entry.name, place=entry.place, tenure=entry.tenure, bundle=entry.bundle, origin=entry.origin
        )
    )


def _entry(path: str, data: bytes) -> Entry:
    record = decode(path, data, EntryRecord)
    return Entry(
        name=record.name,
        place=record.place,
        tenure=record.tenure,
        bundle=record.bundle,
        origin=record.origin,
    )


@contextlib.contextmanager
def _away() -> Iterator[None]:
    try:
        yield
    except Corrupt:
        raise
    except CoordError as fault:
        raise DirectoryAway(str(fault)) from None
