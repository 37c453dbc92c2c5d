"""The shell of the healing core in the simulation: one for each process; it carries out all requests of the
core.

Managers reach each other, ZooKeeper and the destination database as their processes do: not across a
partition, and sometimes slowly. A request may fail, and its answer may be outdated when it arrives.
"""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from regraft.coord import CoordUnreachable
from regraft.deploy.records import Current, Run
from regraft.deploy.states import RunState
from regraft.heal.core import Healing, HealingSettings, LocalBroker, effects, events, requests
from regraft.heal.core.tasks import Request
from regraft.heal.detection import DetectionTiming, Evidence
from regraft.heal.election import ElectionSettings
from regraft.heal.limits import RemovalLimits
from regraft.heal.owner import NotTaken, Owner, Seen, Why
from regraft.heal.wire.messages import Cause, Message
from regraft.model import BadInput, Broker, Link, RegraftError, Topology
from regraft.testing.deployment import LAYOUT, of_type
from regraft.testing.healing_database import HealingDatabase
from regraft.testing.owned_node import SESSION, OwnedNode, OwnedWorld

if TYPE_CHECKING:
    from regraft.testing.healing import HealingSimulation

BEAT = 0.2
"""How often a process looks at its links, and at what the watches of ZooKeeper would report."""
AGAIN = 0.2
"""The time between two calls of a manager that does not answer."""
ELECTION = ElectionSettings(timer=0.5, resend=0.2, patience=5.0)
LIMITS = RemovalLimits(window=4.0, removals=100, healthy=1, least=1)


class NoAnswer(RegraftError):
    """The request was not answered in time."""


class HealingNode:
    """The manager of one process, which runs as long as the process does."""

    def __init__(self, director: "HealingSimulation", node: OwnedNode, timer: float) -> None:
        self.director = director
        self.world: OwnedWorld = node.world
        self.node = node
        self.name = node.name
        self.up = True
        self.since = self.world.clock.now
        self.connected: dict[str, HealingNode] = {}
        self._kept: set[str] = set()
        self._followed: set[str] = set()
        self._lives: dict[str, int] = {}
        """The life of each owner that the core was last told of."""
        self._epoch = -1
        self._rules: object = None
        self._due: float | None = None
        self._arrival: dict[str, float] = {}
        timing = DetectionTiming(timer=timer, busy=0.1, idle=0.5, probe=0.05)
        settings = HealingSettings(
            id=node.name,
            life=node.owner.life,
            timing=timing,
            settle=1.0,
            election=ELECTION,
            removals=LIMITS,
        )
        here = LocalBroker(value_of(self.world, node.name), frozenset(self._near(node)))
        owners = {name: value_of(self.world, name) for name in self.world.owners}
        random = Random(f"{node.name}/{node.owner.life}")
        self.core = Healing(settings, here, random, director.topology(), owners)
        self._followed.update(owners)

    def start(self) -> None:
        self._do(self.core.start(self.world.clock.now))
        self._beat()

    def stop(self) -> None:
        """The process is gone: its connections break."""
        self.up = False
        for other in self.connected.values():
            self._later(partial(other.broken, self))
        self.connected.clear()

    # Events

    def tell(self, event: events.Event) -> None:
        if self.up:
            self._do(self.core.handle(event, self.world.clock.now))

    def _tick(self, due: float) -> None:
        if self._due == due:
            self._due = None
            self.tell(events.Tick())

    def _beat(self) -> None:
        if not self.up:
            return
        hosted = self.director.hosted(self.node)
        self.tell(events.LinksSeen({each.name: frozenset(self._near(each)) for each in hosted}))
        if self.node.reaches_zookeeper and self.up:
            self._see()
        self.world.clock.after(BEAT, self._beat)

    def _see(self) -> None:
        """Tell the core what the watches of ZooKeeper would report."""
        current = self.director.current()
        if current.epoch != self._epoch:
            self._epoch = current.epoch
            self.tell(events.TopologySeen(self.director.topology()))
        if self._rules is not self.director.database.rules:
            self._rules = rules = self.director.database.rules
            self.tell(events.RulesSeen(rules))
        for broker in sorted(self._followed & self.world.owners.keys()):
            owner = self.world.owners[broker]
            if owner.holder is not None and self._lives.get(broker) != owner.life:
                self._lives[broker] = owner.life
                self.tell(events.OwnerSeen(broker, value_of(self.world, broker)))

    def _near(self, node: OwnedNode) -> list[str]:
        return sorted(node.core.tables.sides) if node.up else []

    # Effects

    def _do(self, wanted: list[effects.Effect]) -> None:
        for effect in wanted:
            match effect:
                case effects.Tell():
                    self._send(effect.node, effect.message)
                case effects.KeepConnection():
                    self._kept.add(effect.node)
                    self._call(effect.node)
                case effects.DropConnection():
                    self._kept.discard(effect.node)
                case effects.Follow():
                    self._followed |= effect.brokers
                case effects.Do():
                    self._carry_out(effect.number, effect.request)
                case effects.SendClientsAway():
                    self.director.send_away(effect.broker)
                case effects.Left():
                    self._later(partial(self.director.left, self.node))
                case effects.Note():
                    self.world.trace.note(self.name, effect.text)
                case effects.Broken():
                    raise effect.fault
        due = self.core.next_due()
        if due is not None and due != self._due:
            self._due = due
            self.world.clock.after(max(0.0, due - self.world.clock.now), partial(self._tick, due))

    # Connections

    def _reaches(self, other: "HealingNode | None") -> bool:
        parted = self.world.parted
        return other is not None and other.up and (self.node in parted) == (other.node in parted)

    def _call(self, peer: str) -> None:
        """Call the peer again and again until it answers, while the connection is to be kept."""
        if not self.up or peer not in self._kept or peer in self.connected:
            return
        other = self.director.managers.get(peer)
        if peer in self.core.known.owners and self._reaches(other):
            assert other is not None
            self._later(partial(self._meet, other))
        self.world.clock.after(AGAIN, partial(self._call, peer))

    def _meet(self, other: "HealingNode") -> None:
        if self.up and self._reaches(other) and self.director.managers.get(other.name) is other:
            for one, another in ((self, other), (other, self)):
                if one.connected.get(another.name) is not another:
                    if one.connected.pop(another.name, None) is not None:
                        one.tell(events.Disconnected(another.name))
                    one.connected[another.name] = another
                    one.tell(events.Connected(another.name))

    def broken(self, other: "HealingNode") -> None:
        """The connection to that process is over; there may be one to a later process of the same broker."""
        if self.up and self.connected.get(other.name) is other:
            del self.connected[other.name]
            self.tell(events.Disconnected(other.name))
            self._call(other.name)

    def _send(self, peer: str, message: Message) -> None:
        """Messages arrive in order, or are lost. If there is no connection, one is made."""
        if isinstance(message, Cause):
            self.director.used.add(message.election)
        other = self.director.managers.get(peer)
        if peer == self.name or other is None or not self._reaches(other):
            return
        if self.connected.get(peer) is not other:
            self._meet(other)
        now = self.world.clock.now
        arrival = self._arrival[peer] = max(self._arrival.get(peer, 0.0), now + self._delay())
        self.world.clock.after(arrival - now, partial(self._arrive, other, message))

    def _arrive(self, other: "HealingNode", message: Message) -> None:
        if self.up and self._reaches(other) and other.connected.get(self.name) is self:
            other.tell(events.Heard(self.name, message))

    def _delay(self) -> float:
        slow = self.director.fate.random() < 0.01
        return self.director.fate.uniform(0.0005, 0.005) + (
            self.director.fate.uniform(0.05, 0.5) if slow else 0
        )

    def _later(self, action: Callable[[], None]) -> None:
        self.world.clock.after(self._delay(), action)

    # Requests

    def _carry_out(self, number: int, request: Request[Any]) -> None:
        """The request takes a while to be carried out, and its answer takes a while to arrive."""
        self._later(partial(self._begin, number, request))

    def _begin(self, number: int, request: Request[Any]) -> None:
        if not self.up:
            return
        try:
            if not isinstance(request, requests.Examine) and not self.node.reaches_zookeeper:
                raise CoordUnreachable("zookeeper", "it is away")
            answer = CARRIED_OUT[type(request)](self, request)
        except RegraftError as fault:
            self._later(partial(self.tell, events.Failed(number, fault)))
            return
        if isinstance(answer, LaterAnswer):
            self._wait(number, answer)
        else:
            self._later(partial(self.tell, events.Answered(number, answer)))

    def _wait(self, number: int, waiting: "LaterAnswer") -> None:
        """Look now and then for the answer, until it is there or the time is over."""
        if not self.up:
            return
        answer = waiting.look()
        if answer is not None:
            self.tell(events.Answered(number, answer))
        elif self.world.clock.now > waiting.until:
            self.tell(events.Failed(number, NoAnswer("nobody has answered in time")))
        else:
            self.world.clock.after(0.05, partial(self._wait, number, waiting))

    def examine(self, request: requests.Examine) -> Evidence:
        process = self.world.nodes[request.owner.port - 1]
        reached = ((process.host or process) in self.world.parted) == (self.node in self.world.parted)
        if reached and not process.up:
            return Evidence.REFUSED
        if self.node.reaches_zookeeper and self.vacant(request.broker):
            return Evidence.GONE
        return Evidence.SILENT if reached else Evidence.UNREACHABLE

    def vacant(self, broker: str) -> bool:
        """Whether no session holds the owner node of this broker."""
        holder = self.world.owners[broker].holder
        assert holder is not None
        heard = max((holder.host or holder).session_at, holder.session_at, self.world.ensemble.away_until)
        return self.world.clock.now - heard > SESSION

    def look(self, request: requests.Look) -> Seen:
        owner = self.world.owners.get(request.broker)
        if owner is None or owner.holder is None:
            return Seen(None, 0, 0)
        return Seen(value_of(self.world, request.broker), 0, owner.life)

    def stand_in(self, request: requests.StandIn) -> Owner | NotTaken:
        broker, owner = request.broker, self.world.owners[request.broker]
        if owner.life != request.seen.basis:
            return NotTaken(f"{broker} has changed meanwhile")
        if request.why is Why.VACANT and not self.vacant(broker):
            return NotTaken(f"{broker} lives: its session holds it")
        self.director.deputy(broker, sorted(request.neighbours), self.node)
        return value_of(self.world, broker)

    def execute(self, request: requests.Execute) -> "LaterAnswer":
        run = of_type(self.world.ensemble.nodes.get(LAYOUT.plan), Run)
        assert run is not None
        if run.state == RunState.RUNNING:
            raise BadInput("plan", f"the run {run.id} is under way")
        if self.director.topology().sha256 != request.plan.initial:
            raise BadInput("plan", "it begins with another topology")
        changes = [[(operation, *brokers) for operation, brokers in step] for step in request.plan.steps]
        id = self.director.begin_run(changes, request.limits)

        def ended() -> str | None:
            now = of_type(self.world.ensemble.nodes.get(LAYOUT.plan), Run)
            assert now is not None
            if now.id != id:
                return "another run has begun"
            if now.state == RunState.RUNNING:
                return None
            return "" if now.state == RunState.DONE else now.reason or str(now.state)

        return LaterAnswer(ended, self.world.clock.now + 60.0)

    def end_deputy(self, request: requests.EndDeputy) -> None:
        for each in self.director.hosted(self.node):
            if each.name == request.broker:
                each.end("removed")

    def ask_grant(self, request: requests.AskGrant) -> "LaterAnswer":
        return LaterAnswer(
            partial(self.database.request, request.request), self.world.clock.now + HealingDatabase.PATIENCE
        )

    def start_broker(self, request: requests.Start) -> str:
        node = self.director.managers.get(request.broker)
        return "" if node is not None and node.up else f"{request.broker} does not run"

    def read_topology(self, request: requests.ReadTopology) -> Topology:
        return self.director.topology()

    @property
    def database(self) -> HealingDatabase:
        return self.director.database


class LaterAnswer:
    """An answer that comes later: `look` returns it, or None as long as it is not there."""

    def __init__(self, look: Callable[[], object], until: float) -> None:
        self.look = look
        self.until = until


def value_of(world: OwnedWorld, broker: str) -> Owner:
    """What the owner node of this broker holds: its address is the number of its process."""
    owner = world.owners[broker]
    assert owner.holder is not None
    host = owner.holder.host
    number = world.nodes.index(owner.holder)
    return Owner(
        life=owner.life,
        host="simulated",
        port=number + 1,
        heal_port=1,
        by=host.name if host is not None else "",
        process=str(number),
    )


def topology_of(current: Current) -> Topology:
    links = tuple(Link((min(link), max(link))) for link in current.links)
    return Topology(tuple(map(Broker, current.brokers)), links, "tree")


CARRIED_OUT: Mapping[type, Callable[[HealingNode, Any], Any]] = {
    requests.Examine: HealingNode.examine,
    requests.FindOwner: lambda node, request: value_of(node.world, request.broker),
    requests.Look: HealingNode.look,
    requests.StandIn: HealingNode.stand_in,
    requests.EndDeputy: HealingNode.end_deputy,
    requests.RemoveDeadDeployer: lambda node, request: None,
    requests.Sync: lambda node, request: None,
    requests.Start: HealingNode.start_broker,
    requests.Claim: lambda node, request: "",
    requests.Retire: lambda node, request: None,
    requests.Reinstate: lambda node, request: None,
    requests.AskGrant: HealingNode.ask_grant,
    requests.Release: lambda node, request: node.database.release(request.grant),
    requests.WriteBroker: lambda node, request: node.database.put(request.record),
    requests.MarkLeft: lambda node, request: node.database.left(request.record),
    requests.ReadTopology: HealingNode.read_topology,
    requests.Execute: HealingNode.execute,
    requests.FinishOthers: lambda node, request: None,
    requests.ReadDemand: lambda node, request: None,
    requests.ReadComponents: lambda node, request: {},
    requests.MoveComponents: lambda node, request: "",
}
