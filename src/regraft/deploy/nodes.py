"""The nodes that an agent wants to know, as they are now. Whatever is wrong with one is its value.

Unlike a deployer, which stops when the journal is damaged, an agent serves many masters: a node that can
not be read is left alone and reported once, and the agent goes on with the others.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from regraft.coord import Coord, CoordError, Corrupt, Node, Record, Stored
from regraft.coord.typed import read, watch

log = logging.getLogger("regraft.deploy")
AGAIN_SECONDS = 1.0
R = TypeVar("R", bound=Record)


class Nodes:
    """Each wanted node is watched; `changed` is set when one has become different."""

    def __init__(self, coord: Coord, changed: asyncio.Event) -> None:
        self._coord = coord
        self._changed = changed
        self._types: dict[str, type[Record]] = {}
        self._values: dict[str, Stored[Any] | Corrupt | None] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}

    def want(self, wanted: Mapping[str, type[Record]]) -> None:
        """These and no others."""
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
        """None: it is not there, or not what it should be."""
        value = self._values.get(path)
        return None if value is None or isinstance(value, Corrupt) else cast("Stored[R]", value)

    def is_corrupt(self, path: str) -> bool:
        return isinstance(self._values.get(path), Corrupt)

    def wrote(self, path: str, record: Record, node: Node) -> None:
        """Our own write: the watch will show it a moment later."""
        self._take(path, Stored(record, node))

    async def again(self, path: str) -> None:
        """What we knew of the node has turned out to be old."""
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
        """A watch may show what was there before our own write."""
        known = self._values.get(path)
        if isinstance(known, Stored) and isinstance(value, Stored) and value.node.mzxid < known.node.mzxid:
            return
        self._values[path] = value
