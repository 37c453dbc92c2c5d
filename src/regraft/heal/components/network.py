"""Connections between hosts, and from callers to hosts: TCP, with TLS and a token if they are given.

Whoever dials says who it is; both sides then say what they want. On failure: what was on its way is lost,
and whoever waits for an answer on that connection is told (`lost`). Garbage ends the connection with a
reason.
"""

import asyncio
import contextlib
import hmac
import ssl
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from regraft.heal.components.messages import Hello, Message

if TYPE_CHECKING:
    from regraft.broker.io.configuration import Tls

MOST_FRAME = 64 << 20
FIRST_FRAME = 4096
MOST_WAITING = 10_000
HELLO_SECONDS = 5.0
DIAL_SECONDS = 2.0
_LENGTH = struct.Struct(">I")
_DECODER: Any = msgspec.msgpack.Decoder(Message)
_encode = msgspec.msgpack.Encoder().encode
Find = Callable[[str], Awaitable[tuple[str, int] | None]]


@dataclass(frozen=True)
class Security:
    """`token`: that every peer must know. `tls` as brokers have it; with an authority, both sides show a
    certificate that names them."""

    token: str = field(default="", repr=False)
    tls: "Tls | None" = None

    def accepting(self) -> ssl.SSLContext | None:
        if self.tls is None:
            return None
        from regraft.broker.io.tls import accepting  # noqa: PLC0415 - half a second, for those who use TLS

        context = accepting(self.tls)
        if self.tls.authority is not None:
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def dialling(self) -> ssl.SSLContext | None:
        if self.tls is None:
            return None
        from regraft.broker.io.tls import dialling  # noqa: PLC0415

        return dialling(self.tls)

    def refusal(self, hello: Hello, certificate: Any) -> str:
        if self.token and not hmac.compare_digest(self.token.encode(), hello.token.encode()):
            return "the token is not that of these hosts"
        if self.tls is not None and self.tls.authority is not None:
            names = {name for _, name in (certificate or {}).get("subjectAltName", ())}
            if hello.id not in names:
                return f"the certificate does not name {hello.id!r}"
        return ""


def security_of(environment: Mapping[str, str]) -> Security:
    """From variables, since command lines are seen by everybody on the machine."""
    token, certificate, key, authority = (
        environment.get(f"REGRAFT_COMPONENTS_{name}", "")
        for name in ("TOKEN", "CERTIFICATE", "KEY", "AUTHORITY")
    )
    if not certificate:
        return Security(token)
    from regraft.broker.io.configuration import Tls  # noqa: PLC0415

    return Security(
        token, Tls(Path(certificate), Path(key or certificate), Path(authority) if authority else None)
    )


class Garbage(Exception):
    """What came is no message."""


def framed(message: Message) -> bytes:
    body = _encode(message)
    return _LENGTH.pack(len(body)) + body


async def receive(reader: asyncio.StreamReader, most: int = MOST_FRAME) -> Message:
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > most:
            raise Garbage(f"a frame of {length} bytes, where {most} are allowed")
        body = await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        raise EOFError from None
    try:
        message: Message = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise Garbage(f"not a message: {str(fault).splitlines()[0]}") from None
    return message


class Peer:
    """One connection; `id` is who is at its other end."""

    def __init__(self, id: str, writer: asyncio.StreamWriter) -> None:
        self.id = id
        self.open = True
        self._writer = writer

    def send(self, message: Message) -> None:
        if self.open:
            self._writer.write(framed(message))

    def close(self) -> None:
        self.open = False
        self._writer.close()


class Inside(Peer):
    """To oneself: a component of the same host is called as any other."""

    def __init__(self, id: str, network: "Network") -> None:
        self.id, self.open = id, True
        self._network = network

    def send(self, message: Message) -> None:
        asyncio.get_running_loop().call_soon(self._network.heard, self, message)

    def close(self) -> None:
        self.open = False


class Network:
    """All connections of one host or caller. `heard` and `lost` are called on the loop."""

    def __init__(self, me: str, find: Find, security: Security) -> None:
        self.me = me
        self.faults: deque[str] = deque(maxlen=100)
        self._find, self._security = find, security
        self.heard: Callable[[Peer, Message], None] = lambda peer, message: None
        self.lost: Callable[[str], None] = lambda peer: None
        self._peers: dict[str, Peer] = {me: Inside(me, self)}
        self._waiting: dict[str, list[Message]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._all: set[Peer] = set()

    async def listen(self, host: str, port: int) -> int:
        self._server = await asyncio.start_server(self._accept, host, port, ssl=self._security.accepting())
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        for peer in list(self._all):
            peer.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def send(self, to: str, message: Message) -> None:
        """At once, or when the connection stands; lost if it does not come to stand."""
        peer = self._peers.get(to)
        if peer is not None and peer.open:
            peer.send(message)
        elif to in self._waiting:
            if len(self._waiting[to]) < MOST_WAITING:
                self._waiting[to].append(message)
        else:
            self._waiting[to] = [message]
            self._begin(self._dial(to))

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _dial(self, to: str) -> None:
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                address = await self._find(to)
                if address is None:
                    raise OSError("no such host lives")
                reader, writer = await asyncio.open_connection(*address, ssl=self._security.dialling())
        except Exception as fault:  # the directory's faults too: all the same to whoever waits
            self.faults.append(f"{to}: {str(fault) or 'no connection'}")
            del self._waiting[to]
            self.lost(to)
            return
        peer = Peer(to, writer)
        peer.send(Hello(id=self.me, token=self._security.token))
        self._enter(peer)
        for message in self._waiting.pop(to):
            peer.send(message)
        await self._read(reader, peer)

    def _enter(self, peer: Peer) -> None:
        self._peers[peer.id] = peer
        self._all.add(peer)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                hello = await receive(reader, FIRST_FRAME)
            if not isinstance(hello, Hello):
                raise Garbage("a peer says who it is first")
            if reason := self._security.refusal(hello, writer.get_extra_info("peercert")):
                raise Garbage(reason)
        except (Garbage, EOFError, OSError, TimeoutError) as fault:
            if isinstance(fault, Garbage):
                self.faults.append(f"{writer.get_extra_info('peername')}: {fault}")
            writer.close()
            return
        peer = Peer(hello.id, writer)
        if hello.id != self.me:
            self._enter(peer)
        await self._read(reader, peer)

    async def _read(self, reader: asyncio.StreamReader, peer: Peer) -> None:
        try:
            while peer.open:
                self.heard(peer, await receive(reader))
        except Garbage as fault:
            self.faults.append(f"{peer.id}: {fault}")
        except (EOFError, OSError):
            pass
        finally:
            self._all.discard(peer)
            with contextlib.suppress(Exception):
                peer.close()
            if self._peers.get(peer.id) is peer:
                del self._peers[peer.id]
                self.lost(peer.id)
