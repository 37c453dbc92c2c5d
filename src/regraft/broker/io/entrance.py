"""How peers come in by a listener: what their bytes mean (a codec), and which may come in (`refusal`).

The shell and the core know messages only. A listener for another protocol is another `Entrance`: its codec
turns that protocol's packets into the same messages, and the core's answers into packets.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from regraft.broker.io.configuration import Allowed, Configuration
from regraft.protocol.messages import AnyMessage, ClientHello, LinkHello
from regraft.protocol.names import RULE, is_name
from regraft.wire.identity import names_in, same_secret
from regraft.wire.numbered import Reader, Wire, frames

ROOM = 2**16
"""Bytes by which a frame of one event may grow on its way: what a client could send, every broker can
pass on, and every subscriber can read."""
NO_ID = f"a filter's id {RULE}"


class Codec(Protocol):
    """The two directions of one connection. Bytes that break the protocol raise `BadFrame`."""

    def read(self, data: bytes, first_only: bool = False) -> list[AnyMessage]:
        """The messages that these bytes complete; with `first_only`, only those of the first frame that has
        any: what follows is kept for the next call."""

    def write(self, messages: Sequence[AnyMessage]) -> Iterable[bytes]:
        """The bytes for the peer; without messages, those of a heartbeat."""

    def introduced(self, hello: LinkHello | ClientHello) -> None:
        """The peer may come in: from now on longer frames are allowed."""


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


def refusal(
    hello: LinkHello | ClientHello, certificate: Mapping[str, Any] | None, is_for: Configuration
) -> str:
    """Why this peer may not come in; empty if it may. `certificate` is the peer's, verified, if any."""
    if isinstance(hello, LinkHello):
        return _link_refusal(hello, certificate or {}, is_for)
    tls, tokens, most = is_for.tls, is_for.tokens.clients, is_for.settings.filters_per_client
    token = tokens.get(hello.client, tokens.get("*"))
    if tokens and (token is None or not same_secret(token, hello.token)):
        return f"the token is not that of client {hello.client!r}"
    if tls is not None and tls.clients_too and not certificate:
        return "a client must show a certificate"
    # A few too many are refused one by one; refusing very many would keep all other peers waiting.
    if len(hello.advertisements) + len(hello.subscriptions) > 2 * most + is_for.allowed.refusals:
        return f"a client may have {most} filters of a kind, its hello has many more"
    ids = [id for filters in (hello.advertisements, hello.subscriptions) for id, _ in filters]
    return "" if all(map(is_name, ids)) else NO_ID


def _link_refusal(hello: LinkHello, certificate: Mapping[str, Any], is_for: Configuration) -> str:
    tls, token = is_for.tls, is_for.tokens.brokers
    if token and not same_secret(token, hello.token):
        return "the token is not that of this overlay's brokers"
    if tls is None or tls.authority is None:
        return ""
    if not certificate:
        return "a broker must show a certificate"
    return "" if hello.broker in names_in(certificate) else f"the certificate does not name {hello.broker!r}"


@dataclass(frozen=True)
class Entrance:
    codec: Callable[[Allowed], Codec]
    """Makes the codec of one connection."""
    refusal: Callable[[LinkHello | ClientHello, Mapping[str, Any] | None, Configuration], str]
    """Why a peer may not come in, from its hello and its certificate; empty if it may."""


FRAMES = Entrance(FrameCodec, refusal)
