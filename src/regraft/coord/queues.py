"""Places in queues: ephemeral sequential nodes, of which the first holds the name that the queue is for.

On failure: a place is deleted with the session that took it. A contender that loses its session while it
waits takes a new place at the end. A contender that gives up removes its places; without a connection, as
soon as there is one.

A contender for several names takes a place in all their queues in one transaction. Places are thus in the
same order in every queue, so contenders wait only for those that came before them, and there is no deadlock.
"""

import asyncio
import uuid
from collections.abc import Sequence

from regraft.coord.client import Coord
from regraft.coord.errors import CoordError, CoordUnreachable, Corrupt, Missing
from regraft.coord.layout import corrupt
from regraft.coord.values import ConnectionState, Create
from regraft.coord.writes import SEQUENCE_DIGITS, sequence_of


class Contender:
    """A place in every queue, on the way to the front."""

    def __init__(self, coord: Coord, queues: Sequence[str], who: str) -> None:
        self.tag = uuid.uuid4().hex
        self.places: list[str] = []
        self.before: str | None = None
        """The node before ours, as far as we know."""
        self._coord = coord
        self._queues = queues
        self._who = who
        self._session_id: int | None = None

    async def advance(self, *, patient: bool) -> str | None:
        """None when we are first in every queue; or, if not `patient`, a node that is before ours."""
        await self._enqueue()
        while True:
            self.before = await self._predecessor()
            if self.before is None or not patient:
                return self.before
            await self._vanished(self.before)

    def leave(self) -> asyncio.Task[None]:
        """Remove our places, by the tag: if an answer was lost, we do not know the names of our nodes."""
        return self._coord.in_background(withdraw(self._coord, self._queues, self.tag))

    async def _enqueue(self) -> None:
        creates = [Create(f"{queue}/", self._who.encode(), True, True) for queue in self._queues]
        try:
            places = await self._coord.transaction(creates, tag=self.tag)
        except Missing:
            for queue in self._queues:
                await self._coord.ensure(queue)
            places = await self._coord.transaction(creates, tag=self.tag)
        self.places = [str(place) for place in places]
        self._session_id = self._coord.session_id

    async def _predecessor(self) -> str | None:
        """A node before ours; None if there is none. One look at each queue is enough, because a place that
        is first stays first."""
        for queue, place in zip(self._queues, self.places, strict=True):
            names = await in_line(self._coord, queue)
            own = place.rpartition("/")[2]
            if own not in names:  # deleted, perhaps with the session: go to the end of the queues
                await withdraw(self._coord, self._queues, self.tag)
                await self._enqueue()
                return await self._predecessor()
            if names[0] != own:
                return f"{queue}/{names[names.index(own) - 1]}"
        return None

    async def _vanished(self, place: str) -> None:
        """Wait until the node is deleted; or until our session has ended, and our places with it."""
        renewed = asyncio.Event()
        forget = self._coord.on_state(lambda change: renewed.set() if change.new_session else None)
        if self._coord.session_id != self._session_id:
            renewed.set()
        waits = [asyncio.create_task(self._absence(place)), asyncio.create_task(renewed.wait())]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        finally:
            forget()
            for one in waits:
                one.cancel()

    async def _absence(self, place: str) -> bool:
        async for node in self._coord.watch(place):
            if node is None:
                return True
        raise CoordError(f"{place}: the connection was closed while waiting for it")


async def in_line(coord: Coord, queue: str) -> list[str]:
    """The names in the queue, from its front."""
    try:
        return in_order(queue, await coord.children(queue))
    except Corrupt as fault:
        raise fault.at(coord.configuration.hosts) from None


def in_order(queue: str, names: Sequence[str]) -> list[str]:
    for name in names:
        if not (name[-SEQUENCE_DIGITS:].isdecimal() and len(name) > SEQUENCE_DIGITS):
            raise corrupt(f"{queue}/{name}", "is not a place in a queue")
    return sorted(names, key=sequence_of)


async def withdraw(coord: Coord, queues: Sequence[str], tag: str) -> None:
    """Delete our places. Try again for as long as the session lives, because its end deletes them."""
    session_id = coord.session_id
    while coord.state is not ConnectionState.CLOSED and coord.session_id == session_id:
        try:
            for queue in queues:
                for name in await coord.children(queue):
                    if tag in name:
                        await coord.delete(f"{queue}/{name}")
            return
        except CoordUnreachable:
            continue
