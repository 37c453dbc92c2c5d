"""Broker and client cores that talk over queues, one for each direction of a connection; a seed decides which
moves next."""

from collections import defaultdict, deque
from collections.abc import Iterable
from random import Random
from typing import TypeAlias

from regraft.broker.core import Broker, Change, Close, Dial, Effect, Report, Send, Store
from regraft.client.core import Acknowledged, Client, Delivered, Placed
from regraft.protocol import events
from regraft.protocol.messages import AnyMessage

CALLS = 50
ENDLESS = 20_000

Links: TypeAlias = list[tuple[str, str]]


class Overlay:
    """Brokers and clients joined by queues."""

    def __init__(self, links: Links, seed: int) -> None:
        self.random = Random(seed)
        self.slow = ("", "")
        """Pairs of sender and receiver whose messages move only when no others do."""
        names = sorted({name for link in links for name in link})
        around = {name: [a if b == name else b for a, b in links if name in (a, b)] for name in names}
        self.brokers = {name: Broker(name, around[name]) for name in names}
        self.clients: dict[str, Client] = {}
        self.numbers: dict[str, int] = {}
        """The client's end of its connection."""
        self.delivered: defaultdict[str, list[tuple[str, int, events.Value]]] = defaultdict(list)
        self.acknowledged: dict[str, int] = {}
        self.placed: set[str] = set()
        """Clients that have a filter in place."""
        self.ends: dict[int, tuple[str, int]] = {}
        """Whose each is, and the number of the other."""
        self.queues: dict[int, deque[AnyMessage | None]] = {}
        """What was sent from each end; None closes the connection."""
        self.reports: list[tuple[str, str, str]] = []
        self.calls: dict[tuple[str, str], int] = {}
        """Caller and callee, and how often in this run: one that refuses is called again, but later."""
        self.waiting: list[tuple[str, str]] = []
        self.stored: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
        for name, broker in self.brokers.items():
            self.do(name, broker.start())
        self.run()

    def connect(self, one: str, other: str) -> tuple[int, int]:
        numbers = len(self.ends) + 1, len(self.ends) + 2
        for number, name, peer in ((numbers[0], one, numbers[1]), (numbers[1], other, numbers[0])):
            self.ends[number] = (name, peer)
            self.queues[number] = deque()
        return numbers

    def do(self, name: str, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Dial):
                self.waiting.append((name, effect.neighbour))
                if not self.calls.get(self.waiting[-1]):
                    self.call()
            elif isinstance(effect, Send) and effect.connection in self.queues:
                self.queues[effect.connection].append(effect.message)
            elif isinstance(effect, Close) and effect.connection in self.queues:
                self.queues[effect.connection].append(None)
            elif isinstance(effect, Store):
                self.stored[name].pop(effect.key, None)
                if effect.value is not None:
                    self.stored[name][effect.key] = effect.value
            elif isinstance(effect, Report):
                self.reports.append((name, effect.change, effect.stage))

    def step(self) -> bool:
        """One message, or the end of a connection, reaches its other end."""
        busy = [number for number, queue in self.queues.items() if queue]
        if not busy:
            return False
        quick = [each for each in busy if (self.ends[each][0], self._receiver(each)) != self.slow]
        number = self.random.choice(quick or busy)
        message = self.queues[number].popleft()
        name, peer = self.ends[number]
        receiver = self._receiver(number)
        if message is None:
            for end, who in ((number, name), (peer, receiver)):
                self.queues.pop(end)
                self.do(who, self.brokers[who].closed(end, 0.0))
        elif receiver in self.brokers:
            self.do(receiver, self.brokers[receiver].received(peer, [message], 0.0))
        else:
            self.hear(receiver, message)
        return True

    def _receiver(self, number: int) -> str:
        return self.ends[self.ends[number][1]][0]

    def call(self) -> bool:
        """The neighbour that has waited longest is called; one that was called often enough waits."""
        for at, (name, neighbour) in enumerate(self.waiting):
            if self.calls.get((name, neighbour), 0) < CALLS:
                del self.waiting[at]
                self.calls[name, neighbour] = self.calls.get((name, neighbour), 0) + 1
                here, there = self.connect(name, neighbour)
                self.do(name, self.brokers[name].opened(here, neighbour))
                self.do(neighbour, self.brokers[neighbour].opened(there))
                return True
        return False

    def run(self, steps: int = ENDLESS) -> None:
        """Make this many steps, or step until no broker has anything to say, which has to come."""
        self.calls.clear()
        left = steps
        while left and (self.step() or self.call()):
            left -= 1
        assert left or steps < ENDLESS, "they talk without end"

    def client(self, name: str, broker: str) -> Client:
        client = self.clients[name] = Client(name, 1)
        self.numbers[name] = self.connect(name, broker)[0]
        client.opened()
        self.say(name)
        return client

    def say(self, name: str) -> None:
        self.queues[self.numbers[name]].extend(self.clients[name].take())

    def hear(self, name: str, message: AnyMessage) -> None:
        client = self.clients[name]
        for happening in client.received([message]):
            if isinstance(happening, Delivered):
                for seq, event in zip(happening.seqs, happening.events, strict=True):
                    self.delivered[name].append((happening.publisher, seq, events.attributes(event)["n"]))
                    client.consumed(happening.publisher, seq)
            elif isinstance(happening, Acknowledged):
                self.acknowledged[name] = happening.up_to
            elif isinstance(happening, Placed):
                self.placed.add(name)
        self.say(name)

    def change(self, change: Change) -> None:
        """Prepare, and what follows when all are ready."""
        for name in self.random.sample([change.i, change.j, change.k], 3):
            self.do(name, self.brokers[name].prepare(change))
            self.run(self.random.choice((0, 0, 5, 40)))

    def reset(self, one: str, other: str) -> None:
        """The connection between two brokers breaks; what was on it is lost."""
        for number, (name, peer) in list(self.ends.items()):
            if (name, self.ends[peer][0]) == (one, other) and number in self.queues:
                for end, who in ((number, one), (peer, other)):
                    self.queues.pop(end)
                    self.do(who, self.brokers[who].closed(end, 0.0))

    def restart(self, name: str) -> None:
        """With what it has stored, and links that have all been lost. Its clients have left it before."""
        before = self.brokers[name]
        life, stored = before.life + 1, dict(self.stored[name])
        self.brokers[name] = Broker(name, before.configured, life=life, stored=stored)
        self.waiting = [each for each in self.waiting if each[0] != name]
        for number, (who, peer) in list(self.ends.items()):
            if who == name and number in self.queues:
                self.queues.pop(number)
                self.queues.pop(peer)
                self.do(self.ends[peer][0], self.brokers[self.ends[peer][0]].closed(peer, 0.0))
        self.do(name, self.brokers[name].start())

    def tables(self) -> dict[str, dict[str, tuple[list[str], list[str]]]]:
        return {
            name: {
                neighbour: (sorted(side.advertisements), sorted(map(str, side.showing.shown.values())))
                for neighbour, side in sorted(broker.tables.sides.items())
            }
            for name, broker in self.brokers.items()
        }


def leave(overlay: Overlay, client: Client, broker: str) -> None:
    """The connection of the client ends; its session stays."""
    here = overlay.numbers[client.name]
    there = overlay.ends[here][1]
    client.closed()
    overlay.queues.pop(here, None)
    overlay.queues.pop(there, None)
    overlay.do(broker, overlay.brokers[broker].closed(there, 0.0))


def come(overlay: Overlay, client: Client, broker: str) -> None:
    overlay.numbers[client.name], there = overlay.connect(client.name, broker)
    overlay.do(broker, overlay.brokers[broker].opened(there))
    client.opened()
    overlay.say(client.name)


def move(overlay: Overlay, client: Client, old: str, new: str) -> None:
    """The client leaves one broker for another."""
    leave(overlay, client, old)
    come(overlay, client, new)


def publish_one(overlay: Overlay, client: Client, number: int, x: int) -> None:
    client.publish([events.encode(events.Event({"x": x, "n": number}))], 0)
    overlay.say(client.name)


def subscriber(overlay: Overlay, name: str, broker: str, filter: str) -> Client:
    client = overlay.client(name, broker)
    client.subscribe(filter)
    overlay.say(name)
    return client


def advertiser(overlay: Overlay, name: str, broker: str) -> Client:
    client = overlay.client(name, broker)
    client.advertise("TRUE")
    overlay.say(name)
    return client
