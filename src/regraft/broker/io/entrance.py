"""How peers come in by a listener: what their bytes mean (a codec), and who may come in (an admission).

The shell and the core know messages only. A listener for another protocol is another `Entrance`: its codec
turns that protocol's packets into the same messages, and the core's answers into packets.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from regraft.broker.io.admission import refusal
from regraft.broker.io.configuration import Allowed, Configuration
from regraft.protocol.messages import AnyMessage, ClientHello, LinkHello
from regraft.wire.numbered import Reader, Wire, frames

ROOM = 2**16
"""Bytes by which a frame of one event may grow on its way: what a client could send, every broker can
pass on, and every subscriber can read."""


class Codec(Protocol):
    """The two directions of one connection. Bytes that break the protocol raise `BadFrame`."""

    def read(self, data: bytes, first_only: bool = False) -> list[AnyMessage]:
        """The messages that these bytes complete; with `first_only`, what follows the first ones that come
        together is kept for the next call."""

    def write(self, messages: Sequence[AnyMessage]) -> Iterable[bytes]:
        """What goes to the peer; without messages, what shows it that we are there."""

    def introduced(self, hello: LinkHello | ClientHello) -> None:
        """The peer may come in: from now on it may say more at once."""


class FrameCodec:
    """Our own frames, between brokers and from our clients."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._in = Wire(allowed.hello_bytes)
        self._out = Wire(allowed.frame_bytes + ROOM)
        self.read = Reader(self._in).messages

    def write(self, messages: Sequence[AnyMessage]) -> Iterable[bytes]:
        return frames(self._out, messages)

    def introduced(self, hello: LinkHello | ClientHello) -> None:
        self._in.limit = self._allowed.frame_bytes + (ROOM if isinstance(hello, LinkHello) else 0)


@dataclass(frozen=True)
class Entrance:
    codec: Callable[[Allowed], Codec]
    """Makes the codec of one connection."""
    refusal: Callable[[LinkHello | ClientHello, Mapping[str, Any] | None, Configuration], str]
    """Why a peer may not come in, from its hello and its certificate; empty if it may."""


FRAMES = Entrance(FrameCodec, refusal)
