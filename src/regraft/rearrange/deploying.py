"""Carries out a master's shifts on the live overlay: as a plan, one master after the other (OCBR §3).

The overlay has one journal, so masters queue for it. A master in the queue holds the lease on its
neighbourhood, so what it has decided stays right. If a process has died and left a run unfinished, that run
is finished first.
"""

import asyncio
from dataclasses import dataclass

from regraft.coord import Coord, Held, Layout, Lease, acquire
from regraft.coord.typed import read
from regraft.deploy.begin import RunSettings, Verify
from regraft.deploy.execute import execute, resume, roll_back
from regraft.deploy.journal import deployer_of, topology_of
from regraft.deploy.records import Current, Run
from regraft.deploy.states import RunState
from regraft.model import Action, BadInput, Bounds, Plan, Topology, ends

POLL_SECONDS = 0.2
SETTINGS = RunSettings(canaries=0)
"""A master changes few links at a time, and often, so its runs are not audited by canaries."""


@dataclass(frozen=True)
class LiveOverlay:
    """The running overlay, and how changes of it are checked and carried out."""

    coord: Coord
    layout: Layout
    verify: Verify
    settings: RunSettings = SETTINGS


async def deploy_shifts(live: LiveOverlay, actions: tuple[Action, ...], lease: Lease, patience: float) -> str:
    """Why the shifts were not done; empty if they were. A run that fails is rolled back."""
    turn = await acquire(live.coord, live.layout.lock("rearranging"), lease.who, wait=patience)
    if isinstance(turn, Held):
        return f"{turn.by} has not finished its change in time"
    async with turn:
        return await _deploy(live, actions, lease, turn)


async def _deploy(live: LiveOverlay, actions: tuple[Action, ...], lease: Lease, turn: Lease) -> str:
    coord, layout = live.coord, live.layout
    while turn.held and await deployer_of(coord, layout):  # a person or the loop carries out a plan
        await asyncio.sleep(POLL_SECONDS)
    run = await read(coord, layout.plan, Run)
    if run is not None and run.value.state == RunState.RUNNING:
        # The links are different afterwards, so these shifts are not tried: the master decides again.
        await resume(coord, layout, live.settings)
        return f"run {run.value.id} was left unfinished and had to be finished first"
    current = await read(coord, layout.topology, Current)
    if current is None or not lease.held:
        return "the lease on the neighbourhood is lost"
    plan = plan_of(topology_of(current.value), actions)
    outcome = await execute(plan, coord, layout, live.verify, live.settings)
    if outcome.state == RunState.DONE:
        return ""
    await roll_back(coord, layout, live.settings)
    return outcome.reason or outcome.state


def plan_of(current: Topology, actions: tuple[Action, ...]) -> Plan:
    """One shift after the other, each guarded by a link that stays."""
    links = set(current.by_ends)
    for action in actions:
        i, j, k = action.brokers
        if not {ends(i, j), ends(j, k)} <= links or ends(i, k) in links:
            raise BadInput(str(action), "does not fit the current links")
        links = links - {ends(i, j)} | {ends(i, k)}
    goal = Topology.of(sorted(links), current.ids)
    steps = tuple((action,) for action in actions)
    return Plan("tree", current.sha256, goal.sha256, steps, "ocbr master", Bounds(1, len(actions)))
