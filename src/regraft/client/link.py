"""The client's connection: kept up as long as the session lasts, to one of several addresses.

It moves bytes between the broker and the client's core and knows nothing of applications.
"""

import asyncio
import os
import random
import ssl
from collections.abc import Callable, Sequence
from typing import cast

from regraft.client.addresses import Address
from regraft.client.core import Client
from regraft.protocol.messages import AnyMessage, Refused
from regraft.wire.frames import BadFrame
from regraft.wire.numbered import Reader, Wire, frames
from regraft.wire.streams import dial

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 2.0
CONNECT_SECONDS = 5.0
BEAT_SECONDS = 1.0
ROOM = 2**16
"""Bytes by which a frame may be longer than what we may send: brokers add to what they pass on."""
SILENT_BEATS = 10
"""After this many beats without a word the broker counts as gone."""


class Link(asyncio.Protocol):
    """One connection; `received` gets what the broker says, `ended` is done when it is over."""

    def __init__(self, received: Callable[[list[AnyMessage]], None], frame_bytes: int) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None
        self.paused = False
        self.refusal = ""
        """Why the broker closed the connection, if it said so."""
        self._received = received
        self._reader = Reader(Wire(frame_bytes + ROOM))
        self._wire = Wire(frame_bytes)
        self._wrote = False
        self._silent = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop has its own classes

    def data_received(self, data: bytes) -> None:
        self._silent = 0
        try:
            messages = self._reader.messages(data)
        except BadFrame as fault:
            self.refusal = f"the broker does not speak the protocol: {fault}"
            self.close()
            return
        for message in messages:
            if isinstance(message, Refused) and not message.about:
                self.refusal = message.reason
        if messages:
            self._received(messages)

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        self._received([])

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if not self.ended.done():
            self.ended.set_result(None)

    def send(self, messages: Sequence[AnyMessage]) -> None:
        if self.transport is not None:
            for frame in frames(self._wire, messages):
                self.transport.write(frame)
            self._wrote = True

    def beat(self) -> None:
        self._silent += 1
        if self._silent > SILENT_BEATS:
            self.abort()
        elif not self._wrote and not self.paused:
            self.send([])
        self._wrote = False

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()


class Linking:
    """Keeps a link up for a client's core; `received` is called with what the broker said."""

    def __init__(
        self,
        core: Client,
        addresses: Sequence[Address],
        tls: ssl.SSLContext | None,
        frame_bytes: int,
        received: Callable[[list[AnyMessage]], None],
    ) -> None:
        self.core = core
        self.link: Link | None = None
        self.last_fault = f"{_place(addresses[0])}: no answer yet"
        self._addresses = addresses
        self._tls = tls
        self._frame_bytes = frame_bytes
        self._received = received

    @property
    def status(self) -> str:
        """The state of the connection, in words for people."""
        if self.link is None or not self.core.connected:
            return f"not connected: {self.last_fault}"
        return f"connected to broker {self.core.home}"

    async def run(self) -> str:
        """Connect, and connect again, until cancelled; returns why, if every address refuses us."""
        attempt, at, refusals = 0, 0, 0
        while True:
            address = self._addresses[at % len(self._addresses)]
            welcomed, refusal = await self._once(address)
            attempt = 0 if welcomed else attempt + 1
            refusals = refusals + 1 if refusal and not welcomed else 0
            if refusals >= len(self._addresses):
                return refusal
            if not welcomed:  # a broker that had let us in has our session: it is tried first
                at += 1
            await asyncio.sleep(_pause(attempt // len(self._addresses)))

    async def _once(self, address: Address) -> tuple[bool, str]:
        """One connection from beginning to end: whether we were let in, and why it was refused."""
        link = Link(self._received, self._frame_bytes)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await dial(lambda: link, address, self._tls)
        except (OSError, TimeoutError, ValueError) as fault:  # names of hosts can be odd in many ways
            self.last_fault = f"{_place(address)}: {_words(fault)}"
            return False, ""
        self.link = link
        self.last_fault = f"{_place(address)}: it has not let us in yet"
        welcomed = False
        try:
            self.core.opened()
            link.send(self.core.take())
            while not link.ended.done():
                await asyncio.wait([link.ended], timeout=BEAT_SECONDS)
                welcomed |= self.core.connected
                link.beat()
        finally:
            welcomed |= self.core.connected
            link.close()
            self.link = None
            self.core.closed()
        self.last_fault = f"{_place(address)}: {link.refusal or 'the connection ended'}"
        return welcomed, link.refusal


def _place(address: Address) -> str:
    return f"{address[0]}:{address[1]}"


def _words(fault: Exception) -> str:
    """Event loops word the same fault differently."""
    if isinstance(fault, ConnectionError) and fault.errno:
        return os.strerror(fault.errno)
    return str(fault) or "no answer"


def _pause(attempt: int) -> float:
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * float(2 ** min(attempt, 10)))
    return longest * (0.5 + random.random() / 2)
