"""A broker on the virtual network: the real core in a shell that does what `broker/io` does.

It carries out effects in order and keeps dialling. What it has stored survives a crash, which may come in the
middle of the effects.
"""

from dataclasses import dataclass
from random import Random

from regraft.broker.core.broker import Broker
from regraft.broker.core.effects import Close, Dial, Effect, Hangup, Send, Store
from regraft.broker.core.settings import BrokerSettings
from regraft.protocol.messages import AnyMessage
from regraft.testing.checker import Checker
from regraft.testing.network import Clock, End, Network, Node, Trace
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
    settings: BrokerSettings
    script: Script
    brokers: "dict[str, BrokerNode]"

    def find(self, caller: Node, name: str) -> "BrokerNode":
        """The broker of this name that answers the caller, if it is up."""
        return self.brokers[name]

    def elsewhere(self, broker: str) -> str:
        """The broker to which a client of this broker goes instead."""
        return self.rng.choice(self.script.brokers)


class BrokerNode:
    """One broker: its lives, its disk, its connections."""

    def __init__(self, world: World, name: str, neighbours: list[str]) -> None:
        self.world = world
        self.name = name
        self.neighbours = neighbours
        self.settings = world.settings
        self.disk: dict[str, bytes] = {}
        self.life = 0
        self.up = False
        self.core: Broker
        self.ends: dict[int, End] = {}
        self.dialling: set[str] = set()
        self.crash_soon = False
        """Whether it crashes in the middle of its next effects."""

    def start(self) -> None:
        self.life += 1
        self.up = True
        self.dialling = set()
        world = self.world
        self.core = Broker(
            self.name, self.neighbours, self.settings, self.life, dict(self.disk), world.clock.now
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

    def stages(self) -> dict[str, str] | None:
        """The stages of the changes in which the broker takes part; None if it does not answer its agent."""
        return self.core.relink.stages() if self.up else None

    def carry_out(self, effects: list[Effect]) -> None:
        """Carry out the effects of what the agent has told the core."""
        self._do(effects)

    def _tick(self, life: int) -> None:
        if self.up and self.life == life:
            self._do(self.core.tick(self.world.clock.now))
            self.world.checker.bounds(self.core, self.world.script.most)
            self.world.clock.after(TICK, lambda: self._tick(life))

    def _do(self, effects: list[Effect]) -> None:
        """Carry the effects out, or only the first of them if the broker is to crash."""
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
        """Returns the closed ends. Messages to a peer leave together unless another effect intervenes."""
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
            if (end := self.ends.get(connection)) is not None and (those := self._admitted(end, messages)):
                self.world.network.send(end, those)
        pending.clear()

    def _admitted(self, end: End, messages: list[AnyMessage]) -> list[AnyMessage]:
        return messages

    def _dial_later(self, neighbour: str, life: int) -> None:
        self.world.clock.after(self.world.rng.uniform(0.02, 0.4), lambda: self._dial(neighbour, life))

    def _dial(self, neighbour: str, life: int) -> None:
        if not self.up or self.life != life or neighbour not in self.dialling:
            return
        other = self.world.find(self, neighbour)
        if not other.up:
            return self._dial_later(neighbour, life)
        self.dialling.discard(neighbour)
        near, far = self.world.network.connect(self, other)
        other.accept(far)
        return self.accept(near, neighbour)
