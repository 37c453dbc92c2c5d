"""Which brokers this node watches, the questions that it asks, the addresses that it has examined.

It watches the neighbours of every broker in this process, and for a while the leader of an election. A broker
that has a deputy is watched where the deputy runs. Until the node has settled, it does not suspect a broker
that it has never reached: when many start at once, some are slower.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from regraft.heal.core.effects import DropConnection, KeepConnection
from regraft.heal.core.knowledge import Knowledge
from regraft.heal.core.requests import Examine
from regraft.heal.detection import Detector, Effect, Evidence, Ping, Probe, Suspect
from regraft.heal.owner import Owner
from regraft.heal.wire import messages as wire
from regraft.model import RegraftError
from regraft.model.facts import Load

LOOK_SECONDS = 1.0
"""How often the watches are brought up to date if nothing has happened."""
FRESH_SECONDS = 0.2
"""For how long a refused connection need not be tried again."""


@dataclass(frozen=True)
class WatchCallbacks:
    """What the watch reports. Before a timer has ended: `doubted`, when a connection is lost; `expected`,
    when an address refuses us."""

    suspected: Callable[[Suspect], None]
    trusted: Callable[[str], None]
    doubted: Callable[[str], None]
    expected: Callable[[str], None]


class Watching:
    def __init__(self, known: Knowledge, callbacks: WatchCallbacks) -> None:
        self.detector = Detector(known.settings.timing)
        self.loads: dict[str, Load] = {}
        """As neighbours have reported them."""
        self.own_load: Load | None = None
        self._known = known
        self._callbacks = callbacks
        self._settled: float | None = None
        self._looked = 0.0
        self._refused: dict[str, tuple[float, Owner]] = {}
        self._extra: set[str] = set()
        self._wanted: set[str] = set()
        self._kept: set[str] = set()
        """Nodes that we keep a connection to."""

    def start(self) -> None:
        self._settled = self._known.now + self._known.settings.settle

    # Which brokers

    def watch(self, extra: Iterable[str] | None = None) -> None:
        """To be called when links, brokers in this process, or leaders (`extra`) have changed."""
        known = self._known
        self._extra = set(extra) if extra is not None else self._extra
        self._looked = known.now
        near = {name for each in known.here.values() for name in each.neighbours}
        self._wanted = (near | self._extra) - known.here.keys()
        nodes = {known.node_of(id) for id in self._wanted} - {known.id}
        for id in sorted(self.detector.peers - self._wanted):
            self.detector.forget(id)
        known.effects += [DropConnection(node) for node in sorted(self._kept - nodes)]
        known.effects += [KeepConnection(node) for node in sorted(nodes - self._kept)]
        self._kept = nodes
        self._begin_others()

    def moved(self, id: str) -> None:
        """The broker has another owner: what is known of the last one does not count."""
        self.detector.forget(id)
        self.watch()

    def seen(self, busy: Iterable[str]) -> None:
        """Messages go to these neighbours. Now and then the watches are brought up to date."""
        there = set(busy)
        for name in sorted(self.detector.peers):
            self.detector.busy(name, name in there)
        if self._known.now > self._looked + LOOK_SECONDS:
            self.watch()
        else:
            self._begin_others()
        self.tick()

    def _begin_others(self) -> None:
        for id in sorted(self._wanted - self.detector.peers):
            self._begin(id)

    def _begin(self, id: str) -> None:
        known = self._known
        if known.node_of(id) in known.connected:
            self.detector.watch(id, known.now)
        elif self._settled is not None and known.now >= self._settled and id in known.owners:
            self.detector.watch(id, known.now)
            self._do(self.detector.lost(id, known.now))

    def refused(self, id: str, owner: Owner) -> bool:
        """Whether the address of this owner has just refused us: it need not be examined again."""
        at, whose = self._refused.get(id, (0.0, None))
        return whose == owner and self._known.now - at < FRESH_SECONDS

    # What connections tell

    def up(self, node: str) -> None:
        for id in self._at(node):
            self.detector.watch(id, self._known.now)
            self._do(self.detector.back(id, self._known.now))

    def down(self, node: str) -> None:
        for id in self._at(node):
            self._callbacks.doubted(id)
            self._do(self.detector.lost(id, self._known.now))

    def _at(self, node: str) -> list[str]:
        return sorted(id for id in self._wanted if self._known.node_of(id) == node)

    def ping(self, node: str, ping: wire.Ping) -> None:
        self.detector.sign(node, self._known.now)
        if ping.broker in self._known.here:
            self._known.tell(node, wire.Pong(number=ping.number, broker=ping.broker, load=self.own_load))

    def pong(self, node: str, pong: wire.Pong) -> None:
        if pong.load is not None:
            self.loads[node] = pong.load
        self._do(self.detector.heard(pong.broker, pong.number, self._known.now))

    def reaches(self, id: str) -> bool:
        """Whether we have a connection to it that works."""
        return self._known.node_of(id) in self._known.connected and id not in self.detector.suspected

    # Time

    def tick(self) -> None:
        self._do(self.detector.tick(self._known.now))

    def next_due(self) -> float | None:
        return self.detector.next_due()

    # Effects of the detector

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Ping():
                    ping = wire.Ping(number=effect.number, broker=effect.peer)
                    self._known.tell(self._known.node_of(effect.peer), ping)
                case Probe():
                    self._known.begin(self._probe(effect.peer))
                case Suspect():
                    self._callbacks.suspected(effect)
                case _:
                    self._callbacks.trusted(effect.peer)

    async def _probe(self, id: str) -> None:
        known = self._known
        owner = known.owners.get(id)
        if owner is None or not owner.port:
            return
        try:
            found = await Examine(id, owner)
        except RegraftError:
            return
        if known.owners.get(id) != owner:
            return
        if found is Evidence.REFUSED:
            self._refused[id] = known.now, owner
            self._callbacks.expected(id)
        if found.hard and id in self.detector.peers and known.settings.at_once:
            self._callbacks.suspected(Suspect(id, found, 0.0))
        self._do(self.detector.evidence(id, found, known.now))
