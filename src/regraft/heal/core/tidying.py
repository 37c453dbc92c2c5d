"""Removes deputies: their links are given to the living, their clients are sent away, they leave the overlay.

A broker is removed in two plans. The first joins its neighbours without it (`repair.join`, the cheapest way
for the known traffic); it waits for nothing. The second detaches it: its clients are sent away and take their
sessions with them. That may take a while, so it is tried repeatedly, and other repairs run in between.
"""

from collections.abc import Callable, Iterable

from regraft.heal.core.effects import SendClientsAway
from regraft.heal.core.knowledge import Knowledge
from regraft.heal.core.repairs import Repairs
from regraft.heal.core.requests import Demand, EndDeputy, ExecutionLimits, ReadDemand, ReadTopology
from regraft.heal.core.tasks import Signal, sleep
from regraft.heal.repair import Join, join
from regraft.heal.repair_plan import detaching, isolating
from regraft.model import Plan, RegraftError, Topology

JOINING = ExecutionLimits(seconds=5.0, attempts=3)
LEAVING = ExecutionLimits(seconds=3.0, attempts=1)
PLAN_SECONDS = 2.0
PAUSE, LONGEST = 0.2, 2.0
DELAY_SECONDS = 0.7
AWAY_SECONDS = 60.0


class Tidying:
    """`left` is told of each broker that is out of the overlay."""

    def __init__(self, known: Knowledge, repairs: Repairs, left: Callable[[str], None]) -> None:
        self.leaving: set[str] = set()
        self.demand = Demand((), {})
        self._known = known
        self._repairs = repairs
        self._left = left
        self._more: Signal[None] = Signal()

    def add(self, id: str) -> None:
        """Begins after a while: messages that a crash has held up go first."""
        self.leaving.add(id)
        self._known.tasks.after(DELAY_SECONDS, lambda: self._more.give(None))

    def drop(self, id: str) -> None:
        self.leaving.discard(id)

    async def run(self) -> None:
        while True:
            await self._more.within()
            self._more = Signal()
            pause = PAUSE
            while self.leaving:
                before = set(self.leaving)
                try:
                    await self._remove()
                except RegraftError as fault:
                    self._known.note(f"the removal of {sorted(self.leaving)}: {fault}", warning=True)
                pause = min(LONGEST, 2 * pause) if before == self.leaving else PAUSE
                if self.leaving and not self._more.given:
                    await sleep(pause)

    async def _remove(self) -> None:
        await self._end_those_that_left()
        if not self.leaving:
            return
        await self.learn_demand()
        for id in sorted(self.leaving & self._known.here.keys()):
            self._known.effects.append(SendClientsAway(id, AWAY_SECONDS))
        await self._repairs.carry_out(
            lambda topology: self.joined(topology, self.leaving), JOINING, PLAN_SECONDS
        )
        await self._repairs.carry_out(
            lambda topology: detaching(topology, self.leaving), LEAVING, PLAN_SECONDS
        )
        await self._end_those_that_left()

    def joined(self, topology: Topology, leaving: Iterable[str]) -> Plan | None:
        """The plan that joins their neighbours without them; None if they are leaves, or gone."""
        dead = sorted(set(leaving) & set(topology.ids))
        found = join(topology, dead, self.demand.traffic, costs=self.demand.costs) if dead else None
        return isolating(topology, dead, found) if isinstance(found, Join) else None

    async def _end_those_that_left(self) -> None:
        topology = await ReadTopology()
        for id in sorted(id for id in self.leaving if topology is not None and id not in topology.neighbours):
            self.leaving.discard(id)
            if id in self._known.here:
                del self._known.here[id]
                await EndDeputy(id)
            self._left(id)

    async def learn_demand(self) -> None:
        """Traffic that the loop has measured replaces that of the node's settings."""
        try:
            self.demand = await ReadDemand() or self.demand
        except RegraftError as fault:
            self._known.note(f"the measured traffic cannot be read: {fault}", warning=True)
