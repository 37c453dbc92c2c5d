"""One connection of a broker: bytes in, frames out, and the limits that bound its memory.

It decides nothing about messages: what arrives goes to its owner, a `BrokerShell`. While the peer does not
read, messages wait here unencoded (the core holds the same publications anyway), up to a limit.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from regraft.broker.io.client_usage import ClientUsage
from regraft.broker.io.configuration import Allowed
from regraft.broker.io.entrance import FRAMES, Entrance
from regraft.broker.io.fair_queue import FairQueue
from regraft.broker.io.intake import Intake
from regraft.filters import Filter
from regraft.protocol.messages import AnyMessage, ClientHello, Handover, LinkHello, Refused, Run
from regraft.wire.frames import BadFrame

HIGH_WATER = 512 * 1024
"""Bytes in the transport above which messages wait unencoded."""
PIECE = 256 * 1024
"""Bytes of events that are encoded at a time."""
RETRY_SECONDS = 0.01


class BrokerShell(Protocol):
    """The owner of connections."""

    def connected(self, connection: "Connection") -> None: ...

    def ahead(
        self, connection: "Connection", message: AnyMessage, filters: list[Filter]
    ) -> Iterator[None]: ...

    def said(self, connection: "Connection", messages: list[AnyMessage]) -> None: ...

    def gone(self, connection: "Connection") -> None: ...


LARGE = 2**16
"""After this many bytes in one read, other connections are read first."""


class Connection(asyncio.Protocol):
    """`neighbour` is the one that we dialled; empty if the peer called us, by `entrance`."""

    def __init__(
        self,
        shell: BrokerShell,
        number: int,
        allowed: Allowed,
        neighbour: str = "",
        fair_queue: FairQueue | None = None,
        entrance: Entrance = FRAMES,
    ) -> None:
        self.number = number
        self.entrance = entrance
        self.neighbour = neighbour
        self.hello: LinkHello | ClientHello | None = None
        """The peer's hello, once it has been admitted."""
        self.reason = ""
        """Why we closed the connection; empty if we did not."""
        self.takes_too_much = False
        """The client takes more than it may: its session ends with the connection."""
        self.usage = ClientUsage()
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.known: asyncio.Future[None] = loop.create_future()
        """Done when the peer's hello has been admitted."""
        self.transport: asyncio.Transport | None = None
        self.bytes_in = self.bytes_out = 0
        self._shell = shell
        self._allowed = allowed
        self._codec = entrance.codec(allowed)
        self._paused = False
        self._waiting: list[AnyMessage] = []
        self._waiting_bytes = 0
        self._behind_hello = False
        self._retrying = False
        self._intake = Intake(number, fair_queue if fair_queue is not None else FairQueue())
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
        self._read(data)
        # Long work is done in slices. Without a pause the loop would read such a full socket again at once.
        if (self._intake.busy or len(data) >= LARGE) and self._open:
            assert self.transport is not None
            self.transport.pause_reading()
            if not self._intake.busy:
                asyncio.get_running_loop().call_soon(self.finished)

    def _read(self, data: bytes) -> None:
        """The hello is read alone: it decides whether the rest is read, and with which limit."""
        try:
            if self.hello is None:
                self._hear(self._codec.read(data, first_only=True))
                data, self._behind_hello = b"", True
            if self.hello is not None and not self.reason:
                self._behind_hello = False
                self._hear(self._codec.read(data))
        except BadFrame as fault:
            self.refuse(str(fault))

    def _hear(self, messages: list[AnyMessage]) -> None:
        if messages:
            self._intake.hear(messages, self)

    # What the intake calls

    def ahead(self, message: AnyMessage, filters: list[Filter]) -> Iterator[None]:
        self._heard = True
        for _ in self._shell.ahead(self, message, filters) if self._open else ():
            if not self._open:
                return  # the peer is gone
            yield

    def say(self, messages: list[AnyMessage]) -> bool:
        if self._open:
            self._heard = True
            self._shell.said(self, messages)
        return self._open

    def finished(self) -> None:
        """Read again, also from a peer that was refused: the end of its connection must be noticed."""
        if self._behind_hello and self.hello is not None and self._open:
            self._read(b"")
        if not self._intake.busy and self.transport is not None and not self.transport.is_closing():
            with contextlib.suppress(RuntimeError, OSError):  # lost a moment ago; we have not been told yet
                self.transport.resume_reading()

    @property
    def _open(self) -> bool:
        return not self.reason and self.transport is not None and not self.transport.is_closing()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._stalled = 0.0
        self._write_waiting()

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
        self._codec.introduced(hello)

    def send(self, messages: list[AnyMessage]) -> None:
        if not self._open:
            return
        if self._waiting or self._full:
            self._wait(messages)
        else:
            self._write_some(messages)

    def refuse(self, reason: str) -> None:
        """Tell the peer what it did wrong, and close."""
        self.send([Refused("", reason)])
        self.close(reason)

    def close(self, reason: str) -> None:
        """Close after what was written has left; at once, if the peer does not read.

        If possible only our direction is closed: closing both while the peer still sends would reset the
        connection, and the peer would never read the reason. The connection then ends when the peer ends it,
        or at the second beat.
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
            with contextlib.suppress(RuntimeError, OSError):  # lost a moment ago; we have not been told yet
                self.transport.write_eof()
        else:
            self.transport.close()

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def beat(self, seconds: float) -> None:
        """Called every `seconds`: send a heartbeat if nothing else was sent, and check the peer's."""
        if self.transport is None:
            return
        self._age += seconds
        if self.reason:
            if self._age > seconds:
                self.transport.abort()
            return
        self._silent = 0.0 if self._heard else self._silent + seconds
        self._stalled = self._stalled + seconds if self._paused or self._waiting else 0.0
        allowed = self._allowed
        if self.hello is None and self._age > allowed.hello_seconds:
            self.refuse(f"no hello within {allowed.hello_seconds:g} seconds")
        elif self._silent > allowed.silent_seconds:
            self.refuse(f"nothing heard for {allowed.silent_seconds:g} seconds")
        elif self._stalled > allowed.stalled_seconds:
            self.close(f"the peer reads nothing for {allowed.stalled_seconds:g} seconds")
        elif not self._wrote and not self._paused and not self._waiting:
            self._write([])
        self._heard = self._wrote = False
        self.usage.forgive(self._allowed.refusals // 10)

    # Writing

    def _write(self, messages: Sequence[AnyMessage]) -> None:
        assert self.transport is not None
        try:
            for frame in self._codec.write(messages):
                self.bytes_out += len(frame)
                self.transport.write(frame)
        except BadFrame as fault:  # our own fault: nothing that the peer could mend
            self.close(str(fault))
        except RuntimeError:  # lost a moment ago, and we have not been told yet
            self.transport.abort()
        self._wrote = True

    @property
    def _full(self) -> bool:
        """Whether the peer reads more slowly than we write. The buffer may show it before `pause_writing`."""
        assert self.transport is not None
        return self._paused or self.transport.get_write_buffer_size() > HIGH_WATER

    def _write_some(self, messages: list[AnyMessage]) -> None:
        """Write piece by piece, as long as the peer reads; the rest waits."""
        start = size = 0
        for end, message in enumerate(messages, 1):
            size += _size(message)
            if size < PIECE and end < len(messages):
                continue
            self._write(messages[start:end])
            start, size = end, 0
            if end < len(messages) and (not self._open or self._full):
                self._wait(messages[end:])
                return

    def _wait(self, messages: list[AnyMessage]) -> None:
        self._waiting += messages
        self._waiting_bytes += sum(map(_size, messages))
        if self._waiting_bytes > self._allowed.queue_bytes:
            self.takes_too_much = True
            self.close(f"more than {self._allowed.queue_bytes} bytes wait for the peer to read")
        elif not self._paused and not self._retrying:
            self._retrying = True
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self._retry)

    def _retry(self) -> None:
        """The buffer was full without `pause_writing`, so `resume_writing` may never be called either."""
        self._retrying = False
        self._write_waiting()

    def _write_waiting(self) -> None:
        if self._waiting and self._open:
            waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
            if self._full:
                self._wait(waiting)
            else:
                self._write_some(waiting)


def _size(message: AnyMessage) -> int:
    if isinstance(message, Run):
        return sum(map(len, message.events))
    if isinstance(message, Handover):
        return sum(map(_size, message.runs))
    return 100
