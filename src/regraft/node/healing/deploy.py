"""Carries plans of repairs out with the deployer. The core decides when one is made, and made again
(`heal.core.repairs`)."""

import contextlib

from regraft.coord import Coord, CoordError, Layout
from regraft.coord.typed import read
from regraft.deploy.begin import RunSettings
from regraft.deploy.control import order_run
from regraft.deploy.execute import execute, resume
from regraft.deploy.journal import deployer_of, topology_of
from regraft.deploy.records import Current, Run
from regraft.deploy.states import RunOrder, RunState
from regraft.heal.core.requests import ExecutionLimits
from regraft.model import Plan, Topology
from regraft.plan import verify

LOCK = "deployer"


async def current(coord: Coord, layout: Layout) -> Topology | None:
    stored = await read(coord, layout.topology, Current)
    return topology_of(stored.value) if stored is not None else None


async def carry_out(coord: Coord, layout: Layout, plan: Plan, limits: ExecutionLimits) -> str:
    """Empty, or why the plan was not carried out."""
    outcome = await execute(plan, coord, layout, verify, _settings(limits))
    return "" if outcome.state == RunState.DONE else outcome.reason or outcome.state


async def finish_others(coord: Coord, layout: Layout, limits: ExecutionLimits) -> None:
    """Finishes a run whose deployer has died; asks a run of the loop, which gives way, to stop."""
    stored = await read(coord, layout.plan, Run)
    if stored is None or stored.value.state not in (RunState.RUNNING, RunState.BEGINNING):
        return
    run = stored.value
    if not await deployer_of(coord, layout):
        await resume(coord, layout, _settings(limits))
    elif run.gives_way and run.state == RunState.RUNNING and run.wanted == RunOrder.RUN:
        await order_run(coord, layout, RunOrder.STOP)


async def remove_dead_deployer(coord: Coord, layout: Layout, session: int) -> None:
    """Removes a deployer whose process is gone from the queue, where it would stay until its session ends.
    That is safe: its writes are fenced by its place in the queue."""
    queue = layout.lock(LOCK)
    with contextlib.suppress(CoordError):
        for place in await coord.children(queue):
            node = await coord.get(f"{queue}/{place}")
            if node is not None and node.ephemeral_owner == session:
                await coord.delete(f"{queue}/{place}")


def _settings(limits: ExecutionLimits) -> RunSettings:
    return RunSettings(seconds=limits.seconds, attempts=limits.attempts, canaries=0)
