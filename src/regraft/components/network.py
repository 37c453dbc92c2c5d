"""Connections between hosts, and from callers to hosts: TCP, with TLS and a token if they are given.

The side that dials says who it is; then both sides send messages. On failure: messages under way are lost,
and `lost` is called so that nothing waits for an answer on that connection. A peer that sends anything but
messages is disconnected, and the reason is noted.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from regraft.components.messages import Hello, Message
from regraft.wire.frames import BadFrame, Format
from regraft.wire.identity import Tls, accepting, dialling, same_secret
from regraft.wire.streams import Stream, address_of, dial, listen

MOST_WAITING = 10_000
HELLO_SECONDS = 5.0
DIAL_SECONDS = 2.0
FORMAT: Format[Message, Message] = Format(Message, largest=64 << 20)
FIRST: Format[Message, Message] = Format(Message, largest=4096)
"""Before the hello the sender is not known, so only short messages are accepted."""
Find = Callable[[str], Awaitable[tuple[str, int] | None]]


@dataclass(frozen=True)
class Security:
    """`token`: every peer must know it. `tls`: as for brokers; with an authority, both sides show a
    certificate that names them."""

    token: str = field(default="", repr=False)
    tls: Tls | None = None

    def accepting(self) -> ssl.SSLContext | None:
        return accepting(replace(self.tls, clients_too=True)) if self.tls is not None else None

    def dialling(self) -> ssl.SSLContext | None:
        return dialling(self.tls)

    def refusal(self, hello: Hello, names: set[str]) -> str:
        """Why this peer may not come in; `names` are those of its certificate."""
        if self.token and not same_secret(self.token, hello.token):
            return "the token is not that of these hosts"
        if self.tls is not None and self.tls.authority is not None and hello.id not in names:
            return f"the certificate does not name {hello.id!r}"
        return ""


def security_of(environment: Mapping[str, str]) -> Security:
    """From variables, because every user of the machine can see command lines."""
    token, certificate, key, authority = (
        environment.get(f"REGRAFT_COMPONENTS_{name}", "")
        for name in ("TOKEN", "CERTIFICATE", "KEY", "AUTHORITY")
    )
    if not certificate:
        return Security(token)
    return Security(
        token, Tls(Path(certificate), Path(key or certificate), Path(authority) if authority else None)
    )


class Connection(Stream[Message, Message]):
    """`to` is the host that we have dialled; empty if the peer has dialled us."""

    def __init__(self, network: "Network", to: str = "") -> None:
        super().__init__(FORMAT if to else FIRST, network.connections, patience=0 if to else HELLO_SECONDS)
        self._network = network
        self._to = to

    def opened(self) -> None:
        if self._to:
            self.introduced(self._to)
            self._network.dialled(self)

    def heard(self, message: Message) -> None:
        if self.id:
            self._network.heard(self, message)
        elif not isinstance(message, Hello) or not message.id:
            self._fails("the first message must say who the peer is")
        elif reason := self._network.security.refusal(message, self.names):
            self._fails(reason)
        else:
            self.introduced(message.id, FORMAT)
            self._network.accepted(self)

    def garbled(self, fault: BadFrame) -> None:
        self._fails(str(fault))

    def ended(self) -> None:
        self._network.ended(self)

    def _fails(self, reason: str) -> None:
        self._network.faults.append(f"{self.id or self.peer}: {reason}")
        if self.id:
            self.abort()  # its end is told at once, before anybody dials again
        else:
            self.close()


class Loopback:
    """The connection of a host to itself: a component of the same host is called like any other."""

    open = True

    def __init__(self, id: str, network: "Network") -> None:
        self.id = id
        self._network = network

    def send(self, message: Message) -> None:
        asyncio.get_running_loop().call_soon(self._network.heard, self, message)


Peer = Connection | Loopback
"""One connection; `id` names the other end."""


class Network:
    """All connections of one host or caller. `heard` and `lost` are called on the loop."""

    def __init__(self, me: str, find: Find, security: Security) -> None:
        self.me = me
        self.security = security
        self.faults: deque[str] = deque(maxlen=100)
        self.connections: set[Connection] = set()
        """Those that are open."""
        self.heard: Callable[[Peer, Message], None] = lambda peer, message: None
        self.lost: Callable[[str], None] = lambda peer: None
        self._find = find
        self._peers: dict[str, Peer] = {me: Loopback(me, self)}
        self._waiting: dict[str, list[Message]] = {}
        self._dials: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> int:
        self._server = await listen(lambda: Connection(self), (host, port), self.security.accepting())
        return address_of(self._server)[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._dials):
            task.cancel()
        for connection in list(self.connections):
            connection.close()
        await asyncio.gather(*self._dials, return_exceptions=True)
        await asyncio.sleep(0)  # connections are told of their end at the loop's next turn

    def send(self, to: str, message: Message) -> None:
        """At once, or when the connection is established; lost if that fails."""
        peer = self._peers.get(to)
        if peer is not None and peer.open:
            peer.send(message)
        elif to in self._waiting:
            if len(self._waiting[to]) < MOST_WAITING:
                self._waiting[to].append(message)
        else:
            self._waiting[to] = [message]
            task = asyncio.get_running_loop().create_task(self._dial(to))
            self._dials.add(task)
            task.add_done_callback(self._dials.discard)

    async def _dial(self, to: str) -> None:
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                address = await self._find(to)
                if address is None:
                    raise OSError("no such host is running")
                await dial(lambda: Connection(self, to), address, self.security.dialling())
        except Exception as fault:  # also faults of the directory: there is no connection in either case
            self.faults.append(f"{to}: {str(fault) or 'no connection'}")
            if self._waiting.pop(to, None) is not None:
                self.lost(to)

    # What connections tell

    def dialled(self, connection: Connection) -> None:
        self._peers[connection.id] = connection
        connection.send(Hello(id=self.me, token=self.security.token))
        for message in self._waiting.pop(connection.id):
            connection.send(message)

    def accepted(self, connection: Connection) -> None:
        if connection.id != self.me:
            self._peers[connection.id] = connection

    def ended(self, connection: Connection) -> None:
        if self._peers.get(connection.id) is connection:
            del self._peers[connection.id]
            self.lost(connection.id)
