"""Connections between managers: kept up to those who are watched, made for the others when something is said.

On failure: a connection that ends, or on which garbage comes, is reported by `down` when it was the last
one to that peer; kept ones are dialled again, with growing pauses. What was sent on a connection that broke
is lost: who says it repeats it (elections and questions do). A peer that does not know the secret hears
nothing.
"""

import asyncio
import hmac
import logging
import ssl
from collections.abc import Callable
from typing import cast

from regraft.heal.wire.messages import Frames, Hello, Message, frame
from regraft.model import BadInput

log = logging.getLogger("regraft.heal")
Address = tuple[str, int]
HELLO_SECONDS = 2.0
CONNECT_SECONDS = 1.0
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
UNSENT_BYTES = 4 << 20
"""A peer that reads so little is gone."""


class Connection(asyncio.Protocol):
    """One; `peer` is empty until it has said who it is."""

    def __init__(self, all: "Connections", expected: str = "") -> None:
        self.peer = ""
        self.expected = expected
        self.transport: asyncio.Transport | None = None
        self.known: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._all = all
        self._frames = Frames()
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._patience = asyncio.get_running_loop().call_later(HELLO_SECONDS, self.abort)
        if self.expected:
            self.send(self._all.hello)
        self._all.open.add(self)

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._frames.add(data):
                self._heard(message)
        except BadInput as fault:
            log.warning("%s: connection of %s ends: %s", self._all.hello.id, self.peer or "a stranger", fault)
            self.abort()

    def _heard(self, message: Message) -> None:
        if self.peer:
            if not isinstance(message, Hello):
                self._all.heard(self.peer, message)
            return
        if not isinstance(message, Hello) or not self._all.admits(message, self.expected):
            self.abort()
            return
        if self._patience is not None:
            self._patience.cancel()
        self.peer = message.id
        if not self.expected:
            self.send(self._all.hello)
        if not self.known.done():
            self.known.set_result(True)
        self._all.introduced(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self.transport = None
        if not self.known.done():
            self.known.set_result(False)
        self._all.ended(self)

    def send(self, message: Message) -> None:
        if self.transport is None:
            return
        if self.transport.get_write_buffer_size() > UNSENT_BYTES:
            self.abort()
            return
        self.transport.write(frame(message))

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()


class Connections:
    """Of one manager. `where` says where the manager is that speaks for a peer; None: nobody knows."""

    def __init__(
        self,
        hello: Hello,
        where: Callable[[str], Address | None],
        heard: Callable[[str, Message], None],
        up: Callable[[str], None] = lambda peer: None,
        down: Callable[[str], None] = lambda peer: None,
        *,
        accepting: ssl.SSLContext | None = None,
        dialling: ssl.SSLContext | None = None,
    ) -> None:
        self.hello = hello
        self.heard = heard
        self.open: set[Connection] = set()
        self._where = where
        self._up, self._down = up, down
        self._accepting, self._dialling = accepting, dialling
        self._by_peer: dict[str, list[Connection]] = {}
        self._kept: dict[str, asyncio.Task[None]] = {}
        self._waiting: dict[str, list[Message]] = {}
        """For those who are being called."""
        self._calls: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._stopped = False

    async def listen(self, host: str, port: int = 0) -> Address:
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Connection(self), host, port, ssl=self._accepting, backlog=256
            )
        except (OSError, UnicodeError) as fault:
            reason = getattr(fault, "strerror", None) or fault
            raise BadInput(f"{host}:{port}", f"can not be listened on: {reason}") from None
        found = self._server.sockets[0].getsockname()
        return found[0], found[1]

    def connected(self, peer: str) -> bool:
        return peer in self._by_peer

    def keep(self, peer: str) -> None:
        """Be connected to it from now on."""
        if peer not in self._kept and not self._stopped and peer != self.hello.id:
            self._kept[peer] = asyncio.create_task(self._keep(peer))

    def drop(self, peer: str) -> None:
        if (task := self._kept.pop(peer, None)) is not None:
            task.cancel()

    def send(self, peer: str, message: Message) -> None:
        """At once, or as soon as it has answered a call; nobody knows whether it arrives."""
        if (there := self._by_peer.get(peer)) is not None:
            there[-1].send(message)
        elif peer != self.hello.id and not self._stopped:
            first = peer not in self._waiting
            self._waiting.setdefault(peer, []).append(message)
            if first:
                call = asyncio.create_task(self._call_for(peer))
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)

    async def stop(self) -> None:
        self._stopped = True
        tasks = [*self._kept.values(), *self._calls]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()
        for connection in list(self.open):
            connection.abort()

    # What connections tell

    def admits(self, hello: Hello, expected: str) -> bool:
        if not hmac.compare_digest(hello.token.encode(), self.hello.token.encode()):
            log.warning("%s: somebody who calls itself %r has the wrong token", self.hello.id, hello.id)
            return False
        return hello.id != self.hello.id and expected in ("", hello.id)

    def introduced(self, connection: Connection) -> None:
        first = connection.peer not in self._by_peer
        self._by_peer.setdefault(connection.peer, []).append(connection)
        for message in self._waiting.pop(connection.peer, []):
            connection.send(message)
        if first:
            self._up(connection.peer)

    def ended(self, connection: Connection) -> None:
        self.open.discard(connection)
        there = self._by_peer.get(connection.peer, [])
        if connection in there:
            there.remove(connection)
            if not there:
                del self._by_peer[connection.peer]
                if not self._stopped:
                    self._again(connection.peer)
                    self._down(connection.peer)

    def _again(self, peer: str) -> None:
        if (task := self._kept.get(peer)) is not None and task.done():
            self._kept[peer] = asyncio.create_task(self._keep(peer))

    # Calling

    async def _keep(self, peer: str) -> None:
        """Until it is there. Of two, the one with the smaller id calls first, the other a little later."""
        pause = FIRST_PAUSE
        if self.hello.id > peer:
            await asyncio.sleep(pause)
        while not self.connected(peer) and not await self._call(peer):
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, 2 * pause)

    async def _call_for(self, peer: str) -> None:
        try:
            await self._call(peer)
        finally:
            self._waiting.pop(peer, None)

    async def _call(self, peer: str) -> bool:
        address = self._where(peer)
        if address is None:
            return False
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: Connection(self, peer), *address, ssl=self._dialling
                )
                return await connection.known
        except (OSError, TimeoutError, UnicodeError) as fault:
            log.info("%s: the manager of %s does not answer: %r", self.hello.id, peer, fault)
            return False
