"""Clients of a mesh broker: their filters, how they come and go.

`mesh_placing` says when a filter is in place; what a client publishes before that waits. An advertisement
need not name its topics: the topics of what is published under it are advertised as it comes. A session
stays with its broker: only there, and among its neighbours, is it known what the publisher's last number on
each topic was.
"""

from collections.abc import Iterable, Iterator

import msgspec

from regraft.broker.core.effects import Close, Effect, Send, Store
from regraft.broker.core.mesh_delivery import MeshDelivery
from regraft.broker.core.mesh_flood import Flooding
from regraft.broker.core.mesh_membership import Membership
from regraft.broker.core.mesh_placing import Key, MeshPlacing
from regraft.broker.core.mesh_publishing import Publishing
from regraft.broker.core.mesh_streams import TOPIC, topics_of
from regraft.broker.core.peers import Session, SessionState
from regraft.broker.core.sessions import FILTER_BYTES, is_long
from regraft.filters import Filter, parse
from regraft.model import BadInput
from regraft.protocol.events import Value
from regraft.protocol.messages import (
    Advertise,
    ClientHello,
    InPlace,
    Refused,
    Subscribe,
    Waiting,
    Welcome,
    Withdraw,
)
from regraft.protocol.names import NAME_BYTES


class StoredMeshSession(msgspec.Struct, array_like=True):
    """What is stored of a session, so that it survives a crash."""

    advertisements: dict[str, str]
    subscriptions: dict[str, str]
    opened: dict[str, list[str]] = {}
    """Topics of advertisements that do not name them."""


SOMEWHERE = "?"
"""The home of a client that has said hello to a broker, perhaps us, and got no answer."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(StoredMeshSession).decode


class MeshSessions:
    """The clients of one broker."""

    def __init__(
        self,
        broker: str,
        membership: Membership,
        flooding: Flooding,
        delivery: MeshDelivery,
        window: int,
        most: int,
    ) -> None:
        self.broker = broker
        self.membership = membership
        self.interest = membership.interest
        self.flooding = flooding
        self.delivery = delivery
        self.window = window
        self.most_filters = most
        self.all = delivery.sessions
        self.out: list[Effect] = []
        self._dirty: dict[str, Session] = {}
        self._topics: dict[Key, set[str]] = {}
        self._advertised: dict[Key, Filter] = {}
        self._open: set[Key] = set()
        """Advertisements that do not name their topics."""
        self.placing = MeshPlacing(membership, delivery.subscribed)
        self.publishing = Publishing(self.all, flooding, self._why_not, self._say)

    def restore(self, stored: dict[str, bytes], now: float) -> None:
        """After a start: the sessions of the previous life, not connected yet."""
        for key, value in stored.items():
            if not key.startswith("session/"):
                continue
            session = Session(key.removeprefix("session/"), now)
            self.all[session.target] = session
            kept = _decode(value)
            for id, text in kept.advertisements.items():
                self._add(session, id, text, session.advertisements, restored=True)
                self._join(session, id, kept.opened.get(id, ()), restored=True)
            for id, text in kept.subscriptions.items():
                self._add(session, id, text, session.subscriptions, restored=True)

    # Coming and going

    def expecting(self, hello: ClientHello, now: float) -> Iterator[None]:
        """Add the filters of a long hello step by step, before the hello is handled.

        The session is there then, not connected, as if its client were away for a moment.
        """
        if not is_long(hello):
            return
        session = self.all.get(f"@{hello.client}")
        if session is None:
            if hello.home not in ("", SOMEWHERE, self.broker):
                return  # the hello will be refused
            session = self.all[f"@{hello.client}"] = Session(hello.client, now, SessionState.EXPECTED)
        for wanted, filters in (
            (hello.advertisements, session.advertisements),
            (hello.subscriptions, session.subscriptions),
        ):
            for id, text in wanted:
                if self.all.get(session.target) is not session:
                    return
                self._add(session, id, text, filters, says=False)
                yield

    def hello(self, connection: int, hello: ClientHello, epoch: int, now: float) -> Session:
        session = self.all.get(f"@{hello.client}")
        known = session is not None and session.state is not SessionState.EXPECTED
        if session is not None and not known:
            session.become(SessionState.HERE)
        if session is None:
            if hello.home not in ("", SOMEWHERE, self.broker):
                raise BadInput("hello", f"in a mesh a session stays with its broker, which is {hello.home!r}")
            session = self.all[f"@{hello.client}"] = Session(hello.client, now)
        elif session.connection is not None:
            self.out.append(Close(session.connection, "the client has connected anew"))
        session.connection, session.epoch, session.window = connection, epoch, max(1, hello.window)
        session.inbox.clear()
        self.out.append(Send(connection, Welcome(self.broker, self.window, known)))
        for wanted, filters in (
            (hello.advertisements, session.advertisements),
            (hello.subscriptions, session.subscriptions),
        ):
            names = {id for id, _ in wanted}
            for id in [each for each in filters if each not in names]:
                self._remove(session, id)
            for id, text in wanted:
                self._add(session, id, text, filters)
        self._store(session)
        self.delivery.resume(session)
        return session

    def end(self, session: Session) -> None:
        """The session is over: its filters go, and what was kept for it."""
        self.flooding.disown(session.target)
        for id in [*session.advertisements, *session.subscriptions]:
            self._remove(session, id)
        self.delivery.forget(session)
        del self.all[session.target]
        session.become(SessionState.ENDED)
        self.publishing.forget(session.client)
        self.out.append(Store(f"session/{session.client}", None))
        if session.connection is not None:
            self.out.append(Close(session.connection, "the session has ended"))

    # Filters

    def advertise(self, session: Session, message: Advertise) -> None:
        if self._add(session, message.id, message.filter, session.advertisements):
            self._store(session)

    def subscribe(self, session: Session, message: Subscribe) -> None:
        if self._add(session, message.id, message.filter, session.subscriptions):
            self._store(session)

    def withdraw(self, session: Session, message: Withdraw) -> None:
        if message.id in session.advertisements or message.id in session.subscriptions:
            self._remove(session, message.id)
            self._store(session)
        self._say(session, InPlace(message.id))

    def _add(
        self,
        session: Session,
        id: str,
        text: str,
        filters: dict[str, str],
        restored: bool = False,
        says: bool = True,
    ) -> bool:
        key = session.target, id
        if filters.get(id) == text:
            self.placing.wait_for(key, (), filters is session.advertisements, restored=False)
            return True
        try:
            filter, topics = self._judged(session, id, text, filters)
        except BadInput as fault:
            if says:
                self._say(session, Refused(id, str(fault)))
            return False
        self._remove(session, id)
        filters[id] = text
        self._topics[key] = set()
        if filters is session.advertisements:
            self._advertised[key] = filter
            (self._open.discard if topics else self._open.add)(key)
        self._join(session, id, topics, restored)
        if filters is session.subscriptions:
            for topic in topics:
                self.delivery.subscribe(topic, session, id, filter)
        return True

    def _join(self, session: Session, id: str, topics: Iterable[str], restored: bool) -> None:
        """The filter is on these topics, too."""
        key = session.target, id
        self.placing.wait_for(key, topics, id in session.advertisements, restored)
        for topic in sorted(topics):
            self._topics[key].add(topic)
            new = topic not in self.interest.own
            if self.interest.join(topic, restored):
                self.membership.join(topic)
            if new:
                self.flooding.rejoin(topic)

    def _judged(
        self, session: Session, id: str, text: str, filters: dict[str, str]
    ) -> tuple[Filter, frozenset[str]]:
        """The filter and the topics it names; `BadInput` if the client may not have it."""
        if id not in filters and len(filters) >= self.most_filters:
            raise BadInput("filter", f"a client may have {self.most_filters} filters, this is one more")
        in_all = sum(map(len, [*session.advertisements.values(), *session.subscriptions.values(), text]))
        if in_all > FILTER_BYTES:
            raise BadInput("filter", f"a client's filters may have {FILTER_BYTES} characters in all")
        filter = parse(text)
        topics = topics_of(filter)
        if topics is None and filters is session.advertisements:
            return filter, frozenset()
        if not topics:
            raise BadInput(
                "filter", f"a filter in a mesh names its topics, as in {TOPIC} = 'x': {filter.text}"
            )
        if any(len(topic.encode()) > NAME_BYTES for topic in topics):
            raise BadInput("filter", f"a topic's name has at most {NAME_BYTES} bytes")
        return filter, topics

    def _remove(self, session: Session, id: str) -> None:
        subscription = session.subscriptions.pop(id, None) is not None
        session.advertisements.pop(id, None)
        self.placing.drop((session.target, id))
        self._advertised.pop((session.target, id), None)
        self._open.discard((session.target, id))
        for topic in self._topics.pop((session.target, id), ()):
            if subscription:
                self.delivery.unsubscribe(topic, session, id)
            if self.interest.leave(topic):
                self.membership.leave(topic)

    def placed(self) -> None:
        """Tell clients which of their filters are in place."""
        for target, id in self.placing.take_placed():
            self._say(self.all[target], InPlace(id))

    def explain(self, now: float) -> None:
        """Tell clients whose filters have waited for a while what they wait for."""
        for (target, id), reason in self.placing.take_reasons(now):
            self._say(self.all[target], Waiting(id, reason))

    def _why_not(self, session: Session, topic: str, attributes: dict[str, Value]) -> str | None:
        """Why the client may not publish this; None if it has to wait, empty if nothing is in the way."""
        keys = [(session.target, id) for id in session.advertisements]
        keys = [key for key in keys if self._advertised[key].matches(attributes)]
        if not keys:
            return "not advertised"
        named = [key for key in keys if topic in self._topics[key]]
        if not named:
            key = keys[0]
            if len(self._topics[key]) >= self.most_filters:
                return (
                    f"a client may publish on {self.most_filters} topics that it has not advertised by name"
                )
            self._join(session, key[1], [topic], restored=False)
            self._store(session)
            return None
        placed = any(self.placing.is_placed(key, topic) for key in named)
        return "" if placed and self.placing.usable(topic) else None

    def _say(self, session: Session, message: InPlace | Refused | Waiting) -> None:
        if session.connection is not None:
            self.out.append(Send(session.connection, message))

    def _store(self, session: Session) -> None:
        """The session is to be stored, once for everything that this event changes in it."""
        self._dirty[session.target] = session

    def stores(self) -> list[Effect]:
        dirty, self._dirty = self._dirty, {}
        return [
            Store(f"session/{session.client}", _encode(self._stored(session)))
            for target, session in dirty.items()
            if self.all.get(target) is session
        ]

    def _stored(self, session: Session) -> StoredMeshSession:
        opened = {
            id: sorted(self._topics[session.target, id])
            for id in session.advertisements
            if (session.target, id) in self._open
        }
        return StoredMeshSession(session.advertisements, session.subscriptions, opened)
