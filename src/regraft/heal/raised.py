"""Events that somebody raises: left in ZooKeeper for the node of the broker that they are about, or of
another one if that broker does not run yet.

    ROOT/heal/raised/ID/event-NN     an event; whoever has judged it takes it away

The node judges it by the rules as it does what it notices itself. If it dies in between, the event is judged
again after its return: whatever rules ask for may be done twice.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from regraft.coord import Coord, Corrupt, Layout
from regraft.coord.layout import encoded
from regraft.coord.typed import encode, read
from regraft.model.facts import Event
from regraft.model.record import Record

TAKEN_SECONDS = 10.0


class Raised(Record, frozen=True, kw_only=True):
    event: Event


def place(layout: Layout, broker: str) -> str:
    return f"{layout.root}/heal/raised/{encoded(broker)}"


async def raise_event(
    coord: Coord, layout: Layout, event: Event, seconds: float = TAKEN_SECONDS, at: str = ""
) -> bool:
    """Whether the node has judged it in time: that of `at`, or of the event's broker. If not, the event is
    withdrawn."""
    path = await coord.create(
        f"{place(layout, at or event.broker)}/event-", encode(Raised(event=event)), sequence=True
    )
    return await taken(coord, path, seconds)


async def taken(coord: Coord, path: str, seconds: float) -> bool:
    """Whether somebody has taken this node away in time. If not, it is withdrawn."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            async for node in coord.watch(path):
                if node is None:
                    return True
    return not await coord.delete(path)


async def raised(coord: Coord, layout: Layout, broker: str) -> AsyncIterator[Event]:
    """One after the other; one is taken away when the next is asked for. Garbage is taken away at once."""
    top = place(layout, broker)
    async for names in coord.watch_children(top):
        for name in names:
            path = f"{top}/{name}"
            with contextlib.suppress(Corrupt):
                if (stored := await read(coord, path, Raised)) is not None:
                    yield stored.value.event
            await coord.delete(path)
