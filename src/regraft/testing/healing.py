"""One seed, brokers that die for good or are cut off, under traffic and while plans are carried out.

Faults besides those of `transformation`: a broker never comes back, two die at once, a deputy dies, a part of
the network is cut off from the rest and from ZooKeeper and continues without knowing that it has been
replaced, two leaders try to replace the same broker. A broker that was replaced is removed by a run that
joins its neighbours; some come back with an empty journal and are appended.

At the end the tree consists of living brokers, and nothing is lost, repeated or reordered.

    python -m benchmarks.soak --healing --seed 17 --trace
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from random import Random

from regraft.broker.core.settings import NEIGHBOURS, neighbours_of
from regraft.deploy.records import Current, Run
from regraft.deploy.states import RunOrder, RunState
from regraft.filters import parse
from regraft.heal.core import events as heal_events
from regraft.heal.core.requests import ExecutionLimits
from regraft.heal.database.grants import QueuedRequest
from regraft.model import Ends, Topology, ends
from regraft.protocol import events
from regraft.testing.broker_node import BrokerNode, World
from regraft.testing.checker import Violation
from regraft.testing.client_node import ClientNode
from regraft.testing.deployment import LAYOUT, AgentNode, of_type
from regraft.testing.ensemble import SimulatedEnsemble
from regraft.testing.final_state import remains
from regraft.testing.healing_database import NO_DELETION, RULES, HealingDatabase
from regraft.testing.healing_node import HealingNode, topology_of
from regraft.testing.network import CALM
from regraft.testing.owned_node import OwnedNode, OwnedWorld
from regraft.testing.script import DURATION, Script, random_event, random_filter, random_script
from regraft.testing.simulation import SESSION_SECONDS, Outcome, outcome_of
from regraft.testing.transformation import EXTRA, Transformation

LOOK = 0.1
BUSY = 0.2
TROUBLE = ("crash", "crash in mid-effects", "reset", "move", "abandon", "die", "leave", "slow")
OPERATOR = 20.0
"""How many seconds after the last fault an operator helps: without a majority nothing heals by itself."""
LEAST = 2
"""How many brokers stay alive at least."""


class HealingSimulation(Transformation):
    """Carries out a script and a plan while brokers die and the healing cores repair the overlay."""

    world: OwnedWorld

    def __init__(self, seed: int, script: Script, *, keep: bool = False) -> None:
        self.fate = Random(f"{seed}/healing")
        self.fatal = self.fate.choice((0.3, 0.7, 1.0))
        self.returns = self.fate.choice((0.0, 0.5, 1.0))
        self.split = self.fate.random() < 0.4
        """Whether there are only long partitions, in which both sides continue, and few other faults."""
        self.runs = 1
        if self.split:
            calm = tuple(step for step in script.steps if step.kind not in TROUBLE)
            script = replace(script, steps=calm, weather=CALM)
        super().__init__(seed, replace(script, failover=max(0.3, script.failover)), keep=keep)
        self.world.ensemble = self.ensemble
        self.world.started, self.world.ended = self._started, self._ended
        self.patience = 120.0 + SESSION_SECONDS
        self.world.living = sorted(script.brokers)
        self.managers: dict[str, HealingNode] = {}
        """The manager of the last process of each broker."""
        self.timer = self.fate.choice((0.03, 0.3, 2.0))
        """The failure detector's timer. If it is long, most brokers that crash are back before it ends."""
        self.lawless = self.fate.random() < 0.1
        """Whether no rule deletes brokers before the last fault, so that no broker may be replaced."""
        self.database = HealingDatabase(self.world.clock, self.current, self._not_given_back)
        self._made: tuple[Current, Topology] | None = None
        self.used: set[str] = set()
        """Grants that elections were held for."""
        self._apart: set[OwnedNode] = set()
        """Processes that were cut off at any time."""
        if self.lawless:
            self.database.rules = NO_DELETION

    def current(self) -> Current:
        current = of_type(self.ensemble.nodes.get(LAYOUT.topology), Current)
        assert current is not None
        return current

    def topology(self) -> Topology:
        """The same as `current`, and made once: every node asks for it again and again."""
        current = self.current()
        if self._made is None or self._made[0] is not current:
            self._made = current, topology_of(current)
        return self._made[1]

    def new_world(self, world: World) -> World:
        world.settings = replace(world.settings, fenced=True)
        return OwnedWorld(**vars(world), ensemble=SimulatedEnsemble(world.clock, Random(0)))

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
        """More than half of the brokers have to live: fewer cannot agree on who is dead. A broker that is not
        in the overlay may not die: no neighbour would notice."""
        brokers = set(self._topology()[0])
        if name not in brokers:
            return False
        nodes = [
            each for each in self.world.nodes if each.name in brokers - {name, EXTRA} and each.host is None
        ]
        living = {each.name for each in nodes if not each.dead and not each.deposed}
        return len(living) >= LEAST and 2 * len(living) > len(brokers | {name})

    def _two_at_once(self) -> None:
        _, links = self._topology()
        if links:
            for name in self.fate.choice(links):
                node = self.world.brokers[name]
                if node.up:
                    self._crash(node, mid_effects=False)

    def _part(self) -> None:
        """Cut some brokers off from ZooKeeper and mostly from the rest, perhaps with their clients."""
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
        processes = {each for each in nodes if each.host is None}
        world.unheard = {*processes}
        self._apart |= processes
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
        """Clients of ZooKeeper notice the end of a partition later than others."""
        self.trace.note("director", "ZooKeeper can be reached again")
        self.world.unheard = set()

    def _busy(self) -> None:
        """Publish and subscribe on both sides of a partition."""
        there = [each for each in self.clients.values() if not each.gone]
        for client in self.fate.sample(there, min(3, len(there))):
            if client.core.advertisements:
                self._publish_unwanted(client)
            elif len(client.core.subscriptions) < 4:
                client.subscribe("TRUE" if self.fate.random() < 0.4 else random_filter(self.fate))
            else:
                self._unsubscribe(client)

    def _publish_unwanted(self, client: ClientNode) -> None:
        """Publish something that the broker knows no subscriber for.

        A broker that is cut off would acknowledge it at once, although there may be a new subscriber
        elsewhere.
        """
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

    # What healing does

    def _started(self, node: OwnedNode) -> None:
        """Start the manager of a process. The broker that plans append gets its manager later (`_look`)."""
        if node.host is None and node.name != EXTRA:
            self._manage(node)

    def _manage(self, node: OwnedNode) -> None:
        manager = self.managers[node.name] = HealingNode(self, node, self.timer)
        manager.start()

    def _ended(self, node: OwnedNode) -> None:
        """A process has ended, or a deputy in it."""
        manager = self.managers.get((node.host or node).name)
        if manager is None or manager.node is not (node.host or node):
            return
        if node.host is None:
            manager.stop()
        else:
            manager.tell(heal_events.DeputyLost(node.name))

    def hosted(self, node: OwnedNode) -> list[OwnedNode]:
        """The brokers in this process."""
        return [each for each in self.world.nodes if each.up and (each is node or each.host is node)]

    def deputy(self, name: str, neighbours: list[str], host: OwnedNode) -> None:
        deputy = OwnedNode(self.world, name, self._remembered(name, neighbours), host)
        self.trace.fault("deputy", name)
        if self.database.rules is NO_DELETION and self.lawless:
            raise Violation(f"{host.name} stands in for {name}, and no rule says so")
        deputy.take()
        self._adopt(deputy)
        self.world.clock.after(self.fate.uniform(0.0, 0.02), deputy.start)

    def _remembered(self, name: str, neighbours: list[str]) -> list[str]:
        """The links that the broker was configured with, which its journal knows."""
        stored = self.world.owners[name].values.get(NEIGHBOURS)
        return neighbours_of(stored) if stored is not None else neighbours

    def _adopt(self, node: OwnedNode) -> None:
        self.world.brokers[node.name] = node
        self.agents[node.name].kill()
        agent = self.agents[node.name] = AgentNode(self.world, self.ensemble, node)
        agent.start()

    def _not_given_back(self, entry: QueuedRequest) -> None:
        """A living asker must give a grant back, unless it was cut off, used it, or was not told of it."""
        asker = entry.request.asker
        manager = self.managers.get(asker)
        if manager is None or manager.node in self._apart or entry.id in self.used:
            return
        if (entry.id, asker) not in self.database.given:
            return
        if manager.up and manager.since < self.world.clock.now - HealingDatabase.OVERDUE - 1.0:
            raise Violation(f"{manager.name} keeps the grant {entry.id}, and nobody uses it")

    def send_away(self, name: str) -> None:
        """Tell the clients of this broker to go to another one."""
        self.trace.note("director", f"clients leave {name}")
        for client in self.clients.values():
            if client.broker == name and not client.gone:
                client.move(self.world.elsewhere(name), polite=True)

    def left(self, node: OwnedNode) -> None:
        """End the process of a broker that has left the overlay."""
        if node.up and node.name not in self._topology()[0]:
            node.end("it has left the overlay")

    def begin_run(self, steps: list[list[tuple[str, ...]]], limits: ExecutionLimits) -> str:
        current = of_type(self.ensemble.nodes.get(LAYOUT.topology), Current)
        assert current is not None
        self.runs += 1
        run = Run(
            id=f"{self.runs}-heal",
            sha256="",
            kind="tree",
            steps=steps,
            seconds=min(1.0, limits.seconds),
            attempts=limits.attempts,
        )
        self.trace.note("director", f"heals: {steps}")
        self._write(run, [[[change] for change in step] for step in steps], current)
        return run.id

    # Who starts processes

    def _look(self) -> None:
        """Brokers that have left may come back; the broker that a plan has appended gets its manager."""
        self.database.sweep()
        brokers, _ = self._topology()
        nodes = {name: self.world.brokers[name] for name in self.world.owners}
        deputies = {name for name in brokers if self._is_deputy(nodes.get(name))}
        self.world.living = sorted(set(brokers) - deputies - {EXTRA})
        extra = self.world.brokers[EXTRA]
        assert isinstance(extra, OwnedNode)
        manager = self.managers.get(EXTRA)
        if EXTRA in brokers and extra.up and extra.host is None and (manager is None or not manager.up):
            self._manage(extra)
        elif EXTRA not in brokers and manager is not None and manager.up and manager.node is extra:
            for each in self.hosted(extra):
                if each is not extra:
                    each.end("its host has left")
            manager.stop()
        if self.world.clock.now > DURATION + OPERATOR:
            self._operate(brokers)
        if not self.world.ensemble.away:
            for name in sorted(self.world.waiting):
                self._begin_again(name, brokers)
            last = self.world.owners[EXTRA].holder if EXTRA in self.world.owners else None
            if EXTRA not in brokers and last is not None and last.dead and not self._is_back(EXTRA):
                self._begin_with_nothing(EXTRA)
        if not self.world.ensemble.away and self.fate.random() < 0.2 * self.returns:
            gone = sorted(nodes.keys() - {*brokers, EXTRA})
            if away := [name for name in gone if not self._is_back(name)]:
                self._come_back(self.fate.choice(away))
        self.world.clock.after(LOOK, self._look)

    def _operate(self, brokers: list[str]) -> None:
        """Start the processes of dead brokers that healing cannot replace: too few voters are left, or the
        broker was about to leave and is no longer anybody's neighbour."""
        voters = [name for name in self.world.living if self.world.brokers[name].up]
        watched = {near for each in self.world.nodes if each.up for near in each.core.tables.sides}
        for name in brokers:
            if self.world.brokers[name].up or (2 * len(voters) > len(brokers) and name in watched):
                continue
            last = [each for each in self.world.nodes if each.name == name and each.host is None][-1]
            if last.dead:
                self.trace.fault("operator", name)
                last.dead = False
                last.start()

    def _begin_again(self, name: str, brokers: list[str]) -> None:
        """A process that was started again waits until its deputy has died, or has left the overlay."""
        holder = self.world.owners[name].holder
        if name not in brokers:
            if not self._is_back(name):
                self.world.waiting.discard(name)
                self._come_back(name)
        elif holder is not None and holder.host is None:  # another process of this broker was faster
            self.world.waiting.discard(name)
        elif holder is not None and not holder.up:
            self.world.waiting.discard(name)
            near = {each for link in self._topology()[1] if name in link for each in link} - {name}
            node = OwnedNode(self.world, name, self._remembered(name, sorted(near)))
            self.trace.fault("takes itself back", name)
            node.take()
            self._adopt(node)
            node.start()

    def _is_back(self, name: str) -> bool:
        """Whether a process of this broker runs, or an earlier owner has not ended yet."""
        return any(each.up for each in self.world.nodes if each.name == name)

    @staticmethod
    def _is_deputy(node: BrokerNode | None) -> bool:
        return isinstance(node, OwnedNode) and node.host is not None

    def _come_back(self, name: str) -> None:
        """The broker comes back and asks to join; a client that knows its address connects to it."""
        self._begin_with_nothing(name)
        client = self.fate.choice(list(self.clients.values()))
        if not client.gone:  # it still knows the broker's address
            client.move(name, polite=False)
            for at in (0.2, 0.4, 0.6):
                self.world.clock.after(at, lambda: self._publish_unwanted(client))

    def _begin_with_nothing(self, name: str) -> None:
        """Start the broker as a new one, with an empty journal."""
        self.world.waiting.discard(name)
        node = OwnedNode(self.world, name, [])
        node.settings = replace(self.world.settings, joining=True)
        node.owner.values = {}
        node.take()
        self._adopt(node)
        node.start()

    def _topology(self) -> tuple[list[str], list[Ends]]:
        current = self.current()
        return current.brokers, sorted(ends(*link) for link in current.links)

    # The end

    def _want(self, wanted: str) -> None:
        super()._want(RunOrder.STOP)

    def _end_of_trouble(self) -> None:
        self.world.parted, self.world.unheard = set(), set()
        self.world.ensemble.away_until = 0.0
        self.database.rules = RULES
        self.fatal = 0.0
        self.returns = 1.0 if self.returns else 0.0
        for node in self.world.nodes:
            node.crash_soon = False
            if not node.up and not node.dead and node.host is None:
                node.start()
        super()._end_of_trouble()

    def _left(self, most: int) -> str:
        run = of_type(self.ensemble.nodes[LAYOUT.plan], Run)
        assert run is not None
        if run.state == RunState.RUNNING:
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
    return outcome_of(seed, HealingSimulation(seed, random_script(Random(f"{seed}/script")), keep=keep))
