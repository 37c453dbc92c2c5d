"""Random runs of meshes: real cores on the virtual network, fewer than k brokers failed at any time.

Half of the runs have an overlay that is just k-topic-connected (a Harary graph for each topic) with
lasting interest; the others are complete graphs, where brokers join and leave topics as they like.
"""

import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

import networkx as nx
from tests.broker.core.mesh_nodes import MeshChecker, MeshNode

from regraft.broker.core.mesh import MeshSettings
from regraft.protocol import events
from regraft.testing.broker_node import World
from regraft.testing.checker import Violation
from regraft.testing.client_node import ClientNode
from regraft.testing.network import CALM, Clock, Network, Trace, Weather
from regraft.testing.script import Script

DURATION = 8.0
PATIENCE = 40.0


class Overlay(NamedTuple):
    """A random k-topic-connected overlay."""

    k: int
    brokers: list[str]
    members: dict[str, list[str]]
    links: list[tuple[str, str]]
    complete: bool


def random_overlay(rng: Random) -> Overlay:
    k = rng.choice((2, 2, 3))
    brokers = [f"b{i}" for i in range(rng.randint(3, 7))]
    complete = rng.random() < 0.5
    members = {}
    links: set[tuple[str, str]] = set()
    for topic in ("red", "blue", "green")[: rng.randint(1, 3)]:
        some = rng.sample(brokers, rng.randint(min(len(brokers), k), len(brokers)))
        members[topic] = some
        pairs: Iterable[tuple[str, str]]
        if complete or len(some) <= k:
            pairs = combinations(some if not complete else brokers, 2)
        else:
            graph = nx.hkn_harary_graph(k, len(some))
            pairs = ((some[a], some[b]) for a, b in graph.edges)
        links |= {(min(pair), max(pair)) for pair in pairs}
    return Overlay(k, brokers, members, sorted(links), complete)


class MeshSimulation:
    """One run."""

    duration = DURATION
    node = MeshNode
    idle_seconds = 2.0
    """Longer than any gap lasts."""
    connected = 1
    """As in the settings of the brokers."""

    def __init__(self, seed: int, keep: bool = False) -> None:
        self.rng = rng = Random(f"{seed}/mesh")
        self.overlay = overlay = self._overlay()
        bad = rng.choice((0.0, 0.002, 0.01))
        weather = Weather(
            slowest=rng.choice((0.005, 0.03, 0.2)), drop=bad * rng.random(), reorder=bad * rng.random()
        )
        self.clock = Clock()
        self.trace = Trace(self.clock, keep)
        self.network = Network(self.clock, self.trace, Random(f"{seed}/network"), weather)
        self.checker = MeshChecker()
        settings = MeshSettings(
            window=rng.choice((4, 16, 64)),
            session_seconds=30.0,
            k=overlay.k,
            held_bytes=rng.choice((8_000, 30_000, 10**7)),
            streams=Random(f"{seed}/streams").choice((0, 10_000)),
            idle_seconds=self.idle_seconds,
            connected=self.connected,
        )
        script = Script(
            tuple(overlay.brokers), tuple(overlay.links), (), (), weather, 16, rng.choice((1, 3, 16)), 0.0
        )
        nodes = Random(f"{seed}/nodes")
        self.world = World(self.clock, self.trace, self.network, nodes, self.checker, settings, script, {})
        self.brokers: dict[str, MeshNode] = {}
        for name in overlay.brokers:
            neighbours = [a if b == name else b for a, b in overlay.links if name in (a, b)]
            self.brokers[name] = self.node(self.world, name, neighbours)
        self.world.brokers.update(self.brokers)
        self.failed: set[str] = set()
        self.clients: dict[str, ClientNode] = {}
        self.published = 0
        self.joined = False

    def _overlay(self) -> Overlay:
        return random_overlay(self.rng)

    # The run

    def run(self) -> str:
        """What broke, or nothing."""
        rng, clock = self.rng, self.clock
        for broker in self.brokers.values():
            clock.after(rng.uniform(0, 0.3), broker.start)
        self._clients()
        self._steps()
        try:
            clock.run(self.duration)
            self.network.weather = CALM
            for broker in self.brokers.values():
                broker.crash_soon = False
                if not broker.up:
                    broker.start()
            for client in self.clients.values():
                client.pause = 0.002
            while (left := next(self._remains(), "")) and clock.now < self.duration + PATIENCE:
                clock.run(clock.now + 0.5)
        except Violation as fault:
            return str(fault)
        except Exception:
            return traceback.format_exc()
        return next(self.checker.lost(), "") or left

    def _clients(self) -> None:
        """Every member of a topic has a subscriber or a publisher of it."""
        rng = self.rng
        for topic, members in self.overlay.members.items():
            publishing = set(rng.sample(members, rng.randint(1, min(2, len(members)))))
            for name in members:
                if name in publishing:
                    self._client(f"p-{name}", name, advertise=topic)
                if name not in publishing or rng.random() < 0.5:
                    for copy in range(rng.choice((1, 1, 2))):
                        self._client(f"s{copy}-{name}", name, subscribe=topic)

    def _client(self, name: str, broker: str, advertise: str = "", subscribe: str = "") -> None:
        client = self.clients.get(name)
        if client is None:
            client = self.clients[name] = ClientNode(self.world, name, broker)
            client.connect_later(self.rng.uniform(0.3, 1.0))
        if advertise:
            client.advertise(f"topic = '{advertise}'")
        if subscribe:
            more = self.rng.choice(("", "", " AND x < 7"))
            client.subscribe(f"topic = '{subscribe}'{more}")

    def _steps(self) -> None:
        rng = self.rng
        publishers = [client for name, client in self.clients.items() if name.startswith("p")]
        subscribers = [client for name, client in self.clients.items() if name.startswith("s")]
        everybody = [*publishers, *subscribers]

        def often(most: int, first: float, step: Any, *those: list[ClientNode]) -> None:
            for _ in range(rng.randint(0, most)):
                at = rng.uniform(first, DURATION)
                self.clock.after(at, lambda: step(*(rng.choice(each) for each in those if each)))

        def publish_some(client: ClientNode) -> None:
            self._publish(client, rng.randint(1, 6))

        for client in publishers:
            for _ in range(rng.randint(5, 30)):
                self.clock.after(rng.uniform(0.5, DURATION), partial(publish_some, client))
        often(2, 1, lambda client: self._publish(client, 60), publishers)
        often(rng.choice((0, 8)), 0.5, self._reset)
        often(rng.choice((0, 6, 20)), 0.5, self._crash)
        often(rng.choice((0, 20)), 1.5, self._provoke)
        often(3, 1, lambda client: client.move(client.broker, polite=rng.random() < 0.5), everybody)
        if subscribers:
            often(2, 1, self._slow, subscribers)
            if self.overlay.complete:
                often(6, 1, self._join, subscribers)
                often(6, 1, self._leave, subscribers)

    # Steps

    def _all_joined(self) -> bool:
        """Whether every member of a topic has joined it and knows its neighbours: before, the overlay is not
        k-topic-connected, unless it is complete."""
        for topic, members in self.overlay.members.items():
            for name in members if not self.joined else ():
                node = self.brokers[name]
                those = {other for other in node.neighbours if other in members}
                if not node.up or topic not in node.core.interest.own:
                    return False
                if not those <= node.core.interest.wanting(topic):
                    return False
        self.joined = True
        return True

    def _publish(self, client: ClientNode, times: int) -> None:
        if not self.overlay.complete and not self._all_joined():
            return
        topics = [text.split("'")[1] for text in client.core.advertisements.values()]
        drawn = []
        for _ in range(times):
            self.published += 1
            attributes: dict[str, Any] = {"topic": self.rng.choice(topics), "x": self.rng.randrange(10)}
            drawn.append(events.encode(events.Event(attributes, b"%d" % self.published)))
        client.publish(drawn)

    def _reset(self) -> None:
        if self.network.ends:
            self.trace.fault("reset", "")
            self.network.reset(self.rng.choice(list(self.network.ends)))

    def _slow(self, client: ClientNode) -> None:
        self.trace.fault("slow", client.name)
        client.pause = self.rng.choice((0.1, 0.5, 3.0))
        self.clock.after(self.rng.uniform(0.5, 3), lambda: setattr(client, "pause", 0.002))

    def _join(self, client: ClientNode) -> None:
        client.subscribe(f"topic = '{self.rng.choice(list(self.overlay.members))}'")

    def _leave(self, client: ClientNode) -> None:
        if ids := list(client.core.subscriptions):
            client.unsubscribe(self.rng.choice(ids))

    def _provoke(self) -> None:
        """Crash a broker while it is busy: its subscribers are slow, and a client publishes."""
        name = self.rng.choice(self.overlay.brokers)
        for client in self.clients.values():
            if client.broker == name:
                client.pause = 0.3
                self.clock.after(1.0, partial(setattr, client, "pause", 0.002))
        publishers = [client for client in self.clients.values() if client.core.advertisements]
        nearby = [client for client in publishers if client.broker == name]
        self._publish(self.rng.choice(nearby or publishers), 8)
        self.clock.after(self.rng.uniform(0, 2 * self.network.weather.slowest), lambda: self._crash(name))

    def _crash(self, name: str = "") -> None:
        """Crash a broker, if fewer than k have then failed, and a broker is left on every topic."""
        self.failed = {name for name in self.failed if not self._recovered(name)}
        candidates = [name for name in self.brokers if name not in self.failed and self.brokers[name].up]
        if len(self.failed) + 1 >= self.overlay.k or not candidates:
            return
        if name and name not in candidates:
            return
        name = name or self.rng.choice(candidates)
        broker = self.brokers[name]
        for topic in broker.core.interest.own:
            interested = {each for each in candidates if self.brokers[each].core.interest.is_settled(topic)}
            if interested == {name}:
                return
        self.failed.add(name)
        self.trace.fault("crash", name)
        if self.rng.random() < 0.4:
            broker.crash_soon = True
        else:
            broker.crash()
        self.clock.after(self.rng.uniform(0.1, 1.0), lambda: None if broker.up else broker.start())

    def _recovered(self, name: str) -> bool:
        """Whether it has again all that is kept anywhere on its topics."""
        broker = self.brokers[name]
        if not broker.up or broker.crash_soon:
            return False
        core = broker.core
        if any(not topic.ready for topic in core.interest.own.values()):
            return False
        for other in self.brokers.values():
            if not other.up or other is broker:
                continue
            for topic in core.interest.own:
                for copy in other.core.flooding.streams.copies(topic):
                    mine = core.flooding.streams.by_name.get(copy.stream.name)
                    if mine is None or (copy.seq not in mine.copies and copy.seq > (mine.position or 0)):
                        return False
        return True

    # The end

    def _alone(self, client: ClientNode) -> bool:
        """Whether it publishes on a topic in which no broker is interested any more, and rightly waits."""
        core = self.brokers[client.broker].core
        topics = [text.split("'")[1] for text in client.core.advertisements.values()]
        return any(not core.interest.wanting(each) and not core.delivery.subscribed(each) for each in topics)

    def _remains(self) -> Iterator[str]:
        """Every reason why the run is not over."""
        for client in self.clients.values():
            if not client.core.connected or (client.core.unacknowledged and not self._alone(client)):
                yield f"{client.name} waits for {client.core.unacknowledged} acknowledgements"
        for name, subscriber in self.checker.subscribers.items():
            for id, each in subscriber.subscriptions.items():
                if not each.placed and not each.withdrawn:
                    yield f"subscription {id} of {name} is not in place"
        for name, broker in self.brokers.items():
            core = broker.core
            for topic in list(core.flooding.streams.by_topic):
                for copy in core.flooding.streams.copies(topic):
                    yield (
                        f"{name} keeps {copy.stream.name} {copy.previous}<{copy.seq} "
                        f"(position {copy.stream.position}): has {copy.has}, "
                        f"done {copy.done}, told {copy.told}, local {copy.local}"
                    )
            if core.flooding.streams.bytes or core.pressures.topics:
                yield f"{name} is under pressure from {core.pressures.told}"


class Outcome(NamedTuple):
    violation: str
    hash: str
    publications: int
    deliveries: int
    faults: Counter[str]


def simulate(seed: int, kind: type[MeshSimulation] = MeshSimulation) -> Outcome:
    simulation = kind(seed)
    violation = simulation.run()
    published = sum(map(len, simulation.checker.publications.values()))
    trace = simulation.trace
    return Outcome(violation, trace.hash, published, simulation.checker.deliveries, trace.faults)
