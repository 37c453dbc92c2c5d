"""Nodes of the journal as they are now: each is watched, and what we write ourselves is known at once.

A deployer (`DeployerNodes`) must not continue with a damaged journal, so a node that cannot be read stops
it. An agent (`AgentNodes`) may take part in several actions, so a node that cannot be read is reported once,
and the agent continues with the others.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar, cast

from regraft.coord import Coord, CoordError, Corrupt, Node, Record, Stored
from regraft.coord.typed import read, watch

log = logging.getLogger("regraft.deploy")
AGAIN_SECONDS = 1.0
R = TypeVar("R", bound=Record)


class AgentNodes:
    """The nodes that an agent wants to know. `changed` is set whenever one of them has changed."""

    def __init__(self, coord: Coord, changed: asyncio.Event) -> None:
        self._coord = coord
        self._changed = changed
        self._types: dict[str, type[Record]] = {}
        self._values: dict[str, Stored[Any] | Corrupt | None] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}

    def want(self, wanted: Mapping[str, type[Record]]) -> None:
        """Watch these nodes, and no others."""
        for path in [path for path in self._watching if path not in wanted]:
            self._watching.pop(path).cancel()
            self._values.pop(path, None)
        for path, type in wanted.items():
            if path not in self._watching:
                self._types[path] = type
                self._watching[path] = asyncio.create_task(self._watch(path, type))

    def are_read(self, paths: Iterable[str]) -> bool:
        return all(path in self._values for path in paths)

    def get(self, path: str, type: type[R]) -> Stored[R] | None:
        """None: the node does not exist, or is corrupt."""
        value = self._values.get(path)
        return None if value is None or isinstance(value, Corrupt) else cast("Stored[R]", value)

    def is_corrupt(self, path: str) -> bool:
        return isinstance(self._values.get(path), Corrupt)

    def wrote(self, path: str, record: Record, node: Node) -> None:
        """Our own write, which the watch will show only a moment later."""
        self._take(path, Stored(record, node))

    async def again(self, path: str) -> None:
        """Read the node again, because what we knew of it has turned out to be old."""
        try:
            self._values[path] = await read(self._coord, path, self._types[path])
        except Corrupt as fault:
            self._values[path] = fault

    async def stop(self) -> None:
        watching = list(self._watching.values())
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)

    async def _watch(self, path: str, type: type[Record]) -> None:
        while True:
            try:
                async for value in watch(self._coord, path, type):
                    if isinstance(value, Corrupt):
                        log.error("%s", value)
                    self._take(path, value)
                    self._changed.set()
                return  # the client was stopped
            except CoordError as fault:
                log.warning("%s cannot be watched: %s", path, fault)
                await asyncio.sleep(AGAIN_SECONDS)

    def _take(self, path: str, value: Stored[Any] | Corrupt | None) -> None:
        if not _is_older(value, self._values.get(path)):
            self._values[path] = value


class DeployerNodes:
    """The nodes that a deployer wants to know. `changed` is set whenever one of them has changed."""

    def __init__(self, coord: Coord) -> None:
        self.changed = asyncio.Event()
        self._coord = coord
        self._types: dict[str, type[Record]] = {}
        self._nodes: dict[str, Stored[Any] | None] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._read: dict[str, asyncio.Event] = {}
        self._fault: Exception | None = None

    async def want(self, wanted: Mapping[str, type[Record]]) -> None:
        """Watch these nodes too. Each has been read at least once when this returns."""
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
        """Our own write, which the watch will show only a moment later."""
        if path in self._watching:
            self._take(path, Stored(record, node))

    async def again(self) -> None:
        """Read all nodes again, because what we knew has turned out to be old."""
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
        if not _is_older(stored, self._nodes.get(path)):
            self._nodes[path] = stored
            self.changed.set()


def _is_older(value: object, known: object) -> bool:
    """Whether a watch shows what was there before our own write, which we know already."""
    return isinstance(value, Stored) and isinstance(known, Stored) and value.node.mzxid < known.node.mzxid
