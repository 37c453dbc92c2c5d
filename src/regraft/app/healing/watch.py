"""The failure detector at work: whom this node watches, the questions it asks, the addresses it looks at.

Watched are the neighbours of every broker in this process, and for a while the leader of an election. A
broker that has a deputy is watched where that is. Nobody is suspected whom the node has never reached, for
as long as it has not settled: when many start at once, some are slower.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable

from regraft.app.healing.parts import Parts
from regraft.coord import Coord, CoordError, Layout
from regraft.heal.detection import Detector, Effect, Evidence, Ping, Probe, Suspect
from regraft.heal.ownership import Owner, Places
from regraft.heal.wire import messages as wire
from regraft.model.facts import Load
from regraft.protocol.messages import LinkHello

log = logging.getLogger("regraft.heal")
CONNECT_SECONDS = 1.0
TRAFFIC_SECONDS = 0.05
LINKS_SECONDS = 1.0
FRESH_SECONDS = 0.2
TRAFFIC_BYTES = 256
"""To a neighbour within that time: more than heartbeats."""


async def examine(coord: Coord, layout: Layout, id: str, owner: Owner) -> Evidence:
    """What the address of a broker, and its presence, say."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(owner.host, owner.port)
        writer.transport.abort()
        found = Evidence.SILENT
    except ConnectionRefusedError:
        return Evidence.REFUSED
    except (OSError, TimeoutError, UnicodeError):
        found = Evidence.UNREACHABLE
    with contextlib.suppress(CoordError):
        if await coord.get(Places(layout, id).alive) is None:
            return Evidence.GONE
    return found


class Watching:
    """`suspected` is told of suspicions; before a timer has ended, `doubted` of a lost connection, and
    `expected` of an address that refuses us."""

    def __init__(
        self,
        parts: Parts,
        suspected: Callable[[Suspect], None],
        trusted: Callable[[str], None],
        doubted: Callable[[str], None],
        expected: Callable[[str], None],
    ) -> None:
        self.detector = Detector(parts.settings.timing)
        self.loads: dict[str, Load] = {}
        """As neighbours told them."""
        self.own_load: Load | None = None
        self._parts = parts
        self._suspected, self._trusted = suspected, trusted
        self._doubted, self._expected = doubted, expected
        self._loop = asyncio.get_running_loop()
        self._settled = self._loop.time() + parts.settings.settle
        self._looked = 0.0
        self._refused: dict[str, tuple[float, Owner]] = {}
        self._extra: set[str] = set()
        self._wanted: set[str] = set()
        self._kept: set[str] = set()
        """Nodes to which there is to be a connection."""
        self._timer: asyncio.TimerHandle | None = None
        self._sent: dict[int, int] = {}

    # Whom

    def watch(self, extra: Iterable[str] = ()) -> None:
        """To be called when links, brokers in this process, or leaders have changed."""
        self._extra = set(extra)
        self._looked = self._loop.time()
        here = self._parts.hosting.brokers
        near = {name for each in here.values() if each.server.core for name in each.server.neighbours}
        self._wanted = (near | self._extra) - here.keys()
        nodes = {self._parts.whereabouts.node_of(id) for id in self._wanted} - {self._parts.id}
        for id in self.detector.peers - self._wanted:
            self.detector.forget(id)
        for node in self._kept - nodes:
            self._parts.connections.drop(node)
        for node in nodes:
            self._parts.connections.keep(node)
        self._kept = nodes
        for id in self._wanted - self.detector.peers:
            self._begin(id)
        self._schedule()

    def moved(self, id: str) -> None:
        """It has another owner: what was held against the last one is over."""
        self.detector.forget(id)
        self.watch(self._extra)

    def _begin(self, id: str) -> None:
        now = self._loop.time()
        if self._parts.connections.connected(self._parts.whereabouts.node_of(id)):
            self.detector.watch(id, now)
        elif now >= self._settled and id in self._parts.whereabouts.owners:
            self.detector.watch(id, now)
            self._do(self.detector.lost(id, now))

    def refused(self, id: str, owner: Owner) -> bool:
        """Whether the address of this owner has just refused us: one need not look again."""
        at, whose = self._refused.get(id, (0.0, None))
        return whose == owner and self._loop.time() - at < FRESH_SECONDS

    # What connections tell

    def up(self, node: str) -> None:
        now = self._loop.time()
        for id in self._at(node):
            self.detector.watch(id, now)
            self._do(self.detector.back(id, now))

    def down(self, node: str) -> None:
        for id in self._at(node):
            self._doubted(id)
            self._do(self.detector.lost(id, self._loop.time()))

    def _at(self, node: str) -> list[str]:
        return [id for id in self._wanted if self._parts.whereabouts.node_of(id) == node]

    def ping(self, node: str, ping: wire.Ping) -> None:
        self.detector.sign(node, self._loop.time())
        here = self._parts.hosting.brokers.get(ping.broker)
        if here is not None and not here.ended:
            self._parts.connections.send(
                node, wire.Pong(number=ping.number, broker=ping.broker, load=self.own_load)
            )

    def pong(self, node: str, pong: wire.Pong) -> None:
        if pong.load is not None:
            self.loads[node] = pong.load
        self._do(self.detector.heard(pong.broker, pong.number, self._loop.time()))

    # Time

    async def run(self) -> None:
        """Who is busy; those for whom a connection was waited; links that have changed."""
        while True:
            await asyncio.sleep(TRAFFIC_SECONDS)
            self._notice_traffic()
            if self._loop.time() > self._looked + LINKS_SECONDS:
                self.watch(self._extra)
            for id in self._wanted - self.detector.peers:
                self._begin(id)
            self._tick()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _notice_traffic(self) -> None:
        sent: dict[int, int] = {}
        busy: set[str] = set()
        for hosted in self._parts.hosting.brokers.values():
            for connection in list(hosted.server.connections.values()):
                if isinstance(connection.hello, LinkHello):
                    key = id(connection)
                    sent[key] = connection.bytes_out
                    if connection.bytes_out - self._sent.get(key, 0) > TRAFFIC_BYTES:
                        busy.add(connection.hello.broker)
        self._sent = sent
        for name in self.detector.peers:
            self.detector.busy(name, name in busy)

    def _tick(self) -> None:
        self._do(self.detector.tick(self._loop.time()))

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self.detector.next_due()
        self._timer = self._loop.call_at(due, self._tick) if due is not None else None

    # Effects

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Ping():
                    node = self._parts.whereabouts.node_of(effect.peer)
                    self._parts.connections.send(node, wire.Ping(number=effect.number, broker=effect.peer))
                case Probe():
                    self._parts.begin(self._probe(effect.peer))
                case Suspect():
                    self._suspected(effect)
                case _:
                    self._trusted(effect.peer)
        self._schedule()

    async def _probe(self, id: str) -> None:
        owner = self._parts.whereabouts.owners.get(id)
        if owner is None or not owner.port:
            return
        found = await examine(self._parts.coord, self._parts.layout, id, owner)
        if self._parts.whereabouts.owners.get(id) != owner:
            return
        now = self._loop.time()
        if found is Evidence.REFUSED:
            self._refused[id] = now, owner
            self._expected(id)
        if found.hard and id in self.detector.peers and self._parts.settings.at_once:
            self._suspected(Suspect(id, found, 0.0))
        self._do(self.detector.evidence(id, found, now))
