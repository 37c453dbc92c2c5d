"""Plans of repairs through the deployer: one run at a time on the whole overlay, so they take turns.

On failure: a plan that does not fit any more is made anew from the topology as it is; a run whose deployer
has died is finished first, whoever began it; while ZooKeeper is away it is waited for. A run of the loop
gives way: it is asked to stop after the changes that have begun.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable

from regraft.coord import Coord, CoordError, Layout
from regraft.coord.typed import read
from regraft.deploy.begin import Settings
from regraft.deploy.control import ask
from regraft.deploy.execute import execute, resume
from regraft.deploy.journal import BEGINNING, deployer_of, topology_of
from regraft.deploy.records import DONE, RUN, RUNNING, STOP, Current, Run
from regraft.model import BadInput, Plan, Topology
from regraft.plan import verify

PAUSE = 0.05
LOCK = "deployer"


async def bury(coord: Coord, layout: Layout, session: int) -> None:
    """A deployer whose process is gone keeps its place in the queue until its session ends; it need not: what
    it would still write is fenced by that place."""
    queue = layout.lock(LOCK)
    with contextlib.suppress(CoordError):
        for place in await coord.children(queue):
            node = await coord.get(f"{queue}/{place}")
            if node is not None and node.ephemeral_owner == session:
                await coord.delete(f"{queue}/{place}")


class Repairs:
    """Of one node."""

    def __init__(self, coord: Coord, layout: Layout) -> None:
        self._coord = coord
        self._layout = layout
        self._own = asyncio.Lock()

    async def current(self) -> Topology | None:
        stored = await read(self._coord, self._layout.topology, Current)
        return topology_of(stored.value) if stored is not None else None

    async def carry_out(
        self, make: Callable[[Topology], Plan | None], settings: Settings, seconds: float
    ) -> str:
        """Until there is nothing left to do (`make` says None), or the time is over: why it is not done."""
        deadline = asyncio.get_running_loop().time() + seconds
        reason = ""
        while True:
            async with self._own:
                try:
                    topology = await self.current()
                    plan = make(topology) if topology is not None else None
                    if plan is None:
                        return ""
                    reason = await self._once(plan, settings)
                except (BadInput, CoordError) as fault:
                    reason = str(fault)
                    with contextlib.suppress(BadInput, CoordError):
                        await self._finish_others(settings)
            if asyncio.get_running_loop().time() > deadline:
                return reason or "no time left"
            if reason:
                await asyncio.sleep(PAUSE * (0.5 + random.random()))

    async def _once(self, plan: Plan, settings: Settings) -> str:
        outcome = await execute(plan, self._coord, self._layout, verify, settings)
        return "" if outcome.state == DONE else outcome.reason or outcome.state

    async def _finish_others(self, settings: Settings) -> None:
        """One whose deployer has died is carried on; one for the sake of traffic is asked to stop."""
        stored = await read(self._coord, self._layout.plan, Run)
        if stored is None or stored.value.state not in (RUNNING, BEGINNING):
            return
        run = stored.value
        if not await deployer_of(self._coord, self._layout):
            await resume(self._coord, self._layout, settings)
        elif run.gives_way and run.state == RUNNING and run.wanted == RUN:
            await ask(self._coord, self._layout, STOP)
