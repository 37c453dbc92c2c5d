"""Connections of typed messages, and the place where all connections are made (`dial`) and accepted.

On failure: a connection that ends calls `ended` once, whatever the cause. A frame that is no message calls
`garbled` with the reason; nothing is read afterwards. A peer that does not say who it is in time, or that
reads nothing while more and more is sent to it, is disconnected.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from regraft.model import BadInput
from regraft.wire.frames import BadFrame, Format, Frames, In, Out
from regraft.wire.identity import names_in

Address = tuple[str, int]
P = TypeVar("P", bound=asyncio.BaseProtocol)
BACKLOG = 1024


async def dial(new: Callable[[], P], address: Address, tls: ssl.SSLContext | None = None) -> P:
    """Connect; the protocol that `new` makes is told of everything that happens."""
    _, protocol = await asyncio.get_running_loop().create_connection(new, *address, ssl=tls)
    return protocol


async def adopt(new: Callable[[], P], connected: socket.socket) -> P:
    """Take over a socket that is connected already, such as one end of a pair."""
    _, protocol = await asyncio.get_running_loop().create_connection(new, sock=connected)
    return protocol


async def listen(
    new: Callable[[], asyncio.BaseProtocol],
    address: Address,
    tls: ssl.SSLContext | None = None,
    *,
    handshake_seconds: float | None = None,
    start: bool = True,
) -> asyncio.Server:
    """Accept connections; without `start`, they wait until the server is told to serve."""
    host, port = address
    try:
        return await asyncio.get_running_loop().create_server(
            cast(Any, new),
            host,
            port,
            ssl=tls,
            ssl_handshake_timeout=handshake_seconds if tls is not None else None,
            start_serving=start,
            backlog=BACKLOG,
        )
    except (OSError, UnicodeError) as fault:
        reason = getattr(fault, "strerror", None) or fault
        raise BadInput(f"{host}:{port}", f"cannot be listened on: {reason}") from None


def address_of(server: asyncio.Server) -> Address:
    host, port = server.sockets[0].getsockname()[:2]
    return host, port


class Stream(asyncio.Protocol, Generic[In, Out]):
    """One connection. Subclasses override `heard`, and `opened`, `garbled` and `ended` if they matter."""

    def __init__(
        self,
        format: Format[In, Out],
        among: set[Any] | None = None,
        *,
        patience: float = 0.0,
        most_unsent: int = 0,
    ) -> None:
        """`among` is the owner's set of open connections. The peer has `patience` seconds until it must be
        introduced, and may leave `most_unsent` bytes unread; 0 means that there is no limit."""
        self.id = ""
        """Who the peer is; empty until `introduced`."""
        self.reason = ""
        """What was wrong with the last frame, if that was the end."""
        self.known: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """True when the peer is introduced, False when the connection ends before."""
        self.transport: asyncio.Transport | None = None
        self._frames = Frames(format)
        self._frame = format.frame
        self._among = among if among is not None else set()
        self._seconds, self._most_unsent = patience, most_unsent
        self._patience: asyncio.TimerHandle | None = None
        self._paused = False

    # What a subclass overrides

    def opened(self) -> None:
        """The connection is made; nothing has been said yet."""

    def heard(self, message: In) -> None:
        raise NotImplementedError

    def garbled(self, fault: BadFrame) -> None:
        """The peer sent something that is not a message."""
        self.close()

    def ended(self) -> None:
        """The connection is gone."""

    # What the owner of the connection calls

    @property
    def open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    @property
    def peer(self) -> str:
        """Where the peer is, for messages to people."""
        return str(self.transport.get_extra_info("peername")) if self.transport is not None else "nowhere"

    @property
    def names(self) -> set[str]:
        """The names in the peer's certificate, which TLS has verified; none without one."""
        return names_in(self.transport.get_extra_info("peercert") if self.transport is not None else None)

    def introduced(self, id: str, format: Format[In, Out] | None = None) -> None:
        """The peer has said who it is, and may be believed; from now on it may use another format."""
        self.id = id
        if format is not None:
            self._frames.format = format
        if self._patience is not None:
            self._patience.cancel()
        if not self.known.done():
            self.known.set_result(True)

    def send(self, message: Out) -> None:
        """Send without knowing whether it arrives; nothing happens if the connection is not open."""
        if not self.open:
            return
        assert self.transport is not None
        if self._most_unsent and self.transport.get_write_buffer_size() > self._most_unsent:
            self.abort()
            return
        try:
            self.transport.write(self._frame(message))
        except RuntimeError:  # lost a moment ago, and we have not been told yet
            self.abort()

    def pause(self) -> None:
        """Read no more, so that the peer has to wait, until `resume`."""
        if not self._paused and self.open:
            assert self.transport is not None
            self._paused = True
            self.transport.pause_reading()

    def resume(self) -> None:
        if self._paused and self.open:
            assert self.transport is not None
            self._paused = False
            with contextlib.suppress(RuntimeError, OSError):  # lost a moment ago
                self.transport.resume_reading()
            asyncio.get_running_loop().call_soon(self._deliver)

    def close(self) -> None:
        """Close the connection after what was sent has left."""
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Close the connection at once; what has not left yet is lost."""
        if self.transport is not None:
            self.transport.abort()

    # What the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop has its own classes
        if self._seconds and not self.id:
            self._patience = asyncio.get_running_loop().call_later(self._seconds, self.abort)
        self._among.add(self)
        self.opened()

    def data_received(self, data: bytes) -> None:
        if not self.reason:  # after a bad frame it is not known where the next one begins
            self._frames.add(data)
            self._deliver()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self.transport = None
        self._among.discard(self)
        if not self.known.done():
            self.known.set_result(False)
        self.ended()

    def _deliver(self) -> None:
        """Message by message: each may be the last that is wanted, or change what the next may be."""
        messages = self._frames.messages()
        try:
            while self._reads() and (message := next(messages, None)) is not None:
                self.heard(message)
        except BadFrame as fault:
            self.reason = fault.rule
            self.garbled(fault)

    def _reads(self) -> bool:
        return self.open and not self._paused and not self.reason
