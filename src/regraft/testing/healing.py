"""One seed, brokers that die for good or are cut off, under traffic and while plans are carried out.

Beyond the faults of `transformation`: a broker never comes back, two at once, the one that stands in for it
dies, a part of the network is cut off from the rest and from ZooKeeper and goes on without knowing that it
has been replaced, two leaders try to replace the same broker. Whoever is replaced is removed by a run that
joins its neighbours; some come back with nothing and are appended.

At the end the tree is one of the living, and nothing is lost, repeated or reordered.

    python -m benchmarks.soak --healing --seed 17 --trace
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from random import Random

from regraft.deploy.records import RUNNING, STOP, Current, Run
from regraft.filters import parse
from regraft.heal.repair import Join, join
from regraft.model import Broker, Ends, Link, Topology, ends
from regraft.protocol import events
from regraft.testing.broker_node import BrokerNode, World
from regraft.testing.client_node import ClientNode
from regraft.testing.deployment import LAYOUT, AgentNode, of_type
from regraft.testing.ensemble import Ensemble
from regraft.testing.final_state import remains
from regraft.testing.network import CALM
from regraft.testing.owned_node import SESSION, OwnedNode, OwnedWorld
from regraft.testing.script import DURATION, Script, random_event, random_filter, random_script
from regraft.testing.simulation import SESSION_SECONDS, Outcome
from regraft.testing.transformation import EXTRA, Transformation

LOOK = 0.1
BUSY = 0.2
TROUBLE = ("crash", "crash in mid-effects", "reset", "move", "abandon", "die", "leave", "slow")
LEAST = 2
"""So many brokers stay alive."""


class Healing(Transformation):
    """Carries a script and a plan out, and mends what dies."""

    world: OwnedWorld

    def __init__(self, seed: int, script: Script, *, keep: bool = False) -> None:
        self.fate = Random(f"{seed}/healing")
        self.fatal = self.fate.choice((0.3, 0.7, 1.0))
        self.returns = self.fate.choice((0.0, 0.5, 1.0))
        self.split = self.fate.random() < 0.4
        """Little happens but long partitions, in which both sides go on."""
        self.runs = 1
        if self.split:
            calm = tuple(step for step in script.steps if step.kind not in TROUBLE)
            script = replace(script, steps=calm, weather=CALM)
        super().__init__(seed, replace(script, failover=max(0.3, script.failover)), keep=keep)
        self.world.ensemble = self.ensemble
        self.patience = 90.0 + SESSION_SECONDS
        self.world.living = sorted(script.brokers)

    def new_world(self, world: World) -> World:
        world.settings = replace(world.settings, fenced=True)
        return OwnedWorld(**vars(world), ensemble=Ensemble(world.clock, Random(0)))

    def new_broker(self, name: str, neighbours: list[str]) -> BrokerNode:
        return OwnedNode(self.world, name, neighbours)

    def _schedule(self) -> None:
        clock, fate = self.world.clock, self.fate
        clock.after(LOOK, self._look)
        if self.split:
            for shell in [*self.agents.values(), *self.deployers]:
                clock.after(fate.uniform(0.2, 1.5), shell.start)
            clock.after(fate.uniform(1.5, 3.0), self._part)
            return
        super()._schedule()
        for _ in range(fate.choice((0, 0, 1, 2))):
            clock.after(fate.uniform(0.5, DURATION - 1), self._part)
        for _ in range(fate.choice((0, 1, 2))):
            clock.after(fate.uniform(0.5, DURATION - 0.5), self._two_at_once)

    # Who dies

    def _crash(self, broker: BrokerNode, *, mid_effects: bool) -> None:
        assert isinstance(broker, OwnedNode)
        if broker.up and broker.host is not None:
            broker = broker.host  # a deputy dies with the process that it is in
        if not broker.up or self.fate.random() > self.fatal or not self._may_die(broker.name):
            super()._crash(broker, mid_effects=mid_effects)
            return
        self.trace.fault("death", broker.name)
        broker.end("killed")

    def _may_die(self, name: str) -> bool:
        brokers = set(self._topology()[0]) - {name, EXTRA}
        nodes = [each for each in self.world.nodes if each.name in brokers and each.host is None]
        return len({each.name for each in nodes if not each.dead and not each.deposed}) >= LEAST

    def _two_at_once(self) -> None:
        _, links = self._topology()
        if links:
            for name in self.fate.choice(links):
                node = self.world.brokers[name]
                if node.up:
                    self._crash(node, mid_effects=False)

    def _part(self) -> None:
        """Some are cut off from ZooKeeper and, mostly, from the rest; clients of theirs perhaps with them."""
        world, fate = self.world, self.fate
        if world.unheard:
            return
        names = fate.sample(sorted(world.living), min(len(world.living), fate.choice((1, 1, 2, 3))))
        if self.split:
            publishers = [each for each in self.clients.values() if each.core.advertisements]
            names[0] = fate.choice(publishers or list(self.clients.values())).broker
        nodes = {each for each in world.nodes if each.up and (each.host or each).name in names}
        stay = 1.0 if self.split else 0.7
        clients = [each for each in self.clients.values() if each.broker in names and fate.random() < stay]
        world.unheard = {each for each in nodes if each.host is None}
        self.trace.fault("partition", ",".join(names))
        seconds = fate.choice((4.0, 6.0) if self.split else (0.5, 2.0, 4.0, 6.0))
        if fate.random() < 0.8:
            world.parted = {*nodes, *clients}
            for number, pair in list(world.network.ends.items()):
                if len({end.node in world.parted for end in pair}) == 2:
                    world.network.reset(number)
            world.clock.after(seconds, self._rejoin)
        world.clock.after(seconds + fate.choice((0.0, 0.2, 2.0)), self._heard_again)
        for at in range(int(seconds / BUSY)):
            world.clock.after(BUSY * at, self._busy)

    def _rejoin(self) -> None:
        self.trace.note("director", "the partition is over")
        self.world.parted = set()

    def _heard_again(self) -> None:
        """ZooKeeper's clients are slower to notice than others."""
        self.trace.note("director", "ZooKeeper can be reached again")
        self.world.unheard = set()

    def _busy(self) -> None:
        """On both sides something is published and subscribed meanwhile."""
        there = [each for each in self.clients.values() if not each.gone]
        for client in self.fate.sample(there, min(3, len(there))):
            if client.core.advertisements:
                self._publish_unwanted(client)
            elif len(client.core.subscriptions) < 4:
                client.subscribe("TRUE" if self.fate.random() < 0.4 else random_filter(self.fate))
            else:
                self._unsubscribe(client)

    def _publish_unwanted(self, client: ClientNode) -> None:
        """What nobody else is known to want: a broker that is cut off would acknowledge it at once."""
        node = client.end.peer.node if client.end is not None else None
        core = node.core if isinstance(node, OwnedNode) else None
        if client.gone:
            return
        texts = [text for id, text in client.core.advertisements.items() if id not in client.retiring]
        allowed = [parse(text) for text in texts]
        for _ in range(8):
            self._published += 1
            event = random_event(self.fate, self._published)
            attributes = events.attributes(event)
            wanted = core is not None and core.forwarding.targets(event, f"@{client.name}")
            if not wanted and any(filter.matches(attributes) for filter in allowed):
                client.publish([event])
                return

    # Who is replaced

    def _look(self) -> None:
        """Whoever owns a broker's id and does not live, or is not heard of by ZooKeeper, is replaced."""
        if not self.world.ensemble.away:
            needed = self._needed()
            for name, owner in self.world.owners.items():
                if owner.holder is not None and name in needed and self._lost(owner.holder):
                    self._replace(name, owner.life)
            self._heal()
        self.world.clock.after(LOOK, self._look)

    def _needed(self) -> set[str]:
        """Who is in the overlay, or takes part in the run."""
        run = of_type(self.ensemble.nodes.get(LAYOUT.plan), Run)
        assert run is not None
        taking_part = {name for step in run.steps for change in step for name in change[1:]}
        return {*self._topology()[0], *(taking_part if run.state == RUNNING else ())}

    def _lost(self, holder: OwnedNode) -> bool:
        now = self.world.clock.now
        if not holder.up:  # nobody listens there; it may be about to come back
            return holder.dead or self.fate.random() < 0.03
        return now - max(holder.session_at, self.world.ensemble.away_until) > SESSION

    def _replace(self, name: str, life: int) -> None:
        """One leader or, when they can not agree, two."""
        hosts = [
            each
            for each in self.world.nodes
            if each.up and each.host is None and each.reaches_zookeeper and each.name != name
        ]
        for host in self.fate.sample(hosts, min(len(hosts), self.fate.choice((1, 1, 1, 2)))):
            delay = self.fate.choice((0.01, 0.05, 0.3))
            self.world.clock.after(delay, lambda host=host: self._depose(name, life, host))  # type: ignore[misc]

    def _depose(self, name: str, life: int, host: OwnedNode) -> None:
        owner = self.world.owners[name]
        if owner.life != life or not host.up or not host.reaches_zookeeper:
            return
        old = owner.holder
        assert old is not None
        if not old.dead and old.host is None and not self._may_die(name):
            return  # limits: not the last ones that live
        deputy = OwnedNode(self.world, name, old.neighbours, host)
        self.trace.fault("deputy", name)
        deputy.take()
        self._adopt(deputy)
        if not old.up:
            old.dead = True
        self.world.clock.after(self.fate.uniform(0.0, 0.02), deputy.start)

    def _adopt(self, node: OwnedNode) -> None:
        self.world.brokers[node.name] = node
        self.agents[node.name].kill()
        agent = self.agents[node.name] = AgentNode(self.world, self.ensemble, node)
        agent.start()

    # How it is removed

    def _topology(self) -> tuple[list[str], list[Ends]]:
        current = of_type(self.ensemble.nodes.get(LAYOUT.topology), Current)
        assert current is not None
        return current.brokers, sorted(ends(*link) for link in current.links)

    def _heal(self) -> None:
        """When no run is under way: remove a deputy, or append who has come back."""
        run = of_type(self.ensemble.nodes.get(LAYOUT.plan), Run)
        assert run is not None
        brokers, _ = self._topology()
        nodes = {name: self.world.brokers[name] for name in self.world.owners}
        deputies = [name for name in brokers if self._is_deputy(nodes.get(name))]
        self.world.living = sorted(set(brokers) - set(deputies) - {EXTRA})
        for name, node in nodes.items():
            if name not in brokers and self._is_deputy(node) and node.up:
                assert isinstance(node, OwnedNode)
                node.end("removed")
        if run.state == RUNNING or self.fate.random() < 0.8:
            return
        if deputies:
            self._begin(self._removal(self.fate.choice(sorted(deputies))))
        elif self.fate.random() < self.returns and (gone := sorted(nodes.keys() - {*brokers, EXTRA})):
            self._come_back(self.fate.choice(gone))

    @staticmethod
    def _is_deputy(node: BrokerNode | None) -> bool:
        return isinstance(node, OwnedNode) and node.host is not None

    def _removal(self, name: str) -> list[tuple[str, ...]]:
        """The links of the join, from its leaves inwards, then the last one goes."""
        brokers, links = self._topology()
        topology = Topology(tuple(map(Broker, brokers)), tuple(Link(pair) for pair in links), "tree")
        joined = join(topology, [name])
        assert isinstance(joined, Join)
        near = sorted(topology.neighbours[name])
        if not near:
            return []
        changes: list[tuple[str, ...]] = []
        rest = {each: {b if a == each else a for a, b in joined.links if each in (a, b)} for each in near}
        while len(rest) > 1:
            leaf = next(each for each in sorted(rest) if len(rest[each]) == 1)
            (other,) = rest.pop(leaf)
            rest[other].discard(leaf)
            changes.append(("shift", leaf, name, other))
        return [*changes, ("detach", name, next(iter(rest)))]

    def _come_back(self, name: str) -> None:
        """With nothing, as a new broker; it is appended when we look again."""
        if self.world.brokers[name].up:
            brokers, _ = self._topology()
            self._begin([("append", name, self.fate.choice(brokers))])
            return
        node = OwnedNode(self.world, name, [])
        node.settings = replace(self.world.settings, joining=True)
        node.owner.values = {}
        node.take()
        self._adopt(node)
        node.start()
        client = self.fate.choice(list(self.clients.values()))
        if not client.gone:  # it has the broker's address from before
            client.move(name, polite=False)
            for at in (0.2, 0.4, 0.6):
                self.world.clock.after(at, lambda: self._publish_unwanted(client))

    def _begin(self, changes: list[tuple[str, ...]]) -> None:
        current = of_type(self.ensemble.nodes.get(LAYOUT.topology), Current)
        if not changes or current is None:
            return
        self.runs += 1
        steps = [[[change]] for change in changes]
        run = Run(
            id=f"{self.runs}-heal",
            sha256="",
            kind="tree",
            steps=[[change] for change in changes],
            seconds=1.0,
            attempts=3,
        )
        self.trace.note("director", f"heals: {changes}")
        self._write(run, steps, current)

    # The end

    def _want(self, wanted: str) -> None:
        super()._want(STOP)

    def _end_of_trouble(self) -> None:
        self.world.parted, self.world.unheard = set(), set()
        self.world.ensemble.away_until = 0.0
        self.fatal = 0.0
        self.returns = 1.0 if self.returns else 0.0
        for node in self.world.nodes:
            node.crash_soon = False
            if not node.up and not node.dead and not node.deposed and node.host is None:
                node.start()
        super()._end_of_trouble()

    def _left(self, most: int) -> str:
        run = of_type(self.ensemble.nodes[LAYOUT.plan], Run)
        assert run is not None
        if run.state == RUNNING:
            return f"the run is under way: {self._under_way()}"
        brokers, links = self._topology()
        nodes = [self.world.brokers[name] for name in brokers]
        if away := [
            f"{each.name} life {each.life}" for each in nodes if self._is_deputy(each) or not each.up
        ]:
            return f"not of the living: {away}"
        if self.returns and (gone := [name for name in self.world.brokers if name not in {*brokers, EXTRA}]):
            return f"not back: {gone}"
        there = [(client.core, client.broker) for client in self.clients.values() if not client.gone]
        wrong = list(islice(self._wrong(brokers, links), most))
        return "; ".join(wrong or islice(remains([node.core for node in nodes], there, self.checker), most))

    def _wrong(self, brokers: list[str], links: list[Ends]) -> Iterator[str]:
        for name in brokers:
            near = {b if a == name else a for a, b in links if name in (a, b)}
            core = self.world.brokers[name].core
            if set(core.tables.sides) != near or core.relink.parts:
                yield f"{name} has {sorted(core.tables.sides)}, the journal says {sorted(near)}"
        if len(links) != len(brokers) - 1:
            yield f"{len(links)} links between {len(brokers)} brokers are not a tree"


def heal(seed: int, *, keep: bool = False) -> Outcome:
    """Run the script, the plan and the deaths of this seed."""
    simulation = Healing(seed, random_script(Random(f"{seed}/script")), keep=keep)
    violation = simulation.run()
    checker, trace = simulation.checker, simulation.trace
    published = sum(map(len, checker.publications.values()))
    return Outcome(
        seed, violation, trace.hash, published, checker.deliveries, trace.faults, trace.clock.now, trace.lines
    )
