"""The lease that lets a process deploy, and orders to a run: continue, pause, stop, roll back."""

import os
import socket

import msgspec

from regraft.coord import Conflict, Coord, Held, Lease, Node, Set, acquire
from regraft.coord.layout import Layout
from regraft.coord.typed import encode
from regraft.deploy.begin import begin_rollback, run_in_journal
from regraft.deploy.journal import doings_of, read_required, write_run
from regraft.deploy.records import Current, Run
from regraft.deploy.states import RunOrder, RunState
from regraft.model import BadInput


def deployer_name() -> str:
    return f"deployer on {socket.gethostname()}, process {os.getpid()}"


async def deployer_lease(coord: Coord, layout: Layout, *, wait: float = 0) -> Lease:
    """The lease of the only deployer. To take over from a killed one, `wait` until its session has ended."""
    held = await acquire(coord, layout.lock("deployer"), deployer_name(), wait=wait)
    if isinstance(held, Held):
        raise BadInput("", f"another deployer runs: {held.by}")
    return held


async def order_resume(coord: Coord, layout: Layout, lease: Lease, attempts: int) -> None:
    """Continue the run in the journal, wherever it was: interrupted, paused, stopped, failed, beginning."""
    run, node = await run_in_journal(coord, layout)
    if run.state == RunState.DONE:
        raise BadInput(f"run {run.id}", f"was {'taken back' if run.back else 'carried out'} to its end")
    if run.state == RunState.BEGINNING:
        current = await read_required(coord, layout.topology, Current)
        return await write_run(coord, layout, lease, run, current.value)
    if run.wanted == RunOrder.ROLL_BACK and not run.back:
        return await order_rollback(coord, layout, lease, attempts)
    # Names of changes are never used twice, so attempts continue to be counted from the last one.
    tried = max((each.attempt for step in await doings_of(coord, layout, run) for each in step), default=1)
    if run.state == RunState.RUNNING:
        resumed = run
    else:
        resumed = run.become(RunState.RUNNING, attempts=tried - 1 + attempts)
    resumed = msgspec.structs.replace(resumed, wanted=RunOrder.RUN, reason="")
    await _write(layout, lease, node, run, resumed)


async def order_rollback(coord: Coord, layout: Layout, lease: Lease, attempts: int) -> None:
    """Undo what the run in the journal has done; if it is under way, as soon as none of its changes is."""
    run, node = await run_in_journal(coord, layout)
    if run.back and run.state == RunState.DONE:
        raise BadInput(f"run {run.id}", "has been taken back already")
    if run.back:
        await order_resume(coord, layout, lease, attempts)
    elif run.state == RunState.BEGINNING:
        raise BadInput(f"run {run.id}", "has not begun: there is nothing to take back")
    elif run.state == RunState.RUNNING:
        back = msgspec.structs.replace(run, wanted=RunOrder.ROLL_BACK)
        await _write(layout, lease, node, run, back)
    else:
        await begin_rollback(coord, layout, lease, run)


async def _write(layout: Layout, lease: Lease, node: Node, before: Run, after: Run) -> None:
    if after != before:
        await lease.write([Set(layout.plan, encode(after), node.version)])


async def order_run(coord: Coord, layout: Layout, wanted: str) -> Run:
    """Order the running deployer, on any machine, to pause, continue, stop or roll back the run."""
    while True:
        run, node = await run_in_journal(coord, layout)
        if run.state != RunState.RUNNING:
            raise BadInput(f"run {run.id}", f"is not under way: it is {run.state}")
        ordered = msgspec.structs.replace(run, wanted=RunOrder(wanted))
        if ordered == run:
            return run
        try:
            await coord.set(layout.plan, encode(ordered), node.version)
            return ordered
        except Conflict:
            continue
