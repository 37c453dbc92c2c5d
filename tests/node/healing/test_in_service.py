"""Living brokers that are removed are counted for the whole overlay."""

import asyncio
from typing import Any

from regraft.coord import Conflict, Layout, Node
from regraft.coord.typed import encode
from regraft.heal.limits import RemovalLimits
from regraft.node.healing.in_service import Removals, claim


class OneValue:
    """A ZooKeeper with one node; `others` write over it before our own writes."""

    def __init__(self, others: list[bytes]) -> None:
        self.node: Node | None = None
        self.others = others

    async def get(self, path: str) -> Node | None:
        return self.node

    async def create(self, path: str, data: bytes) -> None:
        await self._written(data, None)

    async def set(self, path: str, data: bytes, version: int) -> Node:
        return await self._written(data, version)

    async def _written(self, data: bytes, version: int | None) -> Node:
        if self.others:
            self.node = Node(self.others.pop(), (self.node.version if self.node else 0) + 1, 1, 1, 0)
            raise Conflict(Layout().root, "another write was faster")
        self.node = Node(data, (version or 0) + 1, 1, 1, 0)
        return self.node


def test_removals_of_living_brokers_are_counted_for_the_whole_overlay() -> None:
    async def scenario() -> None:
        limits = RemovalLimits(window=60.0, healthy=1)
        quiet: Any = OneValue([])
        assert await claim(quiet, Layout(), "b1", limits, 100.0) == ""
        assert await claim(quiet, Layout(), "b1", limits, 101.0) == "", "a second leader does the same"
        assert "b7 lives, and b1 was removed" in await claim(quiet, Layout(), "b7", limits, 102.0)
        assert await claim(quiet, Layout(), "b7", limits, 161.0) == ""
        busy: Any = OneValue([encode(Removals(living={"b9": 100.0}))])
        assert "b9 was removed" in await claim(busy, Layout(), "b1", limits, 100.0)

    asyncio.run(scenario())
