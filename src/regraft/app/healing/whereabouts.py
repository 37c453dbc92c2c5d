"""Where brokers and their managers are: owner nodes of those nearby are followed, others read when needed.

A manager hears of a new owner by a message of the leader, and a moment later by its watch: whichever is
first counts.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable

from regraft.coord import Coord, CoordError, Corrupt, Layout
from regraft.coord.typed import read, watch
from regraft.heal.ownership import Owner, Places

Address = tuple[str, int]
AGAIN_SECONDS = 1.0


class Whereabouts:
    """`changed` is called with the id and its owner whenever a later one is known."""

    def __init__(self, coord: Coord, layout: Layout, changed: Callable[[str, Owner], None]) -> None:
        self.owners: dict[str, Owner] = {}
        self.addresses: dict[str, Address] = {}
        """Of brokers: what their neighbours dial."""
        self._coord = coord
        self._layout = layout
        self._changed = changed
        self._following: dict[str, asyncio.Task[None]] = {}

    def follow(self, ids: Iterable[str]) -> None:
        """These, too. One that has left may come back: it must not be called where its deputy was."""
        for id in set(ids) - self._following.keys():
            self._following[id] = asyncio.create_task(self._follow(id))

    async def stop(self) -> None:
        tasks = list(self._following.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def find(self, id: str) -> Owner | None:
        """Known, or read now."""
        if id not in self.owners:
            with contextlib.suppress(CoordError):
                stored = await read(self._coord, Places(self._layout, id).owner, Owner)
                if stored is not None:
                    self.learn(id, stored.value)
        return self.owners.get(id)

    def node_of(self, id: str) -> str:
        """The broker in whose process this one runs: itself, unless it has a deputy."""
        owner = self.owners.get(id)
        return owner.by or id if owner is not None else id

    def manager(self, id: str) -> Address | None:
        """Where the manager of the node `id` listens."""
        owner = self.owners.get(id)
        if owner is None or owner.by or not owner.heal_port:
            return None
        return owner.heal_host, owner.heal_port

    def learn(self, id: str, owner: Owner) -> None:
        known = self.owners.get(id)
        if known is not None and owner.life <= known.life:
            return
        self.owners[id] = owner
        if owner.port:
            self.addresses[id] = (owner.host, owner.port)
        self._changed(id, owner)

    async def _follow(self, id: str) -> None:
        path = Places(self._layout, id).owner
        while True:
            with contextlib.suppress(CoordError):
                async for stored in watch(self._coord, path, Owner):
                    if stored is not None and not isinstance(stored, Corrupt):
                        self.learn(id, stored.value)
                return
            await asyncio.sleep(AGAIN_SECONDS)
