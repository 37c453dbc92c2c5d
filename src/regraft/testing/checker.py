"""Knows from what clients did who must receive what; any breach of a guarantee is raised at once.

A publication is owed to every client that had a matching subscription in place (it was told so) when
the publication was published. When the publisher is told that it is acknowledged, every client that is
still there and has not withdrawn such a subscription must have received it: an acknowledgement that
comes too early is a loss, even if the delivery would follow. Beyond that: nothing twice, nothing out of
its publisher's order, nothing changed on the way, nothing that the client never asked for.
"""

from collections import Counter
from dataclasses import dataclass, field

from regraft.broker.core.broker import Broker
from regraft.filters import Filter, parse
from regraft.protocol import events


class Violation(Exception):
    """The guarantee is broken."""


@dataclass
class Subscription:
    filter: Filter
    placed: bool = False
    withdrawn: bool = False


@dataclass
class Publication:
    event: bytes
    owed: dict[str, list[Subscription]]
    """For each client its matching subscriptions; it must receive the publication if one of them stays."""
    acknowledged: bool = False


@dataclass
class Subscriber:
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    received: set[tuple[str, int]] = field(default_factory=set)
    highest: dict[str, int] = field(default_factory=dict)
    left: bool = False


class Checker:
    """The shells of clients tell it what they do and see."""

    def __init__(self) -> None:
        self.subscribers: dict[str, Subscriber] = {}
        self.publications: dict[str, dict[int, Publication]] = {}
        self.acknowledged_up_to: dict[str, int] = {}
        self.deliveries = 0
        self.homes: Counter[str] = Counter()
        """How often each publisher has come to another broker."""

    # What clients do

    def subscribed(self, client: str, id: str, filter: str) -> None:
        self._subscriber(client).subscriptions[id] = Subscription(parse(filter))

    def withdrawn(self, client: str, id: str) -> None:
        self._subscriber(client).subscriptions[id].withdrawn = True

    def left(self, client: str) -> None:
        self._subscriber(client).left = True

    def published(self, publisher: str, seq: int, event: bytes) -> None:
        attributes = events.attributes(event)
        owed: dict[str, list[Subscription]] = {}
        for client, subscriber in self.subscribers.items():
            those = [
                each
                for each in subscriber.subscriptions.values()
                if each.placed and not each.withdrawn and each.filter.matches(attributes)
            ]
            if those and not subscriber.left:
                owed[client] = those
        self.publications.setdefault(publisher, {})[seq] = Publication(event, owed)

    def moved(self, publisher: str) -> None:
        self.homes[publisher] += 1

    # What clients see

    def placed(self, client: str, id: str) -> None:
        if (subscription := self._subscriber(client).subscriptions.get(id)) is not None:
            subscription.placed = True

    def rejected(self, client: str, about: str, reason: str) -> None:
        raise Violation(f"{client} was refused {about!r}: {reason}")

    def delivered(self, client: str, publisher: str, seq: int, event: bytes) -> None:
        self.deliveries += 1
        subscriber, name = self._subscriber(client), f"{publisher} {seq}"
        publication = self.publications.get(publisher, {}).get(seq)
        if publication is None or publication.event != event:
            raise Violation(f"invented: {client} received {name}, which was never published so")
        if (publisher, seq) in subscriber.received:
            raise Violation(f"duplicated: {client} received {name} twice")
        if subscriber.highest.get(publisher, 0) > seq:
            raise Violation(f"reordered: {client} received {name} after {subscriber.highest[publisher]}")
        attributes = events.attributes(event)
        if not any(each.filter.matches(attributes) for each in subscriber.subscriptions.values()):
            raise Violation(f"unasked: {client} received {name} {attributes} but never subscribed to such")
        subscriber.received.add((publisher, seq))
        subscriber.highest[publisher] = seq

    def acknowledged(self, publisher: str, up_to: int) -> None:
        first = self.acknowledged_up_to.get(publisher, 0) + 1
        self.acknowledged_up_to[publisher] = max(up_to, first - 1)
        for seq in range(first, up_to + 1):
            publication = self.publications[publisher][seq]
            publication.acknowledged = True
            for client, subscriptions in publication.owed.items():
                subscriber = self.subscribers[client]
                lost = (publisher, seq) not in subscriber.received
                if lost and not subscriber.left and any(not each.withdrawn for each in subscriptions):
                    those = [str(each.filter) for each in subscriptions if not each.withdrawn]
                    event = events.attributes(publication.event)
                    raise Violation(
                        f"lost: {publisher} {seq} {event} is acknowledged, but {client} with {those} "
                        f"has not received it (highest there: {subscriber.highest.get(publisher, 0)})"
                    )

    # What brokers hold

    def bounds(self, broker: Broker, longest: int) -> None:
        """Nothing may grow beyond the windows; a run of up to `longest` may straddle one.

        What was confirmed while it was being sent again may be kept for a while beside a full window,
        and so may what a broker had that is off the path since the publisher moved.
        """
        window = broker.settings.window
        for publisher, stream in broker.forwarding.store.streams.items():
            held = sum(len(each.run.seqs) for each in stream)
            if held > window * (1 + self.homes[publisher]):
                raise Violation(f"unbounded: {broker.id} holds {held} of {publisher}, the window is {window}")
        for session in broker.forwarding.sessions.values():
            waiting = sum(len(run.seqs) for run in session.inbox)
            if waiting > 2 * window:
                raise Violation(f"unbounded: {waiting} wait in the inbox of {session.client} at {broker.id}")
            if session.on_the_way > session.window + longest - 1:
                raise Violation(
                    f"unbounded: {session.on_the_way} on the way to {session.client}, "
                    f"its window is {session.window}"
                )

    def _subscriber(self, client: str) -> Subscriber:
        return self.subscribers.setdefault(client, Subscriber())
