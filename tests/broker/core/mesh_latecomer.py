"""Runs aimed at gaps: one broker misses something, and a neighbour that came later never had it.

    z ─ v ─ v ─ u0 ─ … ─ un ─ v ─ v ─ z     members of the topic; p publishes at u1
    w ─ z, w ─ u0, w ─ un                   joins the topic while z is away

While z (or its subscriber, then z itself) is away, p publishes: only brokers near z keep that. The others
let it go, so w begins after it. p publishes again, and z comes back: if it hears from w first, it sees a gap.
p's broker may have crashed in between and must still say what comes before what.
"""

from functools import partial
from itertools import pairwise

from tests.broker.core.mesh_nodes import MeshNode
from tests.broker.core.mesh_simulation import MeshSimulation, Overlay

from regraft.testing.client_node import ClientNode

TOPIC = "red"


class SecludedNode(MeshNode):
    """A broker that can be cut off from others, while its clients stay."""

    apart: frozenset[str] = frozenset()

    def _dial(self, neighbour: str, life: int) -> None:
        other = self.world.brokers[neighbour]
        if neighbour in self.apart or (isinstance(other, SecludedNode) and self.name in other.apart):
            return self._dial_later(neighbour, life)
        return super()._dial(neighbour, life)

    def allow(self, *names: str) -> None:
        self.apart -= {*names}

    def seclude(self) -> None:
        self.apart = frozenset(self.neighbours)
        self.world.trace.fault("secluded", self.name)
        network = self.world.network
        for number, pair in list(network.ends.items()):
            nodes = [end.node for end in pair]
            if self in nodes and all(isinstance(node, MeshNode) for node in nodes):
                network.reset(number)


class Latecomer(MeshSimulation):
    """One run with k = 2."""

    duration = 12.0
    node = SecludedNode
    idle_seconds = 60.0

    def _overlay(self) -> Overlay:
        names = [f"b{number}" for number in range(self.rng.randint(9, 10))]
        self.rng.shuffle(names)
        self.z, self.w, *others = names
        self.us = others[2:-2]
        ring = [self.z, *others, self.z]
        pairs = [
            *pairwise(ring),
            *((self.w, other) for other in (self.z, self.us[0], self.us[-1])),
        ]
        links = sorted((min(pair), max(pair)) for pair in pairs)
        return Overlay(2, sorted(names), {TOPIC: sorted(ring[1:])}, links, False)

    def _clients(self) -> None:
        for name in self.overlay.members[TOPIC]:
            self._client(f"s-{name}", name, subscribe=TOPIC)
        self._client("p", self.us[1], advertise=TOPIC)
        self._client(f"s-{self.w}", self.w)

    def _steps(self) -> None:
        rng, at = self.rng, self.clock.after
        z, publisher = self.brokers[self.z], self.clients["p"]
        assert isinstance(z, SecludedNode)

        def publish() -> None:
            self._publish(publisher, rng.randint(1, 4))

        at(2.5, publish)
        if rng.random() < 0.5:
            at(4.0, partial(self._send_away, self.clients[f"s-{self.z}"], 9.0))
            at(4.6, z.crash)
            at(rng.uniform(10.3, 10.8), z.start)
        else:
            at(4.0, z.seclude)
            for name in z.neighbours:
                at(rng.uniform(10.3, 11.3), partial(z.allow, name))
            if rng.random() < 0.7:
                first = self.brokers[self.us[1]]
                at(6.5, first.crash)
                at(6.7, first.start)
        at(4.3, publish)
        at(8.5, lambda: self.clients[f"s-{self.w}"].subscribe(f"topic = '{TOPIC}'"))
        at(rng.uniform(9.5, 10.3), publish)

    def _send_away(self, client: ClientNode, seconds: float) -> None:
        client.move(client.broker, polite=True)
        client.connect_later(seconds)
