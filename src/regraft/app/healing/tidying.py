"""Deputies do not stay: their links are given to the living, their clients go, they leave the overlay.

A broker is removed in two plans. The first joins its neighbours without it (`repair.join`, the cheapest way
for the traffic that is known); nobody waits for anything. The second detaches it: its clients are sent away
and take their sessions with them, which may take a while, so it is tried again and again, and others take
turns meanwhile.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from regraft.app.healing.deploy import Repairs
from regraft.app.healing.parts import Parts
from regraft.app.measured_demand import last_measured
from regraft.coord import CoordError
from regraft.deploy.begin import Settings
from regraft.heal.repair import Join, join
from regraft.heal.repair_plan import detaching, isolating
from regraft.model import Ends, Plan, RegraftError, Topology
from regraft.model.traffic import Traffic

log = logging.getLogger("regraft.heal")
JOINING = Settings(seconds=5.0, attempts=3, canaries=0)
LEAVING = Settings(seconds=3.0, attempts=1, canaries=0)
TURN_SECONDS = 2.0
PAUSE, LONGEST = 0.2, 2.0
LEISURE = 0.7
AWAY_SECONDS = 60.0


class Tidying:
    """`left` is told of each broker that is out of the overlay."""

    def __init__(self, parts: Parts, repairs: Repairs, left: Callable[[str], None]) -> None:
        self.leaving: set[str] = set()
        self._parts = parts
        self._repairs = repairs
        self._left = left
        self._more = asyncio.Event()
        self._traffic: Traffic = ()
        self._costs: Mapping[Ends, float] = {}

    def add(self, id: str) -> None:
        """After a while: what a crash has held up goes first."""
        self.leaving.add(id)
        asyncio.get_running_loop().call_later(LEISURE, self._more.set)

    def drop(self, id: str) -> None:
        self.leaving.discard(id)

    async def run(self) -> None:
        self._traffic = await asyncio.to_thread(self._read_traffic)
        while True:
            await self._more.wait()
            self._more.clear()
            pause = PAUSE
            while self.leaving:
                before = set(self.leaving)
                try:
                    await self._turn()
                except RegraftError as fault:
                    log.warning("%s: the removal of %s: %s", self._parts.id, sorted(self.leaving), fault)
                pause = min(LONGEST, 2 * pause) if before == self.leaving else PAUSE
                if self.leaving and not self._more.is_set():
                    await asyncio.sleep(pause)

    async def _turn(self) -> None:
        await self._end_those_that_left()
        if not self.leaving:
            return
        await self._learn_demand()
        for id in self.leaving & self._parts.hosting.brokers.keys():
            self._parts.hosting.brokers[id].server.send_away(AWAY_SECONDS)
        await self._repairs.carry_out(
            lambda topology: self._joined(topology, self.leaving), JOINING, TURN_SECONDS
        )
        await self._repairs.carry_out(
            lambda topology: detaching(topology, self.leaving), LEAVING, TURN_SECONDS
        )
        await self._end_those_that_left()

    def _joined(self, topology: Topology, leaving: Iterable[str]) -> Plan | None:
        dead = sorted(set(leaving) & set(topology.ids))
        found = join(topology, dead, self._traffic, costs=self._costs) if dead else None
        if not isinstance(found, Join):
            return None
        return isolating(topology, dead, found)

    async def _end_those_that_left(self) -> None:
        topology = await self._repairs.current()
        for id in [id for id in self.leaving if topology is not None and id not in topology.neighbours]:
            self.leaving.discard(id)
            await self._parts.hosting.end(id)
            self._left(id)

    async def _learn_demand(self) -> None:
        """What the loop has measured last holds more than what the node was told when it started."""
        try:
            measured = await last_measured(self._parts.coord, self._parts.layout)
        except CoordError as fault:
            log.warning("%s: the measured traffic can not be read: %s", self._parts.id, fault)
            return
        if measured is not None:
            self._traffic, self._costs = measured.traffic, measured.link_costs

    def _read_traffic(self) -> Traffic:
        if self._parts.settings.traffic is None:
            return ()
        from regraft.model.traffic_files import read_traffic  # noqa: PLC0415 — few nodes are given any

        return read_traffic(self._parts.settings.traffic)
