"""A client on the virtual network: the real core and an application that uses it.

The application takes a while to consume what is delivered, reconnects by itself, and tells the checker
everything that it does and sees.
"""

from collections import deque

from regraft.client.core import Acknowledged, Client, Connected, Delivered, Happening, Placed, Rejected
from regraft.protocol.messages import AnyMessage, Bye
from regraft.testing.broker_node import World
from regraft.testing.network import End


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
        """It has died or left, and never comes back."""
        self.pause = 0.002
        """How long one delivery takes to consume."""
        self.retiring: set[str] = set()
        """Advertisements that are withdrawn when everything is acknowledged."""
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
        broker = self.world.find(self, self.broker)
        if not broker.up:
            if self.world.rng.random() < self.world.script.failover:
                self.broker = self.world.elsewhere(self.broker)
            return self.connect_later(self.world.rng.uniform(0.05, 0.5))
        self.end, far = self.world.network.connect(self, broker)
        broker.accept(far)
        self.core.opened()
        return self._send()

    def heard(self, end: End, messages: list[AnyMessage]) -> None:
        if end is self.end:
            if any(isinstance(message, Bye) for message in messages):
                self.broker = self.world.elsewhere(self.broker)
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
        """Go to another broker. If it is polite, the old broker is told; otherwise it notices later."""
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
        elif isinstance(happening, Connected) and self.home != happening.broker:
            self.home = happening.broker
            checker.moved(self.core.publisher)

    def _consume_later(self) -> None:
        if self._tasks and not self._consuming:
            self._consuming = True
            self.world.clock.after(self.pause, self._consume)

    def _consume(self) -> None:
        """Consume one delivery, now and then all that wait."""
        self._consuming = False
        for _ in range(len(self._tasks) if self.world.rng.random() < 0.3 else 1):
            self.core.consumed(*self._tasks.popleft())
        self._send()
        self._consume_later()

    def _send(self) -> None:
        if self.end is not None and (messages := self.core.take()):
            self.world.network.send(self.end, messages)
