"""A broker whose journal is in ZooKeeper, and which may have been replaced without knowing it.

While ZooKeeper cannot be reached, stores wait, and so does everything that must leave after them. If a broker
that has been deposed stores something, the store fails and the broker ends. Answers to clients leave only
while the broker's lease holds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from regraft.broker.core.effects import Effect, Store
from regraft.broker.core.lease import AnswerLease
from regraft.protocol.messages import AnyMessage
from regraft.testing.broker_node import BrokerNode, World
from regraft.testing.client_node import ClientNode
from regraft.testing.ensemble import SimulatedEnsemble
from regraft.testing.network import End, Node

SESSION = 1.0
"""After how many seconds without hearing from a session ZooKeeper ends it."""
SURE = 0.75 * SESSION
"""For how many seconds after its last renewal a broker may rely on its session."""
RENEWAL = 0.15
AGAIN = 0.5
"""After how many seconds a process that has ended by itself is started again."""


@dataclass
class Ownership:
    """Who owns a broker's id and journal: the owner node in ZooKeeper."""

    life: int = 0
    holder: "OwnedNode | None" = None
    values: dict[str, bytes] = field(default_factory=dict)


class Deposed(Exception):
    """Somebody else is this broker now."""


@dataclass
class OwnedWorld(World):
    """A world with partitions, in which several processes may take themselves for the same broker."""

    ensemble: SimulatedEnsemble
    owners: dict[str, Ownership] = field(default_factory=dict)
    parted: set[Node] = field(default_factory=set)
    """The nodes on one side of the partition: they reach only each other."""
    unheard: set[Node] = field(default_factory=set)
    """The processes that do not reach ZooKeeper."""
    nodes: "list[OwnedNode]" = field(default_factory=list)
    living: list[str] = field(default_factory=list)
    """The brokers to which clients may go."""
    waiting: set[str] = field(default_factory=set)
    """Brokers whose processes run again while deputies stand in for them."""
    started: "Callable[[OwnedNode], None]" = lambda node: None
    ended: "Callable[[OwnedNode], None]" = lambda node: None
    """Called when a broker has started, and when it is gone."""

    def find(self, caller: Node, name: str) -> BrokerNode:
        """Any process of that name which the caller reaches: its address may be outdated."""
        side = caller in self.parted
        there = [each for each in self.nodes if each.name == name and each.up]
        reached = [each for each in there if (each in self.parted) == side]
        return self.rng.choice(reached) if reached else NOBODY

    def elsewhere(self, broker: str) -> str:
        return self.rng.choice([each for each in self.living if each != broker] or [broker])


class Nobody:
    up = False


NOBODY: BrokerNode = Nobody()  # type: ignore[assignment]


class OwnedNode(BrokerNode):
    """A process that is or was the broker of this name; a deputy runs in the process of its `host`."""

    world: OwnedWorld

    def __init__(
        self, world: OwnedWorld, name: str, neighbours: list[str], host: "OwnedNode | None" = None
    ) -> None:
        super().__init__(world, name, neighbours)
        self.host = host
        self.dead = False
        """It has ended for good."""
        self.session_at = 0.0
        self._stalled: list[Effect] = []
        world.nodes.append(self)

    @property
    def owner(self) -> Ownership:
        return self.world.owners.setdefault(self.name, Ownership())

    @property
    def deposed(self) -> bool:
        return self.owner.holder is not self

    @property
    def reaches_zookeeper(self) -> bool:
        return (self.host or self) not in self.world.unheard and not self.world.ensemble.away

    def take(self) -> None:
        """Become the owner: from now on no earlier owner can store anything."""
        self.owner.life += 1
        self.owner.holder = self

    def start(self) -> None:
        if self.owner.holder is None:
            self.take()
        elif self.deposed or self.dead or (self.host is not None and not self.host.up):
            if self.host is None and not self.dead:
                self.world.waiting.add(self.name)
            return
        elif self.life:
            self.take()
        self.life, self.disk = self.owner.life - 1, self.owner.values
        self._stalled = []
        self._lease = AnswerLease()
        self._renewed()
        super().start()
        self._renew(self.life)
        self.world.started(self)

    def crash(self) -> None:
        super().crash()
        self.world.ended(self)
        for node in self.world.nodes:
            if node.host is self and not node.dead:
                node.end("its host is gone")

    def end(self, why: str) -> None:
        """End for good."""
        self.world.trace.note(self.name, f"life {self.life} ends: {why}")
        self.dead = True
        if self.up:
            self.crash()

    def _give_up(self, why: str) -> None:
        """A deputy ends for good; a process ends and is started again."""
        if self.host is not None:
            return self.end(why)
        self.world.trace.note(self.name, f"life {self.life} gives up: {why}")
        self.crash()
        return self.world.clock.after(AGAIN, self.start)

    def stages(self) -> dict[str, str] | None:
        return None if self._stalled or not self.reaches_zookeeper else super().stages()

    # The lease

    def _renewed(self) -> None:
        self.session_at = self.world.clock.now
        released = self._lease.prolong(self.session_at + SURE, self.session_at)
        for connection, messages in released.items():
            if (end := self.ends.get(connection)) is not None:
                self.world.network.send(end, messages)

    def _renew(self, life: int) -> None:
        if self.up and self.life == life:
            if self.reaches_zookeeper:
                if self.deposed:  # the owner node names another process
                    return self._give_up("another has taken its place")
                self._renewed()
            self.world.clock.after(RENEWAL, lambda: self._renew(life))
        return None

    def _admitted(self, end: End, messages: list[AnyMessage]) -> list[AnyMessage]:
        if not isinstance(end.peer.node, ClientNode):
            return messages
        return self._lease.admitted(end.number, messages, self.world.clock.now)

    # The journal

    def _do(self, effects: list[Effect]) -> None:
        if self._stalled:
            self._stalled += effects
            return
        try:
            super()._do(effects)
        except Deposed:
            self._give_up("it has been replaced, and cannot store")

    def _carry_out(self, effects: list[Effect]) -> list[End]:
        first = next((at for at, effect in enumerate(effects) if isinstance(effect, Store)), len(effects))
        if first == len(effects) or self.reaches_zookeeper:
            return super()._carry_out(effects)
        closed = super()._carry_out(effects[:first])
        self._stalled = effects[first:]
        self._resume_later(self.life)
        return closed

    def _resume_later(self, life: int) -> None:
        self.world.clock.after(0.05, lambda: self._resume(life))

    def _resume(self, life: int) -> None:
        if not self.up or self.life != life:
            return
        if not self.reaches_zookeeper:
            return self._resume_later(life)
        effects, self._stalled = self._stalled, []
        return self._do(effects)

    def _store(self, store: Store) -> None:
        if self.owner.life != self.life:
            raise Deposed
        super()._store(store)
