"""Nodes as they are now: each is watched, and what we write ourselves is known at once."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any, TypeVar, cast

from regraft.coord import Coord, CoordError, Node, Record, Stored
from regraft.coord.typed import read, watch

R = TypeVar("R", bound=Record)


class Followed:
    """`changed` is set whenever a node that is wanted has become different."""

    def __init__(self, coord: Coord) -> None:
        self.changed = asyncio.Event()
        self._coord = coord
        self._types: dict[str, type[Record]] = {}
        self._nodes: dict[str, Stored[Any] | None] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._read: dict[str, asyncio.Event] = {}
        self._fault: Exception | None = None

    async def want(self, wanted: Mapping[str, type[Record]]) -> None:
        """These nodes too; each has been read at least once when this returns."""
        for path, type in wanted.items():
            if path not in self._watching:
                self._types[path] = type
                self._read[path] = asyncio.Event()
                self._watching[path] = asyncio.create_task(self._watch(path, type, self._read[path]))
        for path in wanted:
            await self._read[path].wait()
        if self._fault is not None:
            raise self._fault

    def keep_only(self, paths: Collection[str]) -> None:
        for path in [path for path in self._watching if path not in paths]:
            self._watching.pop(path).cancel()
            for known in (self._nodes, self._read, self._types):
                known.pop(path, None)

    def get(self, path: str, type: type[R]) -> Stored[R] | None:
        return cast("Stored[R] | None", self._nodes.get(path))

    def wrote(self, path: str, record: Record, node: Node) -> None:
        """Our own write: the watch would show it a moment later."""
        if path in self._watching:
            self._take(path, Stored(record, node))

    async def again(self) -> None:
        """Read everything anew: what we knew has turned out to be old."""
        await self._coord.sync()
        for path, type in list(self._types.items()):
            self._take(path, await read(self._coord, path, type))

    async def stop(self) -> None:
        tasks = list(self._watching.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._watching.clear()

    async def _watch(self, path: str, type: type[Record], was_read: asyncio.Event) -> None:
        try:
            async for stored in watch(self._coord, path, type):
                if isinstance(stored, Exception):
                    self._fault = stored
                else:
                    self._take(path, stored)
                was_read.set()
                self.changed.set()
        except CoordError as fault:
            self._fault = fault
        finally:
            was_read.set()
            self.changed.set()

    def _take(self, path: str, stored: Stored[Any] | None) -> None:
        """A watch may show what was there before our own write."""
        known = self._nodes.get(path)
        if known is None or stored is None or stored.node.mzxid >= known.node.mzxid:
            self._nodes[path] = stored
            self.changed.set()
