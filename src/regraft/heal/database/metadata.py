"""The first layer (Mimosa Pudica §3.2): replicated metadata in ZooKeeper, followed by watches.

    ROOT/heal
      alive/ID       ephemeral: a database and its address
      placement      which databases hold which brokers
      grants         the queue of requests (`grants`)
      rules          the version of the rules and the sha256 of their text
    ROOT/topology    the map: written by the deployer, only read here

On failure: what was read last is kept and `fresh` turns false; writes end with `CoordUnreachable`. One server
of an ensemble of three may be lost. A node that holds garbage is reported (`faults`) and its last good value
kept.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from regraft.coord import (
    Conflict,
    ConnectionState,
    Coord,
    CoordError,
    Corrupt,
    Layout,
    Presence,
    Record,
    Stored,
)
from regraft.coord.layout import decoded, encoded
from regraft.coord.typed import decode, encode, read, watch, write
from regraft.heal.database.grants import GrantQueue
from regraft.heal.database.records import Map

ATTEMPTS = 100
REFRESH_SECONDS = 0.5


class RunningDatabase(Record, frozen=True, kw_only=True):
    """A running database, as it announces itself."""

    host: str
    port: int
    region: str = ""
    store: str = ""


class Placement(Record, frozen=True, kw_only=True):
    holders: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    regions: dict[str, str] = msgspec.field(default_factory=dict)


class Grants(Record, frozen=True, kw_only=True):
    queue: GrantQueue = GrantQueue()


class Head(Record, frozen=True, kw_only=True):
    """The version of the current rules; their text is in every second-layer database, under its sha256."""

    version: int = 0
    sha256: str = ""


class Current(Record, frozen=True, kw_only=True):
    """The topology as the deployer writes it."""

    epoch: int
    kind: str
    brokers: list[str]
    links: list[tuple[str, str]]


R = TypeVar("R", bound=Record)


class WatchedNode(Generic[R]):
    """A node in ZooKeeper, and its value as it was seen last."""

    def __init__(self, path: str, type: type[R], default: R | None) -> None:
        self.path = path
        self.type = type
        self.default = default
        self.stored: Stored[R] | None = None

    @property
    def value(self) -> R | None:
        return self.stored.value if self.stored else self.default


class Metadata:
    """As one database sees it. `changes` counts the changes that it has seen; `news` waits for the next."""

    def __init__(self, coord: Coord, layout: Layout) -> None:
        self.root = f"{layout.root}/heal"
        self.placement = WatchedNode(f"{self.root}/placement", Placement, Placement())
        self.grants = WatchedNode(f"{self.root}/grants", Grants, Grants())
        self.head = WatchedNode(f"{self.root}/rules", Head, Head())
        self.current = WatchedNode(layout.topology, Current, None)
        self.alive: dict[str, RunningDatabase] = {}
        self.changes = 0
        self._changed = asyncio.Condition()
        self.faults: list[str] = []
        self._coord = coord
        self._tasks: list[asyncio.Task[None]] = []
        self._presence: Presence | None = None

    @property
    def fresh(self) -> bool:
        return self._coord.state is ConnectionState.CONNECTED

    @property
    def map(self) -> Map | None:
        current = self.current.value
        if current is None:
            return None
        return Map(epoch=current.epoch, kind=current.kind, brokers=current.brokers, links=current.links)

    async def start(self) -> None:
        """Everything has been read once when this returns."""
        await self._begin(self.placement)
        await self._begin(self.grants)
        await self._begin(self.head)
        await self._begin(self.current)
        await self._coord.ensure(f"{self.root}/alive")
        self.alive = await running_databases(self._coord, self.root)
        self._tasks.append(asyncio.create_task(self._follow_alive()))

    async def _begin(self, kept: WatchedNode[R]) -> None:
        with contextlib.suppress(Corrupt):  # the watch reports it
            kept.stored = await read(self._coord, kept.path, kept.type)
        self._tasks.append(asyncio.create_task(self._follow(kept)))

    async def announce(self, id: str, here: RunningDatabase) -> None:
        """Makes this database known to others. The entry of an earlier start is replaced."""
        path = f"{self.root}/alive/{encoded(id)}"
        self._presence = Presence(self._coord, path, encode(here), replace=True)
        await self._presence.__aenter__()
        await self._presence.established()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._presence is not None:
            await self._presence.__aexit__(None, None, None)

    async def change(self, kept: WatchedNode[R], step: Callable[[R], R | None]) -> R:
        """Compare-and-set: `step` is applied again until its result is stored; None changes nothing.

        The first attempt uses the value that was seen last: without a conflict, it is a single request.
        """
        for attempt in range(ATTEMPTS):
            if attempt > 0:
                kept.stored = await read(self._coord, kept.path, kept.type)
            before = kept.value
            assert before is not None
            after = step(before)
            if after is None or after == before:
                if attempt > 0 or kept.stored is None:
                    return before
                continue  # the value may be old: read it before giving up
            try:
                node = await write(self._coord, kept.path, after, kept.stored.node if kept.stored else None)
            except Conflict:
                continue
            kept.stored = Stored(after, node)
            await self._notify()
            return after
        raise CoordError(f"{kept.path}: {ATTEMPTS} attempts to write it came after another write")

    async def refresh(self, kept: WatchedNode[R]) -> None:
        """Reads the value with every write that was acknowledged before; while ZooKeeper is away, the last
        value stays."""
        if not self.fresh:
            return
        with contextlib.suppress(CoordError, TimeoutError):
            async with asyncio.timeout(REFRESH_SECONDS):
                await self._coord.sync()
                kept.stored = await read(self._coord, kept.path, kept.type)

    async def _follow(self, kept: WatchedNode[R]) -> None:
        async for stored in watch(self._coord, kept.path, kept.type):
            if isinstance(stored, Corrupt):
                self.note(str(stored))
                continue
            if stored is None or kept.stored is None or stored.node.mzxid >= kept.stored.node.mzxid:
                kept.stored = stored
                await self._notify()

    async def _follow_alive(self) -> None:
        async for _ in self._coord.watch_children(f"{self.root}/alive"):
            with contextlib.suppress(CoordError):
                self.alive = await running_databases(self._coord, self.root)
                await self._notify()

    async def _notify(self) -> None:
        self.changes += 1
        async with self._changed:
            self._changed.notify_all()

    async def news(self, seen: int, deadline: float) -> bool:
        """Waits until `changes` is no longer what the caller has seen; False when the time is over."""
        try:
            async with asyncio.timeout_at(deadline), self._changed:
                await self._changed.wait_for(lambda: self.changes != seen)
        except TimeoutError:
            return False
        return True

    def note(self, fault: str) -> None:
        """Keeps the last faults, to be inspected."""
        self.faults = [*self.faults[-99:], fault]


async def running_databases(coord: Coord, root: str) -> dict[str, RunningDatabase]:
    """The running databases by id, without those whose entry is garbage."""
    found: dict[str, RunningDatabase] = {}
    for name in await coord.children(f"{root}/alive"):
        path = f"{root}/alive/{name}"
        node = await coord.get(path)
        with contextlib.suppress(Corrupt):
            if node is not None:
                found[decoded(name, f"{root}/alive")] = decode(path, node.data, RunningDatabase)
    return found
