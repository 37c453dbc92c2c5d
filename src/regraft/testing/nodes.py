"""The shells of the simulation: a broker and a client around the real cores, on the virtual network.

A broker's shell does what `broker/io` does: carries out effects in order, keeps dialling, keeps what is
stored beyond a crash. A client's shell is the application: it consumes what is delivered after a while,
reconnects by itself, and tells the checker everything it sees.
"""

from collections import deque
from dataclasses import dataclass
from random import Random

from regraft.broker.core.broker import Broker, Settings
from regraft.broker.core.effects import Close, Dial, Effect, Hangup, Send, Store
from regraft.broker.core.messages import AnyMessage
from regraft.client.core import Acknowledged, Client, Delivered, Happening, Placed, Rejected
from regraft.testing.checker import Checker
from regraft.testing.network import Clock, End, Network, Trace
from regraft.testing.script import Script

TICK = 1.0


@dataclass
class World:
    """What every node shares."""

    clock: Clock
    trace: Trace
    network: Network
    rng: Random
    checker: Checker
    settings: Settings
    script: Script
    brokers: "dict[str, BrokerNode]"


class BrokerNode:
    """One broker: its lives, its disk, its connections."""

    def __init__(self, world: World, name: str, neighbours: list[str]) -> None:
        self.world = world
        self.name = name
        self.neighbours = neighbours
        self.disk: dict[str, bytes] = {}
        self.life = 0
        self.up = False
        self.core: Broker
        self.ends: dict[int, End] = {}
        self.dialling: set[str] = set()
        self.crash_soon = False
        """Crash in the middle of the next effects."""

    def start(self) -> None:
        self.life += 1
        self.up = True
        self.dialling = set()
        world = self.world
        self.core = Broker(
            self.name, self.neighbours, world.settings, self.life, dict(self.disk), world.clock.now
        )
        world.trace.note(self.name, f"starts, life {self.life}")
        self._do(self.core.start())
        self._tick(self.life)

    def crash(self) -> None:
        """Memory is lost; the disk stays."""
        self.up = False
        self.crash_soon = False
        self.ends = {}
        self.world.network.vanish(self)

    def accept(self, end: End, neighbour: str = "") -> None:
        self.ends[end.number] = end
        self._do(self.core.opened(end.number, neighbour))

    def heard(self, end: End, messages: list[AnyMessage]) -> None:
        self._do(self.core.received(end.number, messages, self.world.clock.now))

    def ended(self, end: End) -> None:
        if self.ends.pop(end.number, None) is not None:
            self._do(self.core.closed(end.number, self.world.clock.now))

    def _tick(self, life: int) -> None:
        if self.up and self.life == life:
            self._do(self.core.tick(self.world.clock.now))
            self.world.checker.bounds(self.core, self.world.script.most)
            self.world.clock.after(TICK, lambda: self._tick(life))

    def _do(self, effects: list[Effect]) -> None:
        """Carry the effects out, if a crash does not come between."""
        if not effects:
            return
        if self.crash_soon:
            effects = effects[: self.world.rng.randrange(len(effects) + 1)]
        closed = self._carry_out(effects)
        if self.crash_soon:
            self.world.trace.fault("crash in mid-effects", self.name)
            return self.crash()
        for end in closed:
            self._do(self.core.closed(end.number, self.world.clock.now))
        return None

    def _carry_out(self, effects: list[Effect]) -> list[End]:
        """Messages to one peer leave together unless something comes between; returns what was closed."""
        pending: dict[int, list[AnyMessage]] = {}
        closed: list[End] = []
        for effect in effects:
            if isinstance(effect, Send):
                pending.setdefault(effect.connection, []).append(effect.message)
                continue
            self._flush(pending)
            if isinstance(effect, Store):
                self._store(effect)
            elif isinstance(effect, Close):
                if (end := self.ends.pop(effect.connection, None)) is not None:
                    self.world.network.close(end)
                    closed.append(end)
            elif isinstance(effect, Dial):
                self.dialling.add(effect.neighbour)
                self._dial_later(effect.neighbour, self.life)
            elif isinstance(effect, Hangup):
                self.dialling.discard(effect.neighbour)
        self._flush(pending)
        return closed

    def _store(self, store: Store) -> None:
        if store.value is None:
            self.disk.pop(store.key, None)
        else:
            self.disk[store.key] = store.value

    def _flush(self, pending: dict[int, list[AnyMessage]]) -> None:
        for connection, messages in pending.items():
            if (end := self.ends.get(connection)) is not None:
                self.world.network.send(end, messages)
        pending.clear()

    def _dial_later(self, neighbour: str, life: int) -> None:
        self.world.clock.after(self.world.rng.uniform(0.02, 0.4), lambda: self._dial(neighbour, life))

    def _dial(self, neighbour: str, life: int) -> None:
        if not self.up or self.life != life or neighbour not in self.dialling:
            return
        other = self.world.brokers[neighbour]
        if not other.up:
            return self._dial_later(neighbour, life)
        self.dialling.discard(neighbour)
        near, far = self.world.network.connect(self, other)
        other.accept(far)
        return self.accept(near, neighbour)


class ClientNode:
    """One application: publishes, consumes, withdraws, moves."""

    def __init__(self, world: World, name: str, broker: str) -> None:
        self.world = world
        self.name = name
        self.broker = broker
        self.core = Client(name, 1, window=world.script.window, most=world.script.most)
        self.end: End | None = None
        self.home = ""
        self.gone = False
        """It never comes back, or has left."""
        self.pause = 0.002
        """How long one delivery takes to consume."""
        self.retiring: set[str] = set()
        """Advertisements that go when everything is acknowledged."""
        self._tasks: deque[tuple[str, int]] = deque()
        self._consuming = False
        self._attempt = 0

    # The connection

    def connect_later(self, delay: float) -> None:
        self._attempt += 1
        attempt = self._attempt
        self.world.clock.after(delay, lambda: self._connect(attempt))

    def _connect(self, attempt: int) -> None:
        if self.gone or self.end is not None or attempt != self._attempt:
            return
        broker = self.world.brokers[self.broker]
        if not broker.up:
            if self.world.rng.random() < self.world.script.failover:
                self.broker = self.world.rng.choice(list(self.world.brokers))
            return self.connect_later(self.world.rng.uniform(0.05, 0.5))
        self.end, far = self.world.network.connect(self, broker)
        broker.accept(far)
        self.core.opened()
        return self._send()

    def heard(self, end: End, messages: list[AnyMessage]) -> None:
        if end is self.end:
            for happening in self.core.received(messages):
                self._happened(happening)
            self._retire()
            self._send()

    def ended(self, end: End) -> None:
        if end is self.end:
            self.end = None
            self.core.closed()
            self.connect_later(self.world.rng.uniform(0.01, 0.6))

    def move(self, broker: str, *, polite: bool) -> None:
        """Go to another broker; the old one hears of it now or notices later."""
        self.broker = broker
        if self.end is not None:
            if polite:
                self.world.network.close(self.end)
            else:
                self.world.network.vanish(self)
            self.end = None
            self.core.closed()
        self.connect_later(self.world.rng.uniform(0.0, 0.4))

    def vanish(self) -> None:
        self.gone = True
        self.end = None
        self.world.network.vanish(self)
        self.world.checker.left(self.name)

    def leave(self) -> None:
        """End the session, if there is a connection to say it on."""
        if self.core.connected:
            self.core.leave()
            self._send()
            self.gone = True
            self.world.checker.left(self.name)

    # The application

    def advertise(self, filter: str) -> None:
        self.core.advertise(filter)
        self._send()

    def subscribe(self, filter: str) -> None:
        id = self.core.subscribe(filter)
        self.world.checker.subscribed(self.name, id, filter)
        self._send()

    def unsubscribe(self, id: str) -> None:
        self.world.checker.withdrawn(self.name, id)
        self.core.withdraw(id)
        self._send()

    def retire(self, id: str) -> None:
        """Publish no more under this advertisement, and withdraw it when all is acknowledged."""
        self.retiring.add(id)
        self._retire()
        self._send()

    def publish(self, events: list[bytes]) -> None:
        last = self.core.publish(events, int(self.world.clock.now * 1e6))
        for seq, event in enumerate(events, last - len(events) + 1):
            self.world.checker.published(self.core.publisher, seq, event)
        self._send()

    def _retire(self) -> None:
        if self.retiring and not self.core.unacknowledged:
            for id in sorted(self.retiring):
                self.core.withdraw(id)
            self.retiring = set()

    def _happened(self, happening: Happening) -> None:
        checker = self.world.checker
        self.world.trace.note(self.name, f"sees {happening}")
        if isinstance(happening, Delivered):
            for seq, event in zip(happening.seqs, happening.events, strict=True):
                checker.delivered(self.name, happening.publisher, seq, event)
                self._tasks.append((happening.publisher, seq))
            self._consume_later()
        elif isinstance(happening, Acknowledged):
            checker.acknowledged(self.core.publisher, happening.up_to)
        elif isinstance(happening, Placed):
            checker.placed(self.name, happening.id)
        elif isinstance(happening, Rejected):
            checker.rejected(self.name, happening.about, happening.reason)
        elif self.home != happening.broker:
            self.home = happening.broker
            checker.moved(self.core.publisher)

    def _consume_later(self) -> None:
        if self._tasks and not self._consuming:
            self._consuming = True
            self.world.clock.after(self.pause, self._consume)

    def _consume(self) -> None:
        """Done with one delivery, now and then with all."""
        self._consuming = False
        for _ in range(len(self._tasks) if self.world.rng.random() < 0.3 else 1):
            self.core.consumed(*self._tasks.popleft())
        self._send()
        self._consume_later()

    def _send(self) -> None:
        if self.end is not None and (messages := self.core.take()):
            self.world.network.send(self.end, messages)
