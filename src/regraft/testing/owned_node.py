"""A broker whose journal is in ZooKeeper, and which may have been replaced without knowing it.

What is stored waits while ZooKeeper cannot be reached, with everything that is to leave after it. A store by
a broker that has been deposed fails, and ends it. Answers to clients leave within the lease.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from regraft.broker.core.effects import Effect, Store
from regraft.broker.core.lease import AnswerLease
from regraft.protocol.messages import AnyMessage
from regraft.testing.broker_node import BrokerNode, World
from regraft.testing.client_node import ClientNode
from regraft.testing.ensemble import Ensemble
from regraft.testing.network import End, Node

SESSION = 1.0
"""ZooKeeper forgets a session of which it has not heard for so long."""
SURE = 0.75 * SESSION
"""A broker may rely on its session for so long after it has sent something that was answered."""
RENEWAL = 0.15
AGAIN = 0.5
"""A process that has ended by itself is started again after so long."""


@dataclass
class Owner:
    """Of a broker's id and journal: the node in ZooKeeper."""

    life: int = 0
    holder: "OwnedNode | None" = None
    values: dict[str, bytes] = field(default_factory=dict)


class Deposed(Exception):
    """Somebody else is this broker now."""


@dataclass
class OwnedWorld(World):
    """Two sides of a partition, and several brokers of one name."""

    ensemble: Ensemble
    owners: dict[str, Owner] = field(default_factory=dict)
    parted: set[Node] = field(default_factory=set)
    """Those who reach each other only."""
    unheard: set[Node] = field(default_factory=set)
    """Those who do not reach ZooKeeper."""
    nodes: "list[OwnedNode]" = field(default_factory=list)
    living: list[str] = field(default_factory=list)
    """Where clients may go."""
    waiting: set[str] = field(default_factory=set)
    """Brokers whose processes run again, and which have deputies."""
    started: "Callable[[OwnedNode], None]" = lambda node: None
    ended: "Callable[[OwnedNode], None]" = lambda node: None
    """Told of brokers that begin, and that are gone."""

    def find(self, caller: Node, name: str) -> BrokerNode:
        """Addresses may be old: of several that can be reached it is any."""
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
    """One process that is, or was, the broker of this name; `host` if it is a deputy in another's."""

    world: OwnedWorld

    def __init__(
        self, world: OwnedWorld, name: str, neighbours: list[str], host: "OwnedNode | None" = None
    ) -> None:
        super().__init__(world, name, neighbours)
        self.host = host
        self.dead = False
        """For good."""
        self.session_at = 0.0
        self._stalled: list[Effect] = []
        world.nodes.append(self)

    @property
    def owner(self) -> Owner:
        return self.world.owners.setdefault(self.name, Owner())

    @property
    def deposed(self) -> bool:
        return self.owner.holder is not self

    @property
    def reaches_zookeeper(self) -> bool:
        return (self.host or self) not in self.world.unheard and not self.world.ensemble.away

    def take(self) -> None:
        """Become the owner: nobody before can store anything from now on."""
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
        """For good."""
        self.world.trace.note(self.name, f"life {self.life} ends: {why}")
        self.dead = True
        if self.up:
            self.crash()

    def _give_up(self, why: str) -> None:
        """A deputy ends; a process ends and is started again, by whoever starts processes."""
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
                if self.deposed:  # it sees that in its owner node
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
