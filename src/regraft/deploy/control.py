"""Who may deploy, and what may be asked of whoever does: to go on, to pause, to stop, to take back."""

import os
import socket

import msgspec

from regraft.coord import Conflict, Coord, Held, Lease, Node, Set, acquire
from regraft.coord.layout import Layout
from regraft.coord.typed import encode
from regraft.deploy.begin import begin_back, run_in_journal
from regraft.deploy.journal import BEGINNING, doings_of, must, write_run
from regraft.deploy.records import DONE, ROLL_BACK, RUN, RUNNING, Current, Run
from regraft.model import BadInput


def who() -> str:
    return f"deployer on {socket.gethostname()}, process {os.getpid()}"


async def lease(coord: Coord, layout: Layout, *, wait: float = 0) -> Lease:
    """Only one deployer may run. Who takes over waits until the session of one that was killed has ended."""
    held = await acquire(coord, layout.lock("deployer"), who(), wait=wait)
    if isinstance(held, Held):
        raise BadInput("", f"another deployer runs: {held.by}")
    return held


async def set_going(coord: Coord, layout: Layout, lease: Lease, attempts: int) -> None:
    """The run in the journal goes on, wherever it was: interrupted, paused, stopped, failed, beginning."""
    run, node = await run_in_journal(coord, layout)
    if run.state == DONE:
        raise BadInput(f"run {run.id}", f"was {'taken back' if run.back else 'carried out'} to its end")
    if run.state == BEGINNING:
        current = await must(coord, layout.topology, Current)
        return await write_run(coord, layout, lease, run, current.value)
    if run.wanted == ROLL_BACK and not run.back:
        return await set_going_back(coord, layout, lease, attempts)
    # Names of changes are never used twice, so attempts are counted on.
    tried = max((each.attempt for step in await doings_of(coord, layout, run) for each in step), default=1)
    more = run.attempts if run.state == RUNNING else tried - 1 + attempts
    await _write(layout, lease, node, run, state=RUNNING, wanted=RUN, reason="", attempts=more)


async def set_going_back(coord: Coord, layout: Layout, lease: Lease, attempts: int) -> None:
    """What the run in the journal has done is taken back; if it is under way, as soon as it is at rest."""
    run, node = await run_in_journal(coord, layout)
    if run.back and run.state == DONE:
        raise BadInput(f"run {run.id}", "has been taken back already")
    if run.back:
        await set_going(coord, layout, lease, attempts)
    elif run.state == BEGINNING:
        raise BadInput(f"run {run.id}", "has not begun: there is nothing to take back")
    elif run.state == RUNNING:
        await _write(layout, lease, node, run, wanted=ROLL_BACK)
    else:
        await begin_back(coord, layout, lease, run)


async def _write(layout: Layout, lease: Lease, node: Node, run: Run, **fields: object) -> None:
    going = msgspec.structs.replace(run, **fields)
    if going != run:
        await lease.write([Set(layout.plan, encode(going), node.version)])


async def ask(coord: Coord, layout: Layout, wanted: str) -> Run:
    """Tell the deployer that runs, wherever it is, to pause, go on, stop or take back."""
    while True:
        run, node = await run_in_journal(coord, layout)
        if run.state != RUNNING:
            raise BadInput(f"run {run.id}", f"is not under way: it is {run.state}")
        asked = msgspec.structs.replace(run, wanted=wanted)
        if asked == run:
            return run
        try:
            await coord.set(layout.plan, encode(asked), node.version)
            return asked
        except Conflict:
            continue
