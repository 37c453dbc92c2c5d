"""Links on one machine that are as slow as links between cities: bytes are delayed in both directions.

Only the broker that dials a link delays it, so that no link is delayed twice.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, cast

from regraft.broker.io.connection import Connection
from regraft.broker.io.entrance import FRAMES, Entrance
from regraft.broker.io.server import BrokerServer
from regraft.model import Ends, ends


class DelayedCalls:
    """Makes calls in the order in which they were put in, each `seconds` later."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, call: Callable[[], None]) -> None:
        due = self._loop.time() + self._seconds
        self._waiting.append((due, call))
        if len(self._waiting) == 1:
            self._loop.call_at(due, self._due)

    def hurry(self) -> None:
        """Make all waiting calls now."""
        while self._waiting:
            self._waiting.popleft()[1]()

    def drop(self) -> None:
        self._waiting.clear()

    def _due(self) -> None:
        now = self._loop.time()
        while self._waiting and self._waiting[0][0] <= now:
            self._waiting.popleft()[1]()
        if self._waiting:
            self._loop.call_at(self._waiting[0][0], self._due)


class DelayedTransport:
    """Delays what is written; everything else is left to the transport."""

    def __init__(self, transport: asyncio.Transport, seconds: float) -> None:
        self._transport = transport
        self._out = DelayedCalls(seconds)
        self._bytes = 0
        self._closing = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._bytes += len(data)
        self._out.put(lambda: self._write(data))

    def _write(self, data: bytes) -> None:
        self._bytes -= len(data)
        self._unless_lost(lambda: self._transport.write(data))

    def write_eof(self) -> None:
        self._out.put(lambda: self._unless_lost(self._transport.write_eof))

    def _unless_lost(self, write: Callable[[], None]) -> None:
        if self._transport.is_closing():
            return
        try:
            write()
        except RuntimeError:  # the connection is lost already, but `connection_lost` was not called yet
            self.abort()

    def close(self) -> None:
        self._closing = True
        self._out.put(self._transport.close)

    def abort(self) -> None:
        self._out.drop()
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._closing or self._transport.is_closing()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + self._bytes


class DelayedConnection(Connection):
    """A connection that was dialled to a neighbour `seconds` away."""

    def __init__(self, seconds: float, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._seconds = seconds
        self._incoming = DelayedCalls(seconds)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        own = cast(asyncio.Transport, transport)  # uvloop has its own classes
        delayed: Any = DelayedTransport(own, self._seconds)
        super().connection_made(delayed)

    def data_received(self, data: bytes) -> None:
        self._incoming.put(lambda: super(DelayedConnection, self).data_received(data))

    def connection_lost(self, exc: Exception | None) -> None:
        try:
            self._incoming.hurry()  # what arrived before the end must be received before `connection_lost`
        finally:
            super().connection_lost(exc)


def delayed_server(seconds: Mapping[Ends, float]) -> type[BrokerServer]:
    """A class of brokers whose links have these latencies, in seconds one way."""

    class DelayedServer(BrokerServer):
        def _new_connection(self, neighbour: str = "", entrance: Entrance = FRAMES) -> Connection:
            delay = seconds.get(ends(self.id, neighbour), 0.0) if neighbour else 0.0
            if not delay:
                return super()._new_connection(neighbour, entrance)
            self._next += 1
            allowed = self.configuration.allowed
            return DelayedConnection(delay, self, self._next, allowed, neighbour, self._fair_queue, entrance)

    return DelayedServer
