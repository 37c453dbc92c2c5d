"""One connection of a broker: bytes in, frames out, and the limits that bound its memory.

It decides nothing about messages: what arrives goes to the `Shell` that owns it. While the peer does not
read, messages wait here unencoded (the core holds the same publications anyway), up to a limit.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from regraft.broker.io.configuration import Allowed
from regraft.broker.io.flood import Unconfirmed
from regraft.protocol.framing import Reader, frames
from regraft.protocol.messages import (
    Advertise,
    AnyMessage,
    ClientHello,
    Handover,
    LinkHello,
    Refused,
    Run,
    Subscribe,
    Withdraw,
)
from regraft.protocol.wire import BadFrame, Wire

ROOM = 2**16
"""Bytes by which a frame of one event may grow on its way: what a client could send, every broker can
pass on, and every subscriber can read."""
HIGH_WATER = 512 * 1024
"""Bytes in the transport above which messages wait unencoded."""


class Shell(Protocol):
    """Who owns connections."""

    def connected(self, connection: "Connection") -> None: ...

    def said(self, connection: "Connection", messages: list[AnyMessage]) -> None: ...

    def gone(self, connection: "Connection") -> None: ...


FEW = 16
"""So many messages of one connection are handled before the others get their turn, whatever they are;"""
FIRST_TURN, LONGEST_TURN = 64, 256
"""or this many, and more as long as that takes less than"""
TURN_SECONDS = 0.02
COSTLY = frozenset({Advertise, Subscribe, Withdraw})
"""Each of them can take as long as `FEW` others: it is compared with a whole table."""


LARGE = 2**16
"""Bytes at once after which the others get their turn."""


class Connection(asyncio.Protocol):
    """`neighbour` is the one that we dialled; empty if the peer called us."""

    def __init__(self, shell: Shell, number: int, allowed: Allowed, neighbour: str = "") -> None:
        self.number = number
        self.neighbour = neighbour
        self.hello: LinkHello | ClientHello | None = None
        """What the peer said of itself, once it may be believed."""
        self.reason = ""
        """Why it was closed from this side."""
        self.unconfirmed = Unconfirmed()
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.known: asyncio.Future[None] = loop.create_future()
        """Done with the peer's hello."""
        self.transport: asyncio.Transport | None = None
        self.bytes_in = self.bytes_out = 0
        self._shell = shell
        self._allowed = allowed
        self._in = Wire(allowed.hello_bytes)
        self._out = Wire(allowed.frame_bytes + ROOM)
        self._reader = Reader(self._in)
        self._paused = False
        self._waiting: list[AnyMessage] = []
        self._waiting_bytes = 0
        self._unheard: deque[AnyMessage] = deque()
        """Read, and waiting for this connection's next turn; meanwhile nothing more is read."""
        self._turn = FIRST_TURN
        self._heard = self._wrote = False
        self._silent = self._stalled = 0.0
        self._age = 0.0

    # What the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop has its own classes
        self.transport.set_write_buffer_limits(HIGH_WATER)
        self._shell.connected(self)

    def data_received(self, data: bytes) -> None:
        if self.reason:
            return
        self._heard = True
        self.bytes_in += len(data)
        try:
            for messages in self._parts(data):
                if messages:
                    self._hand_over(messages)
        except BadFrame as fault:
            self.refuse(str(fault))
        if len(data) >= LARGE and not self._unheard and self._open:
            # The loop would go on reading from a socket that has so much, and forget the others.
            assert self.transport is not None
            self.transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        if not self._unheard and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def _hand_over(self, messages: list[AnyMessage]) -> None:
        """To the shell, so many at a time that the others get their turn between."""
        if self._unheard:
            self._unheard += messages
        elif len(messages) <= FEW:
            self._shell.said(self, messages)
        else:
            self._unheard += messages
            assert self.transport is not None
            self.transport.pause_reading()
            self._next_turn()

    def _next_turn(self) -> None:
        if self._open:
            self._heard = True
            self._take_turn()
        if self._unheard and self._open:
            asyncio.get_running_loop().call_soon(self._next_turn)
            return
        self._unheard.clear()
        if self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()  # also of who was refused: its end must be noticed

    def _take_turn(self) -> None:
        messages: list[AnyMessage] = []
        left = self._turn
        while self._unheard and left > 0:
            messages.append(self._unheard.popleft())
            left -= FEW if type(messages[-1]) in COSTLY else 1
        start = time.monotonic()
        self._shell.said(self, messages)
        seconds = time.monotonic() - start
        if seconds > TURN_SECONDS:
            self._turn = max(1, int(self._turn * TURN_SECONDS / seconds))
        else:
            self._turn = min(LONGEST_TURN, 2 * self._turn)

    @property
    def _open(self) -> bool:
        return not self.reason and self.transport is not None and not self.transport.is_closing()

    def _parts(self, data: bytes) -> Iterator[list[AnyMessage]]:
        """The hello alone: it decides whether the rest is read, and with which limit."""
        if self.hello is None:
            yield self._reader.messages(data, first_only=True)
            data = b""
        if self.hello is not None and not self.reason:
            yield self._reader.messages(data)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._stalled = 0.0
        if self._waiting:
            waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
            self._write_some(waiting)

    def eof_received(self) -> None:
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self._waiting = []
        if not self.ended.done():
            self.ended.set_result(None)
        self._shell.gone(self)

    # What the shell calls

    def introduced(self, hello: LinkHello | ClientHello) -> None:
        """The peer may come in: longer frames are allowed from now on."""
        self.hello = hello
        if not self.known.done():
            self.known.set_result(None)
        self._in.limit = self._allowed.frame_bytes + (ROOM if isinstance(hello, LinkHello) else 0)

    def send(self, messages: list[AnyMessage]) -> None:
        if not self._open:
            return
        if self._paused:
            self._wait(messages)
        else:
            self._write(messages)

    def refuse(self, reason: str) -> None:
        """Tell the peer what it did wrong, and close."""
        self.send([Refused("", reason)])
        self.close(reason)

    def close(self, reason: str) -> None:
        """After what was written; at once, if the peer does not read.

        Only our direction where that is possible: closing both while the peer still sends would reset the
        connection, and it would never read why. It ends when the peer ends it, or by the second beat.
        """
        if self.reason or self.transport is None:
            return
        self.reason = reason
        self._age = 0.0
        if self.transport.is_closing():
            return
        if self._paused:
            self.transport.abort()
        elif self.transport.can_write_eof():
            with contextlib.suppress(RuntimeError):  # lost a moment ago, and we have not been told yet
                self.transport.write_eof()
        else:
            self.transport.close()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def beat(self, seconds: float) -> None:
        """Called every so many seconds: show that we are there, and see whether the peer is."""
        if self.transport is None:
            return
        self._age += seconds
        if self.reason:
            if self._age > seconds:
                self.transport.abort()
            return
        self._silent = 0.0 if self._heard else self._silent + seconds
        self._stalled = self._stalled + seconds if self._paused else 0.0
        allowed = self._allowed
        if self.hello is None and self._age > allowed.hello_seconds:
            self.refuse(f"no hello within {allowed.hello_seconds:g} seconds")
        elif self._silent > allowed.silent_seconds:
            self.refuse(f"nothing heard for {allowed.silent_seconds:g} seconds")
        elif self._stalled > allowed.stalled_seconds:
            self.close(f"the peer reads nothing for {allowed.stalled_seconds:g} seconds")
        elif not self._wrote and not self._paused:
            self._write([])
        self._heard = self._wrote = False
        self.unconfirmed.forgive(self._allowed.refusals // 10)

    # Writing

    def _write(self, messages: Sequence[AnyMessage]) -> None:
        assert self.transport is not None
        try:
            for frame in frames(self._out, messages):
                self.bytes_out += len(frame)
                self.transport.write(frame)
        except BadFrame as fault:  # ours: nothing that the peer could mend
            self.close(str(fault))
        except RuntimeError:  # lost a moment ago, and we have not been told yet
            self.transport.abort()
        self._wrote = True

    def _write_some(self, messages: list[AnyMessage]) -> None:
        """What waited, piece by piece, as long as the peer reads."""
        for at in range(0, len(messages), 16):
            if self._paused or self.reason:
                self._wait(messages[at:])
                return
            self._write(messages[at : at + 16])

    def _wait(self, messages: list[AnyMessage]) -> None:
        self._waiting += messages
        self._waiting_bytes += sum(map(_size, messages))
        if self._waiting_bytes > self._allowed.queue_bytes:
            self.close(f"more than {self._allowed.queue_bytes} bytes wait for the peer to read")


def _size(message: AnyMessage) -> int:
    if isinstance(message, Run):
        return sum(map(len, message.events))
    if isinstance(message, Handover):
        return sum(map(_size, message.runs))
    return 100
