"""Where brokers and their managers are: owner nodes of those nearby are followed, others read when needed.

A manager hears of a new owner by a message of the leader, and a moment later by its watch: the first of the
two counts. The core decides what follows; this module knows which address to dial.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable

from regraft.coord import Coord, CoordError, Corrupt, Layout
from regraft.coord.typed import read, watch
from regraft.heal.detection import Evidence
from regraft.heal.owner import Owner
from regraft.heal.ownership import Places

Address = tuple[str, int]
AGAIN_SECONDS = 1.0
CONNECT_SECONDS = 1.0


class Whereabouts:
    """`seen` is called with the id and its owner whenever a watch shows a later one."""

    def __init__(self, coord: Coord, layout: Layout, seen: Callable[[str, Owner], None]) -> None:
        self.owners: dict[str, Owner] = {}
        self.addresses: dict[str, Address] = {}
        """Of brokers: what their neighbours dial."""
        self._coord = coord
        self._layout = layout
        self._seen = seen
        self._following: dict[str, asyncio.Task[None]] = {}

    def follow(self, ids: Iterable[str]) -> None:
        """Follows these, too. A broker that has left may come back: it must not be dialled where its deputy
        was."""
        for id in set(ids) - self._following.keys():
            self._following[id] = asyncio.create_task(self._follow(id))

    async def stop(self) -> None:
        tasks = list(self._following.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def find(self, id: str) -> Owner | None:
        """The owner that is known, or can be read now."""
        if id not in self.owners:
            stored = await read(self._coord, Places(self._layout, id).owner, Owner)
            if stored is not None:
                self.learn(id, stored.value)
        return self.owners.get(id)

    def manager(self, id: str) -> Address | None:
        """Where the manager of the node `id` listens."""
        owner = self.owners.get(id)
        if owner is None or owner.by or not owner.heal_port:
            return None
        return owner.heal_host, owner.heal_port

    def learn(self, id: str, owner: Owner) -> bool:
        """Keeps a later owner; returns whether it is later than the one that was known."""
        known = self.owners.get(id)
        if known is not None and owner.life <= known.life:
            return False
        self.owners[id] = owner
        if owner.port:
            self.addresses[id] = (owner.host, owner.port)
        return True

    async def _follow(self, id: str) -> None:
        path = Places(self._layout, id).owner
        while True:
            with contextlib.suppress(CoordError):
                async for stored in watch(self._coord, path, Owner):
                    if stored is None or isinstance(stored, Corrupt):
                        continue
                    if self.learn(id, stored.value):
                        self._seen(id, stored.value)
                return
            await asyncio.sleep(AGAIN_SECONDS)


async def examine(coord: Coord, layout: Layout, id: str, owner: Owner) -> Evidence:
    """What the address of a broker, and its presence, show."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(owner.host, owner.port)
        writer.transport.abort()
        found = Evidence.SILENT
    except ConnectionRefusedError:
        return Evidence.REFUSED
    except (OSError, TimeoutError, UnicodeError):
        found = Evidence.UNREACHABLE
    with contextlib.suppress(CoordError):
        if await coord.get(Places(layout, id).alive) is None:
            return Evidence.GONE
    return found
