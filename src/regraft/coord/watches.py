"""Watches as iterators that never miss the last value.

ZooKeeper's watches fire once. A round is: forget that anything fired, read and arm in one request, hand
out what is new, wait until it fires. Whatever happens after the reading fires the watch that the reading
has armed, so the last value is never missed; changes that come faster than the rounds fall together.
kazoo fires all of them when the connection is lost, and then the reading waits for the next connection.

All watches of a client share one function: kazoo keeps functions in a set for each path, so an iteration
that is left leaves nothing behind, however often it is begun anew.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from regraft.coord.errors import CoordUnreachable
from regraft.coord.session import Session
from regraft.coord.values import Change, State

T = TypeVar("T")
_NOTHING = object()


class Watches:
    """Who waits for which path."""

    def __init__(self, session: Session) -> None:
        self._loop = asyncio.get_running_loop()
        self._session = session
        self._waiting: dict[str, set[asyncio.Event]] = {}
        session.listeners.append(self._on_state)

    async def follow(
        self,
        path: str,
        read: Callable[[str, Any], Awaitable[T]],
        mark: Callable[[T], object],
    ) -> AsyncIterator[T]:
        """`read` arms the watch; values of which `mark` tells the same follow each other only once."""
        fired = asyncio.Event()
        self._waiting.setdefault(path, set()).add(fired)
        last: object = _NOTHING
        try:
            while self._session.state is not State.CLOSED:
                fired.clear()
                try:
                    value = await read(path, self._fired)
                except CoordUnreachable:
                    await self._connected_again()
                    continue
                if mark(value) != last:
                    last = mark(value)
                    yield value
                await fired.wait()
        finally:
            self._waiting[path].discard(fired)
            if not self._waiting[path]:
                del self._waiting[path]

    async def _connected_again(self) -> None:
        """Without a time limit: who watches waits for as long as it takes."""
        with contextlib.suppress(CoordUnreachable):
            await self._session.connected(self._loop.time() + 3600)

    def _fired(self, event: Any) -> None:
        """In kazoo's thread. An event without a path: the connection was lost, with all watches."""
        with contextlib.suppress(RuntimeError):  # the loop has ended before the threads
            self._loop.call_soon_threadsafe(self._wake, event.path)

    def _wake(self, path: str | None) -> None:
        for waiting in self._waiting.values() if path is None else [self._waiting.get(path, set())]:
            for fired in waiting:
                fired.set()

    def _on_state(self, change: Change) -> None:
        """A new session has no watches; and nobody waits on a closed one."""
        if change.new_session or change.state is State.CLOSED:
            self._wake(None)
