"""The event stream: tells followers what has changed. A follower that is too slow is told to begin anew."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator

import msgspec

from regraft.serve.views import EventView, View

KEPT = 1000
"""How many past events are kept for followers that were disconnected for a moment."""
BEHIND = 500
"""How many events may wait for one follower."""


class Stream:
    """Ids grow, also across restarts, because they begin with the time of the start."""

    def __init__(self) -> None:
        self._next = int(time.time() * 1000)
        self._first = self._next
        self._kept: deque[EventView] = deque(maxlen=KEPT)
        self._followers: set[asyncio.Queue[EventView | None]] = set()

    @property
    def is_followed(self) -> bool:
        return bool(self._followers)

    def tell(self, kind: str, data: View | dict[str, object]) -> None:
        document = data if isinstance(data, dict) else msgspec.to_builtins(data)
        event = self._event(kind, document)
        self._kept.append(event)
        for follower in self._followers:
            if follower.qsize() < BEHIND:
                follower.put_nowait(event)
            elif follower.qsize() == BEHIND:
                follower.put_nowait(None)  # it has missed events: `follow` turns this into a reset

    def _event(self, kind: str, document: dict[str, object]) -> EventView:
        self._next += 1
        return EventView(id=self._next, at=time.time(), kind=kind, data=document)  # type: ignore[arg-type]

    async def follow(self, after: int | None) -> AsyncIterator[EventView]:
        """All events after this id, or from now on; a `reset` first if some of them are no longer kept."""
        queue: asyncio.Queue[EventView | None] = asyncio.Queue()
        self._followers.add(queue)
        try:
            if after is not None:
                if after < self._known_from() and after != self._next:
                    yield self._reset()
                else:
                    for event in [each for each in self._kept if each.id > after]:
                        yield event
            while True:
                if (new := await queue.get()) is not None:
                    yield new
                    continue
                while not queue.empty():
                    queue.get_nowait()
                yield self._reset()
        finally:
            self._followers.discard(queue)

    def _known_from(self) -> int:
        """The id after which every event is still kept."""
        return self._kept[0].id - 1 if len(self._kept) == KEPT else self._first

    def _reset(self) -> EventView:
        return EventView(id=self._next, at=time.time(), kind="reset", data={})
