"""A client of the destination databases that run now, the closest first, while they come and go.

On failure: while there is none, `client` waits.
"""

import asyncio
import contextlib
from collections.abc import Callable

from regraft.coord import Coord, CoordError, Layout
from regraft.heal.database.client import DatabaseClient, closest
from regraft.heal.database.metadata import running_databases
from regraft.heal.rules import Checked

OLD_SECONDS = 30.0
"""A client that has been replaced is closed after this time: calls may still be under way on it."""
AGAIN_SECONDS = 0.5


class Databases:
    """`async with Databases(coord, layout, region) as databases: client = await databases.client()`

    `changed` gets the rules, at first and after each change.
    """

    def __init__(
        self,
        coord: Coord,
        layout: Layout,
        region: str,
        changed: Callable[[Checked], None] = lambda rules: None,
    ) -> None:
        self.rules = Checked()
        self._changed = changed
        self._coord = coord
        self._root = f"{layout.root}/heal"
        self._region = region
        self._client: DatabaseClient | None = None
        self._addresses: list[tuple[str, int]] = []
        self._there = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._rules_of: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> "Databases":
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [self._following, *self._followed.values(), *self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    async def client(self) -> DatabaseClient:
        await self._there.wait()
        assert self._client is not None
        return self._client

    async def _follow(self) -> None:
        while True:
            with contextlib.suppress(CoordError):
                async for names in self._coord.watch_children(f"{self._root}/alive"):
                    for name in set(names) - self._followed.keys():
                        self._followed[name] = asyncio.create_task(self._follow_one(name))
                    await self._look()
                return
            await asyncio.sleep(AGAIN_SECONDS)

    async def _follow_one(self, name: str) -> None:
        """A database that died and was started again has the same name, and another address."""
        while True:
            with contextlib.suppress(CoordError):
                async for _ in self._coord.watch(f"{self._root}/alive/{name}"):
                    await self._look()
                return
            await asyncio.sleep(AGAIN_SECONDS)

    async def _look(self) -> None:
        self._use(closest(await running_databases(self._coord, self._root), self._region))

    def _use(self, addresses: list[tuple[str, int]]) -> None:
        """If none is left, the last ones are kept: perhaps only ZooKeeper has lost them."""
        if not addresses or addresses == self._addresses:
            return
        old, self._client, self._addresses = self._client, DatabaseClient(addresses), addresses
        self._there.set()
        self._rules_of.cancel()
        self._rules_of = following = asyncio.create_task(self._follow_rules(self._client))
        self._tasks = {task for task in self._tasks if not task.done()} | {following}
        if old is not None:
            self._tasks.add(asyncio.create_task(_closed_later(old)))

    async def _follow_rules(self, client: DatabaseClient) -> None:
        async for rules in client.follow_rules():
            self.rules = rules
            self._changed(rules)


async def _closed_later(client: DatabaseClient) -> None:
    try:
        await asyncio.sleep(OLD_SECONDS)
    finally:
        await client.close()
