"""Clients of a mesh broker: their filters, what they publish, their comings and goings.

A filter is in place when the broker is ready on all its topics (`mesh_interest`); an advertisement also
needs somebody to publish to. What a client publishes before that waits. A session stays with its broker:
only there, and among its neighbours, is it known what the publisher's last number on each topic was.
"""

from collections import deque

import msgspec

from regraft.broker.core.effects import Close, Effect, Send, Store
from regraft.broker.core.forwarding import Fact
from regraft.broker.core.mesh_checks import check_run
from regraft.broker.core.mesh_delivery import Delivery
from regraft.broker.core.mesh_flood import Flooding
from regraft.broker.core.mesh_interest import Interest
from regraft.broker.core.mesh_streams import Copy
from regraft.broker.core.mesh_topics import TOPIC, stream_of, topics_of
from regraft.broker.core.peers import Session
from regraft.broker.core.sessions import FILTER_BYTES, NAME_BYTES
from regraft.filters import Filter, parse
from regraft.model import BadInput
from regraft.protocol import events
from regraft.protocol.messages import (
    Advertise,
    ClientHello,
    Confirm,
    InPlace,
    Refused,
    Run,
    Subscribe,
    Welcome,
    Withdraw,
)


class Stored(msgspec.Struct, array_like=True):
    """What is remembered of a session beyond a crash."""

    advertisements: dict[str, str]
    subscriptions: dict[str, str]


SOMEWHERE = "?"
"""The home of a client that has said hello to a broker, perhaps us, and got no answer."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Stored).decode


class Open:
    """The numbers of one publisher that have not been acknowledged or refused."""

    def __init__(self) -> None:
        self.numbers: deque[int] = deque()
        self.last = 0
        self._finished: set[int] = set()

    def begin(self, seq: int) -> bool:
        """Whether the number is new."""
        if seq <= self.last:
            return False
        self.last = seq
        self.numbers.append(seq)
        return True

    def finish(self, seq: int) -> None:
        if self.numbers and seq >= self.numbers[0]:
            self._finished.add(seq)
        while self.numbers and self.numbers[0] in self._finished:
            self._finished.discard(self.numbers.popleft())

    @property
    def floor(self) -> int:
        return self.numbers[0] if self.numbers else self.last + 1


class MeshSessions:
    """The clients of one broker."""

    def __init__(
        self, broker: str, interest: Interest, flooding: Flooding, delivery: Delivery, window: int, most: int
    ) -> None:
        self.broker = broker
        self.interest = interest
        self.flooding = flooding
        self.delivery = delivery
        self.window = window
        self.most_filters = most
        self.all = delivery.sessions
        self.out: list[Effect] = []
        self._dirty: dict[str, Session] = {}
        self._topics: dict[tuple[str, str], frozenset[str]] = {}
        """By target and id of a filter."""
        self._owed: dict[tuple[str, str], None] = {}
        """Filters whose client has not been told that they are in place."""
        self._publishing: dict[str, Open] = {}
        self._acknowledged: dict[tuple[str, str], list[int]] = {}
        flooding.acknowledge = self._acknowledge
        flooding.floor = self._floor

    def restore(self, stored: dict[str, bytes], now: float) -> None:
        """After a start: the sessions of the life before, not connected yet."""
        for key, value in stored.items():
            if not key.startswith("session/"):
                continue
            session = Session(key.removeprefix("session/"), now)
            self.all[session.target] = session
            kept = _decode(value)
            for id, text in kept.advertisements.items():
                self._add(session, id, text, session.advertisements, restored=True)
            for id, text in kept.subscriptions.items():
                self._add(session, id, text, session.subscriptions, restored=True)

    # Coming and going

    def hello(self, connection: int, hello: ClientHello, epoch: int, now: float) -> Session:
        session = self.all.get(f"@{hello.client}")
        known = session is not None
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
        for publisher in [each for each in self._publishing if each.partition("#")[0] == session.client]:
            del self._publishing[publisher]
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
        self, session: Session, id: str, text: str, filters: dict[str, str], restored: bool = False
    ) -> bool:
        if filters.get(id) == text:
            self._owed[session.target, id] = None
            return True
        try:
            filter, topics = self._judged(session, id, text, filters)
        except BadInput as fault:
            self._say(session, Refused(id, str(fault)))
            return False
        self._remove(session, id)
        filters[id] = text
        self._topics[session.target, id] = topics
        self._owed[session.target, id] = None
        for topic in sorted(topics):
            if self.interest.join(topic, restored):
                self.flooding.rejoin(topic)
            if filters is session.subscriptions:
                self.delivery.subscribe(topic, session, id, filter)
        return True

    def _judged(
        self, session: Session, id: str, text: str, filters: dict[str, str]
    ) -> tuple[Filter, frozenset[str]]:
        """The filter and the topics it pins, if the client may have it."""
        if id not in filters and len(filters) >= self.most_filters:
            raise BadInput("filter", f"a client may have {self.most_filters} filters, this is one more")
        in_all = sum(map(len, [*session.advertisements.values(), *session.subscriptions.values(), text]))
        if in_all > FILTER_BYTES:
            raise BadInput("filter", f"a client's filters may have {FILTER_BYTES} characters in all")
        filter = parse(text)
        topics = topics_of(filter)
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
        self._owed.pop((session.target, id), None)
        for topic in self._topics.pop((session.target, id), ()):
            if subscription:
                self.delivery.unsubscribe(topic, session, id)
            if self.interest.leave(topic):
                self.flooding.check_topic(topic)

    def placed(self) -> None:
        """Tell clients which of their filters are in place."""
        for target, id in list(self._owed):
            session = self.all[target]
            publishes = id in session.advertisements
            topics = self._topics[target, id]
            if all(self._usable(topic) if publishes else self.interest.is_ready(topic) for topic in topics):
                del self._owed[target, id]
                self._say(session, InPlace(id))

    def _usable(self, topic: str) -> bool:
        return self.interest.may_publish(topic, self.delivery.subscribed(topic))

    # Publications

    def publish(self, session: Session, run: Run) -> None:
        """Keep the run until its topics can be published on; `admit` takes it then."""
        check_run(session, run)
        session.inbox.append(run)

    def admit(self) -> None:
        """Take what clients published, each client's in order, as far as its topics can be published on."""
        for session in self.all.values():
            if session.inbox:
                filters = [parse(text) for text in session.advertisements.values()]
                while session.inbox and self._admit(session, session.inbox[0], filters):
                    session.inbox.popleft()

    def _admit(self, session: Session, run: Run, filters: list[Filter]) -> bool:
        """Whether all of the run could be taken; the rest stays in the inbox."""
        for at, (seq, event) in enumerate(zip(run.seqs, run.events, strict=True)):
            topic, reason = _topic(event, filters)
            if reason:
                self._open(run.publisher).begin(seq)
                self._open(run.publisher).finish(seq)
                self._say(session, Refused(f"{run.publisher}#{seq}", reason))
            elif not self._usable(topic):
                session.inbox[0] = Run(run.publisher, run.seqs[at:], run.events[at:], run.at)
                return False
            else:
                self._publish(session, Run(run.publisher, [seq], [event], run.at), topic)
        return True

    def _publish(self, session: Session, run: Run, topic: str) -> None:
        seq = run.seqs[0]
        name = stream_of(run.publisher, topic)
        new = self._open(run.publisher).begin(seq)
        if new and self.flooding.observe:
            self.flooding.facts.append(Fact("publication", run, session.target, ""))
        if not self.flooding.publish(name, seq, run.events[0], run.at, session.target):
            self._finish(session.target, run.publisher, seq)

    def _acknowledge(self, copy: Copy) -> None:
        self._finish(copy.source, copy.stream.name.partition("/")[0], copy.seq)

    def _finish(self, target: str, publisher: str, seq: int) -> None:
        self._open(publisher).finish(seq)
        ranges = self._acknowledged.setdefault((target, publisher), [])
        if ranges and ranges[-1] + 1 == seq:
            ranges[-1] = seq
        else:
            ranges += (seq, seq)

    def _open(self, publisher: str) -> Open:
        """Of each client, two lives are remembered."""
        if (publishing := self._publishing.get(publisher)) is None:
            client = publisher.partition("#")[0] + "#"
            for old in [each for each in self._publishing if each.startswith(client)][:-1]:
                del self._publishing[old]
            publishing = self._publishing[publisher] = Open()
        return publishing

    def _floor(self, stream: str) -> int:
        publishing = self._publishing.get(stream.partition("/")[0])
        return publishing.floor if publishing is not None else 0

    def take_sends(self) -> list[Send]:
        """The acknowledgements."""
        acknowledged, self._acknowledged = self._acknowledged, {}
        sends = []
        for (target, publisher), ranges in acknowledged.items():
            session = self.all.get(target)
            if session is not None and session.connection is not None:
                sends.append(Send(session.connection, Confirm(publisher, ranges)))
        return sends

    def _say(self, session: Session, message: InPlace | Refused) -> None:
        if session.connection is not None:
            self.out.append(Send(session.connection, message))

    def _store(self, session: Session) -> None:
        """What is known of the session is to be remembered, once for all that happens now."""
        self._dirty[session.target] = session

    def stores(self) -> list[Effect]:
        dirty, self._dirty = self._dirty, {}
        return [
            Store(f"session/{session.client}", _encode(Stored(session.advertisements, session.subscriptions)))
            for target, session in dirty.items()
            if self.all.get(target) is session
        ]


def _topic(event: bytes, filters: list[Filter]) -> tuple[str, str]:
    """The topic of an event, or why it may not be published."""
    if not events.is_event(event):
        return "", "not an event: attributes and data"
    attributes = events.attributes(event)
    topic = attributes.get(TOPIC)
    if not isinstance(topic, str) or not topic:
        return "", f"an event in a mesh has a string attribute {TOPIC!r}"
    return topic, "" if any(filter.matches(attributes) for filter in filters) else "not advertised"
