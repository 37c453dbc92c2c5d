"""Connections and their peers: a hello first, then what such a peer may say, until a goodbye or a fault.

This is the same on a tree and in a mesh. A broker of either kind says what its peers' messages mean
(`_on_link`, `_on_session`), how a peer begins and ends, and which effects follow from all that (`_flush`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regraft.broker.core.effects import Close, Effect, Send
from regraft.broker.core.peers import Link, Session
from regraft.model import BadInput
from regraft.protocol.messages import VERSION, AnyMessage, ClientHello, LinkHello, Refused

Handlers = Mapping[type, Callable[[Any, Any], None]]


class Conversing(ABC):
    """The part of a broker to which a shell reports connections, by their numbers."""

    _on_link: Handlers
    _on_session: Handlers

    def __init__(self, id: str, life: int, now: float) -> None:
        self.id = id
        self.life = life
        self.now = now
        self._peers: dict[int, Link | Session] = {}
        self._dialled: dict[int, str] = {}
        self._over: set[int] = set()
        """Connections whose further messages are ignored: the last one was a goodbye or a fault."""
        self._epoch = 0
        self._out: list[Effect] = []

    def opened(self, connection: int, neighbour: str = "") -> list[Effect]:
        """A connection is made. If we dialled `neighbour` we say hello first, otherwise the peer does."""
        if not neighbour:
            return []
        self._dialled[connection] = neighbour
        return [Send(connection, LinkHello(self.id, self.life))]

    def received(self, connection: int, messages: Sequence[AnyMessage], now: float) -> list[Effect]:
        """The peer sent these messages."""
        self._at(now)
        for message in messages:
            if connection in self._over:
                break
            try:
                self._received(connection, message)
            except BadInput as fault:
                self._refuse(connection, str(fault))
                break
        return self._flush()

    def closed(self, connection: int, now: float) -> list[Effect]:
        """The connection is gone."""
        self._at(now)
        self._over.discard(connection)
        self._closed(connection)
        return self._flush()

    def _at(self, now: float) -> None:
        self.now = now

    def _received(self, connection: int, message: AnyMessage) -> None:
        peer = self._peers.get(connection)
        if isinstance(message, (LinkHello, ClientHello)):
            if peer is not None:
                raise BadInput("hello", "comes once, at the beginning")
            if message.version != VERSION:
                raise BadInput("hello", f"protocol version {message.version}, this broker speaks {VERSION}")
            if isinstance(message, LinkHello):
                self._link_hello(connection, message)
            else:
                self._client_hello(connection, message)
            return
        if peer is None:
            if self._early(connection, message):
                return
            raise BadInput(type(message).__name__, "a connection begins with a hello")
        handlers = self._on_session if isinstance(peer, Session) else self._on_link
        handler = handlers.get(type(message))
        if handler is None:
            raise BadInput(type(message).__name__, "not a message that this peer may send")
        if peer.connection == connection:  # otherwise another connection has taken its place
            handler(peer, message)

    def _refuse(self, connection: int, reason: str) -> None:
        self._out += [Send(connection, Refused("", reason)), Close(connection, reason)]
        self._closed(connection)
        self._over.add(connection)

    def _answer(self, connection: int, hello: LinkHello) -> None:
        if hello.broker < self.id:  # it called us
            self._out.append(Send(connection, LinkHello(self.id, self.life)))

    def _hang_up(self, session: Session) -> None:
        """The client has said goodbye."""
        if session.connection is not None:
            del self._peers[session.connection]
            self._over.add(session.connection)

    def _early(self, connection: int, message: AnyMessage) -> bool:
        """Whether the message, which came before a hello was accepted, is kept for later."""
        return False

    @abstractmethod
    def _link_hello(self, connection: int, hello: LinkHello) -> None: ...

    @abstractmethod
    def _client_hello(self, connection: int, hello: ClientHello) -> None: ...

    @abstractmethod
    def _closed(self, connection: int) -> None: ...

    @abstractmethod
    def _flush(self) -> list[Effect]: ...
