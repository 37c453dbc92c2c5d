"""Brokers in this process: the node's own, and deputies of those that have died.

Each has its server, a journal in ZooKeeper that only its owner can write, an agent that changes its links,
and a lease for its answers. When it has another owner, it ends at once: `deposed`.
"""

import asyncio
import contextlib
import gc
import logging
import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from regraft.broker.io.configuration import Address
from regraft.broker.io.server import BrokerServer
from regraft.coord import Coord, CoordError
from regraft.deploy.agent import BrokerAgent
from regraft.deploy.driver import ControlDriver
from regraft.heal.core.acting import LATER_SECONDS
from regraft.heal.fenced_journal import FencedJournal
from regraft.heal.owner import NotTaken, Owner, Why
from regraft.heal.ownership import Places, TakeoverBasis, take
from regraft.heal.session_lease import SHARE, SessionLease
from regraft.node.healing.settings import NodeSettings

log = logging.getLogger("regraft.heal")
GARBAGE_SECONDS = 600.0
GARBAGE_OBJECTS = 200_000
"""How many objects the collector can look through in about a tenth of a second."""


def collect_garbage() -> bool:
    """Collects garbage, also among what was set aside (`broker.io.garbage`); returns whether it did.

    A broker that has ended is full of cycles. A process that is always busy would keep every deputy that it
    ever had. With more objects than the limit, a collection would take too long and has to wait for an idle
    moment.
    """
    if gc.get_freeze_count() > GARBAGE_OBJECTS:
        return False
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    return True


class LateMemory:
    """The memory of a server that listens before it owns the broker's journal; `fill` gives it the
    journal."""

    def __init__(self) -> None:
        self.life = 0
        self.values: dict[str, bytes] = {}
        self.journal: FencedJournal | None = None

    def fill(self, journal: FencedJournal) -> None:
        self.journal, self.life, self.values = journal, journal.life, journal.values

    def append(self, changes: Iterable[tuple[str, bytes | None]]) -> None:
        assert self.journal is not None
        self.journal.append(changes)

    async def sync(self) -> None:
        assert self.journal is not None
        await self.journal.sync()

    def close(self) -> None:
        if self.journal is not None:
            self.journal.close()


@dataclass
class Hosted:
    """A broker that runs here."""

    id: str
    server: BrokerServer
    journal: FencedJournal
    owner: Owner
    driver: ControlDriver
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    ended: bool = False


class Hosting:
    """`brokers` by id; `deposed` is called with one that has to end here, and why."""

    def __init__(
        self,
        settings: NodeSettings,
        coord: Coord,
        addresses: dict[str, Address],
        heal_address: Address,
        deposed: Callable[[str, str], None],
    ) -> None:
        self.brokers: dict[str, Hosted] = {}
        self._settings = settings
        self._coord = coord
        self._addresses = addresses
        self._heal = heal_address
        self._deposed = deposed
        self._collecting: asyncio.TimerHandle | None = None
        self._process = f"{socket.gethostname()}/{os.getpid()}/{time.time_ns()}"

    async def begin(
        self, id: str, neighbours: Iterable[str], seen: TakeoverBasis, why: Why, *, empty: bool = False
    ) -> Hosted | NotTaken:
        """Becomes this broker, if no other process owns it."""
        own = id == self._settings.id
        near = tuple(sorted(neighbours))
        port = self._settings.broker.port if own else 0
        memory = LateMemory()
        driven = self._settings.driven(id, near, port, joining=empty)
        server = BrokerServer(driven, self._addresses, memory)
        host, listening = await server.listen()
        claim = Owner(
            life=0,
            host=host,
            port=listening,
            heal_host=self._heal[0],
            heal_port=self._heal[1],
            by="" if own else self._settings.id,
            since=time.time(),
            process=self._process,
        )
        sent = time.monotonic()  # before the transaction: a lease counts from when its request was sent
        journal = await take(self._coord, self._settings.layout, id, claim, seen, why, empty=empty)
        if isinstance(journal, NotTaken):
            await server.stop()
            return journal
        memory.fill(journal)
        server.lease(sent + SHARE * self._coord.session_timeout)
        server.on_neighbour = lambda name, there: log.info("%s-%s is %s", id, name, "up" if there else "lost")
        await server.start()
        assert server.control_address is not None
        driver = ControlDriver(server.control_address, server.configuration.control_token)
        owner = msgspec.structs.replace(claim, life=journal.life)
        hosted = self.brokers[id] = Hosted(id, server, journal, owner, driver)
        hosted.tasks = [
            asyncio.create_task(self._agent(hosted)),
            asyncio.create_task(self._lease(hosted)),
            asyncio.create_task(self._owner(hosted)),
            asyncio.create_task(self._fault(hosted)),
        ]
        return hosted

    async def end(self, id: str) -> None:
        """Stops this broker; its agent deletes its presence."""
        hosted = self.brokers.pop(id, None)
        if hosted is None:
            return
        hosted.ended = True
        await hosted.server.stop()
        current = asyncio.current_task()
        tasks = [task for task in hosted.tasks if task is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await hosted.driver.close()
        if hosted.owner.by and self._collecting is None:
            self._collecting = asyncio.get_running_loop().call_later(GARBAGE_SECONDS, self._collect)

    def _collect(self) -> None:
        self._collecting = None
        collect_garbage()

    async def _agent(self, hosted: Hosted) -> None:
        if hosted.owner.by:
            await asyncio.sleep(LATER_SECONDS)
        await BrokerAgent(hosted.id, hosted.driver, self._coord, self._settings.layout).run()

    async def _lease(self, hosted: Hosted) -> None:
        places = Places(self._settings.layout, hosted.id)
        await asyncio.sleep(LATER_SECONDS)
        lease = SessionLease(self._coord, places.alive, hosted.journal.fence, hosted.server.lease)
        self._lost(hosted, await lease.keep())

    async def _owner(self, hosted: Hosted) -> None:
        """Notices another owner sooner than the lease would."""
        await asyncio.sleep(LATER_SECONDS)
        fence = hosted.journal.fence
        with contextlib.suppress(CoordError):
            async for node in self._coord.watch(fence.path):
                if node is None or node.version > fence.version:
                    self._lost(hosted, "another has taken the broker over")
                    return

    async def _fault(self, hosted: Hosted) -> None:
        await hosted.server.failed.wait()
        self._lost(hosted, hosted.server.fault)

    def _lost(self, hosted: Hosted, reason: str) -> None:
        if hosted.ended:
            return
        hosted.ended = True
        log.warning("%s is not here any more: %s", hosted.id, reason)
        if not hosted.server.fault:
            hosted.server.give_up(reason)
        self._deposed(hosted.id, reason)
