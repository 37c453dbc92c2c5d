"""Events that a person or a program raises: left in ZooKeeper for the node of the broker that they are about,
or for another node if that broker does not run yet.

    ROOT/heal/raised/ID/event-NN     an event; the node that has judged it deletes it

The node judges it by the rules, like what it notices itself. If the node dies meanwhile, it judges the event
again after its return: what rules ask for may be done twice.
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


class RaisedEvent(Record, frozen=True, kw_only=True):
    event: Event


def place(layout: Layout, broker: str) -> str:
    return f"{layout.root}/heal/raised/{encoded(broker)}"


async def raise_event(
    coord: Coord, layout: Layout, event: Event, seconds: float = TAKEN_SECONDS, at: str = ""
) -> bool:
    """Leaves the event for the node of `at`, or of the event's broker; returns whether it was judged in time.
    If not, the event is withdrawn."""
    path = await coord.create(
        f"{place(layout, at or event.broker)}/event-", encode(RaisedEvent(event=event)), sequence=True
    )
    return await taken(coord, path, seconds)


async def taken(coord: Coord, path: str, seconds: float) -> bool:
    """Waits until another process deletes this node; returns whether it did in time. If not, it is deleted
    here."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            async for node in coord.watch(path):
                if node is None:
                    return True
    return not await coord.delete(path)


async def raised(coord: Coord, layout: Layout, broker: str) -> AsyncIterator[Event]:
    """Yields one event after the other; each is deleted when the next is asked for. Garbage is deleted at
    once."""
    top = place(layout, broker)
    async for names in coord.watch_children(top):
        for name in names:
            path = f"{top}/{name}"
            with contextlib.suppress(Corrupt):
                if (stored := await read(coord, path, RaisedEvent)) is not None:
                    yield stored.value.event
            await coord.delete(path)
