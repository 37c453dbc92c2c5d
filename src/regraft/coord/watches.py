"""Watches as iterators that never miss the last value.

ZooKeeper's watches fire once. A round is: forget that anything fired, read and arm the watch in one request,
yield the value if it is new, wait until the watch fires. Every change after the read fires the watch that
the read has armed, so the last value is never missed; several changes within one round are seen as one.
kazoo fires all watches when the connection is lost, and the next read then waits for the next connection.

All watches of a client share one function. kazoo keeps the functions of each path in a set, so an iteration
that ends leaves nothing behind in kazoo, however many follow it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from regraft.coord.errors import CoordUnreachable
from regraft.coord.session import Session
from regraft.coord.values import ConnectionChange, ConnectionState

T = TypeVar("T")
_NOTHING = object()


class Watches:
    """The iterations that wait for each path."""

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
        """`read` arms the watch. A value is not repeated while its `mark` stays the same."""
        fired = asyncio.Event()
        self._waiting.setdefault(path, set()).add(fired)
        last: object = _NOTHING
        try:
            while self._session.state is not ConnectionState.CLOSED:
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
        """In practice without a time limit: an iteration waits for as long as it takes."""
        with contextlib.suppress(CoordUnreachable):
            await self._session.connected(self._loop.time() + 3600)

    def _fired(self, event: Any) -> None:
        """In kazoo's thread. An event without a path: the connection was lost, with all watches."""
        with contextlib.suppress(RuntimeError):  # the event loop has ended before kazoo's threads
            self._loop.call_soon_threadsafe(self._wake, event.path)

    def _wake(self, path: str | None) -> None:
        for waiting in self._waiting.values() if path is None else [self._waiting.get(path, set())]:
            for fired in waiting:
                fired.set()

    def _on_state(self, change: ConnectionChange) -> None:
        """A new session has no watches, so all must be armed again; a closed one ends the iterations."""
        if change.new_session or change.state is ConnectionState.CLOSED:
            self._wake(None)
