"""What a simulated mesh is made of: a broker around the core of a mesh, and what is checked of it."""

from collections.abc import Iterator
from typing import Any

from regraft.broker.core.mesh import MeshBroker
from regraft.broker.core.mesh_streams import topic_of
from regraft.protocol import events
from regraft.testing.broker_node import BrokerNode
from regraft.testing.checker import Checker, Violation


class MeshChecker(Checker):
    """Nothing twice, nothing out of the order of its publisher and topic, nothing acknowledged lost."""

    def delivered(self, client: str, publisher: str, seq: int, event: bytes) -> None:
        self.deliveries += 1
        subscriber = self._subscriber(client)
        publication = self.publications.get(publisher.partition("/")[0], {}).get(seq)
        topic = events.attributes(event)["topic"]
        if publication is None or publication.event != event or topic != topic_of(publisher):
            raise Violation(f"invented: {client} received {publisher} {seq}, which was never published so")
        if (publisher, seq) in subscriber.received:
            raise Violation(f"duplicated: {client} received {publisher} {seq} twice")
        if subscriber.highest.get(publisher, 0) > seq:
            raise Violation(f"reordered: {client} received {publisher} {seq} too late")
        subscriber.received.add((publisher, seq))
        subscriber.highest[publisher] = seq

    def acknowledged(self, publisher: str, up_to: int) -> None:
        for seq in range(self.acknowledged_up_to.get(publisher, 0) + 1, up_to + 1):
            self.publications[publisher][seq].acknowledged = True
        self.acknowledged_up_to[publisher] = max(up_to, self.acknowledged_up_to.get(publisher, 0))

    def bounds(self, broker: Any, longest: int) -> None:
        for session in broker.delivery.sessions.values():
            if session.on_the_way > session.window:
                raise Violation(f"unbounded: {session.on_the_way} on the way to {session.client}")

    def lost(self) -> Iterator[str]:
        for publisher, publications in self.publications.items():
            for seq, publication in publications.items():
                stream = f"{publisher}/{events.attributes(publication.event)['topic']}"
                for client, subscriptions in publication.owed.items():
                    wanted = publication.acknowledged and any(not each.withdrawn for each in subscriptions)
                    if wanted and (stream, seq) not in self.subscribers[client].received:
                        yield f"lost: {client} has not received {stream} {seq}"


class MeshNode(BrokerNode):
    """The shell of a broker, around the other core."""

    core: MeshBroker  # type: ignore[assignment]

    def start(self) -> None:
        self.life += 1
        self.up = True
        self.dialling = set()
        world = self.world
        self.core = MeshBroker(
            self.name, self.neighbours, world.settings, self.life, dict(self.disk), world.clock.now
        )
        world.trace.note(self.name, f"starts, life {self.life}")
        self._do(self.core.start())
        self._tick(self.life)
