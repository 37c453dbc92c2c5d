"""Plans of repairs through the deployer; when one is made, and made again, the core decides
(`heal.core.repairs`)."""

import contextlib

from regraft.coord import Coord, CoordError, Layout
from regraft.coord.typed import read
from regraft.deploy.begin import Settings
from regraft.deploy.control import ask
from regraft.deploy.execute import execute, resume
from regraft.deploy.journal import deployer_of, topology_of
from regraft.deploy.records import Current, Run
from regraft.deploy.states import RunOrder, RunState
from regraft.heal.core.requests import Care
from regraft.model import Plan, Topology
from regraft.plan import verify

LOCK = "deployer"


async def current(coord: Coord, layout: Layout) -> Topology | None:
    stored = await read(coord, layout.topology, Current)
    return topology_of(stored.value) if stored is not None else None


async def carry_out(coord: Coord, layout: Layout, plan: Plan, care: Care) -> str:
    """Empty, or why the plan was not carried out."""
    outcome = await execute(plan, coord, layout, verify, _settings(care))
    return "" if outcome.state == RunState.DONE else outcome.reason or outcome.state


async def finish_others(coord: Coord, layout: Layout, care: Care) -> None:
    """One whose deployer has died is carried on; one for the sake of traffic is asked to stop."""
    stored = await read(coord, layout.plan, Run)
    if stored is None or stored.value.state not in (RunState.RUNNING, RunState.BEGINNING):
        return
    run = stored.value
    if not await deployer_of(coord, layout):
        await resume(coord, layout, _settings(care))
    elif run.gives_way and run.state == RunState.RUNNING and run.wanted == RunOrder.RUN:
        await ask(coord, layout, RunOrder.STOP)


async def bury(coord: Coord, layout: Layout, session: int) -> None:
    """A deployer whose process is gone keeps its place in the queue until its session ends; it need not: what
    it would still write is fenced by that place."""
    queue = layout.lock(LOCK)
    with contextlib.suppress(CoordError):
        for place in await coord.children(queue):
            node = await coord.get(f"{queue}/{place}")
            if node is not None and node.ephemeral_owner == session:
                await coord.delete(f"{queue}/{place}")


def _settings(care: Care) -> Settings:
    return Settings(seconds=care.seconds, attempts=care.attempts, canaries=0)
