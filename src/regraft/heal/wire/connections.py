"""Connections between managers: permanent to those that are watched, made on demand to others.

On failure: a connection that ends, or on which garbage comes, is reported by `down` when it was the last
one to that peer; kept ones are dialled again, with growing pauses. What was sent on a connection that broke
is lost: its sender repeats it (elections and questions do). A peer that does not know the secret gets no
answer.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable

from regraft.heal.wire.messages import FORMAT, Hello, Message
from regraft.wire.frames import BadFrame
from regraft.wire.identity import same_secret
from regraft.wire.streams import Address, Stream, address_of, dial, listen

log = logging.getLogger("regraft.heal")
HELLO_SECONDS = 2.0
CONNECT_SECONDS = 1.0
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0
UNSENT_BYTES = 4 << 20
"""A peer that has left more than this unread is disconnected."""


class ManagerConnection(Stream[Message, Message]):
    """One connection; `expected` is the peer that we have called."""

    def __init__(self, all: "Connections", expected: str = "") -> None:
        super().__init__(FORMAT, all.open, patience=HELLO_SECONDS, most_unsent=UNSENT_BYTES)
        self.expected = expected
        self._all = all

    def opened(self) -> None:
        if self.expected:
            self.send(self._all.hello)

    def heard(self, message: Message) -> None:
        if self.id:
            if not isinstance(message, Hello):
                self._all.heard(self.id, message)
        elif isinstance(message, Hello) and self._all.admits(message, self.expected):
            if not self.expected:
                self.send(self._all.hello)
            self.introduced(message.id)
            self._all.introduced(self)
        else:
            self.abort()

    def garbled(self, fault: BadFrame) -> None:
        log.warning("%s: connection of %s ends: %s", self._all.hello.id, self.id or "a stranger", fault)
        self.abort()

    def ended(self) -> None:
        self._all.ended(self)


class Connections:
    """The connections of one manager. `where` gives the address of a peer's manager; None if it is not
    known."""

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
        self.open: set[ManagerConnection] = set()
        self._where = where
        self._up, self._down = up, down
        self._accepting, self._dialling = accepting, dialling
        self._by_peer: dict[str, list[ManagerConnection]] = {}
        """Two if both sides have called at once; the last one is used."""
        self._kept: dict[str, asyncio.Task[None]] = {}
        self._waiting: dict[str, list[Message]] = {}
        """Messages for peers that are being called."""
        self._calls: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._stopped = False

    async def listen(self, host: str, port: int = 0) -> Address:
        self._server = await listen(lambda: ManagerConnection(self), (host, port), self._accepting)
        return address_of(self._server)

    @property
    def peers(self) -> frozenset[str]:
        """Those that are connected."""
        return frozenset(self._by_peer)

    def connected(self, peer: str) -> bool:
        return peer in self._by_peer

    def keep(self, peer: str) -> None:
        """Keeps a connection to this peer from now on."""
        if peer not in self._kept and not self._stopped and peer != self.hello.id:
            self._kept[peer] = asyncio.create_task(self._keep(peer))

    def drop(self, peer: str) -> None:
        if (task := self._kept.pop(peer, None)) is not None:
            task.cancel()

    def send(self, peer: str, message: Message) -> None:
        """Sends at once, or when the peer has answered a call; the message may be lost."""
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
        if not same_secret(self.hello.token, hello.token):
            log.warning("%s: a peer that calls itself %r has the wrong token", self.hello.id, hello.id)
            return False
        return hello.id != self.hello.id and expected in ("", hello.id)

    def introduced(self, connection: ManagerConnection) -> None:
        first = connection.id not in self._by_peer
        self._by_peer.setdefault(connection.id, []).append(connection)
        for message in self._waiting.pop(connection.id, []):
            connection.send(message)
        if first:
            self._up(connection.id)

    def ended(self, connection: ManagerConnection) -> None:
        there = self._by_peer.get(connection.id, [])
        if connection in there:
            there.remove(connection)
            if not there:
                del self._by_peer[connection.id]
                if not self._stopped:
                    self._again(connection.id)
                    self._down(connection.id)

    def _again(self, peer: str) -> None:
        if (task := self._kept.get(peer)) is not None and task.done():
            self._kept[peer] = asyncio.create_task(self._keep(peer))

    # Calling

    async def _keep(self, peer: str) -> None:
        """Calls until the peer is connected. Of two, the one with the smaller id calls first, the other a
        little later."""
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
                return await (
                    await dial(lambda: ManagerConnection(self, peer), address, self._dialling)
                ).known
        except (OSError, TimeoutError, UnicodeError) as fault:
            log.info("%s: the manager of %s does not answer: %r", self.hello.id, peer, fault)
            return False
