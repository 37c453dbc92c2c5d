"""Runs in which interest changes: clients come to topics that no design knew, and leave them, anywhere.

The overlay is a random one, not made for any topic, so a topic is connected at times and at times is not.
Clients that were told "in place" must get all that is acknowledged. At the end, only filters on topics that
are not connected among the brokers that have them may still wait.
"""

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from random import Random

import networkx as nx
from tests.broker.core.mesh_simulation import MeshSimulation, Overlay

from regraft.broker.core.mesh_roster import TopicState
from regraft.protocol import events
from regraft.testing.client_node import ClientNode

TOPICS = ("red", "blue")
SECONDS = 4.0


class Changing(MeshSimulation):
    """One short run."""

    duration = SECONDS

    def _overlay(self) -> Overlay:
        """A tree or a ring of all brokers, and some more links."""
        rng: Random = self.rng
        brokers = [f"b{i}" for i in range(rng.randint(3, 6))]
        rng.shuffle(brokers)
        pairs = {(each, rng.choice(brokers[:at])) for at, each in enumerate(brokers) if at}
        if rng.random() < 0.5:
            pairs |= {(one, brokers[at - 1]) for at, one in enumerate(brokers)}
        more = [pair for pair in combinations(brokers, 2) if rng.random() < 0.15]
        links = sorted({(min(pair), max(pair)) for pair in [*pairs, *more]})
        k = rng.choice((2, 2, 2, 3))
        self.connected = k if k == 3 else rng.choice((1, 1, 2))
        return Overlay(k, sorted(brokers), {}, links, True)

    def _clients(self) -> None:
        for name in self.overlay.brokers:
            for kind in ("p", "s"):
                self._client(f"{kind}-{name}", name)

    def _steps(self) -> None:
        rng = self.rng
        clients = list(self.clients.values())
        for _ in range(rng.randint(6, 16)):
            self.clock.after(rng.uniform(0.3, SECONDS), partial(self._change, clients))
        for _ in range(rng.randint(3, 8)):
            self.clock.after(rng.uniform(0.8, SECONDS), partial(self._collide, clients))
        for _ in range(rng.choice((0, 3, 8))):
            self.clock.after(rng.uniform(0.5, SECONDS), self._crash)
        for _ in range(rng.choice((0, 0, 6))):
            self.clock.after(rng.uniform(0.5, SECONDS), self._reset)

    def _change(self, clients: list[ClientNode]) -> None:
        rng = self.rng
        steps = (self._subscribe, self._unsubscribe, self._advertise, self._retire)
        rng.choices(steps, (6, 4, 4, 1))[0](rng.choice(clients))

    def _collide(self, clients: list[ClientNode]) -> None:
        """Two clients change what they want at about the same time, while all publish."""
        rng, slowest = self.rng, self.network.weather.slowest
        for _ in range(2):
            self.clock.after(rng.uniform(0, slowest), partial(self._change, clients))
        for client in rng.sample(clients, len(clients) // 2):
            for _ in range(rng.randint(1, 3)):
                self.clock.after(rng.uniform(0, 3 * slowest), partial(self._publish_some, client))

    # Steps

    def _subscribe(self, client: ClientNode) -> None:
        client.subscribe(f"topic = '{self.rng.choice(TOPICS)}'")

    def _unsubscribe(self, client: ClientNode) -> None:
        self._leave(client)

    def _advertise(self, client: ClientNode) -> None:
        client.advertise(self.rng.choice(("TRUE", *(f"topic = '{topic}'" for topic in TOPICS))))

    def _retire(self, client: ClientNode) -> None:
        if ids := [id for id in client.core.advertisements if id not in client.retiring]:
            client.retire(self.rng.choice(ids))

    def _publish_some(self, client: ClientNode) -> None:
        staying = [text for id, text in client.core.advertisements.items() if id not in client.retiring]
        if not staying:
            return
        text = self.rng.choice(staying)
        topic = self.rng.choice(TOPICS) if "'" not in text else text.split("'")[1]
        drawn = []
        for _ in range(self.rng.randint(1, 3)):
            self.published += 1
            event = events.Event({"topic": topic, "x": self.published}, b"")
            drawn.append(events.encode(event))
        client.publish(drawn)

    # The end

    def _parted(self, topic: str) -> bool:
        """Whether the topic is really not connected among the brokers that have it."""
        those = [
            name
            for name, node in self.brokers.items()
            if node.core.membership.states.get(topic, TopicState.LEAVING) is not TopicState.LEAVING
        ]
        graph = nx.Graph(self.overlay.links).subgraph(those)
        if len(those) <= self.connected:
            return bool(graph.number_of_edges() < len(those) * (len(those) - 1) // 2)
        return bool(nx.node_connectivity(graph) < self.connected)

    def _topics(self, text: str) -> tuple[str, ...]:
        return (text.split("'")[1],) if "'" in text else TOPICS

    def _may_wait(self, client: ClientNode) -> bool:
        """Whether it publishes on a topic that is not connected, or that no other broker has."""
        core = self.brokers[client.broker].core
        topics = {topic for text in client.core.advertisements.values() for topic in self._topics(text)}
        return any(
            self._parted(topic) or not (core.interest.wanting(topic) or core.delivery.subscribed(topic))
            for topic in topics
        )

    def _remains(self) -> Iterator[str]:
        for client in self.clients.values():
            if not client.core.connected or (client.core.unacknowledged and not self._may_wait(client)):
                yield f"{client.name} waits for {client.core.unacknowledged} acknowledgements"
        for name, subscriber in self.checker.subscribers.items():
            for id, each in subscriber.subscriptions.items():
                topic = self._topics(str(each.filter))[0]
                if not each.placed and not each.withdrawn and not self._parted(topic):
                    yield f"subscription {id} of {name} to {topic} is not in place"
        for name, broker in self.brokers.items():
            for topic, state in broker.core.membership.states.items():
                if state is TopicState.LEAVING:
                    yield f"{name} has not left {topic}"
                for copy in broker.core.flooding.streams.copies(topic):
                    if copy.acknowledged or not copy.source:
                        yield f"{name} keeps {copy.stream.name} {copy.seq}: {copy.has} {copy.local}"
