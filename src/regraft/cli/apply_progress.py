"""Shows a run while it is carried out: a bar, and a table of the actions of the current step."""

import asyncio
import signal
import sys
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from rich.table import Table

    from regraft.coord import Coord, Layout
    from regraft.deploy.deployer import Progress, Tell

T = TypeVar("T")
ROWS = 20
"""How many actions the table shows; those under way come first."""


async def stopped_by_interrupt(work: Awaitable[T], coord: "Coord", layout: "Layout") -> T:
    """The first Ctrl-C asks the run to stop; the second leaves it as it is, to be resumed later."""
    from regraft.deploy.control import order_run
    from regraft.deploy.states import RunOrder
    from regraft.model import RegraftError

    task = asyncio.ensure_future(work)
    asking: list[asyncio.Task[object]] = []

    async def stop() -> None:
        try:
            await order_run(coord, layout, RunOrder.STOP)
        except RegraftError as fault:
            click.echo(f"regraft: {fault}", err=True)

    def interrupted() -> None:
        if asking:
            task.cancel()
            return
        asking.append(asyncio.create_task(stop()))
        click.echo("stopping after the changes under way (again to leave at once)", err=True)

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        return await task
    except asyncio.CancelledError:
        if asking:
            raise RegraftError("left in the middle of a run; continue with --resume or --rollback") from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextmanager
def progress_shown(quiet: bool) -> "Iterator[Tell]":
    if quiet:
        yield lambda progress: None
    elif not sys.stderr.isatty():
        yield _Lines().tell
    else:
        with _screen() as tell:
            yield tell


class _Lines:
    """Without a terminal: a line for each step."""

    def __init__(self) -> None:
        self.last = ("", 0, "")

    def tell(self, progress: "Progress") -> None:
        run = progress.run
        now = (run.id, run.step, run.wanted)
        if now != self.last and run.state == "running":
            self.last = now
            wanted = "" if run.wanted == "run" else f", {run.wanted}"
            back = " back" if run.back else ""
            click.echo(f"step {run.step} of {len(run.steps)}{back}{wanted}", err=True)


@contextmanager
def _screen() -> "Iterator[Tell]":
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn())
    task = bar.add_task("steps", total=None)
    with Live(bar, console=Console(stderr=True), refresh_per_second=10, transient=True) as screen:

        def tell(progress: "Progress") -> None:
            run = progress.run
            over = run.step - 1 if run.state == "running" else len(run.steps)
            words = "taking back" if run.back else "steps"
            wanted = "" if run.wanted == "run" else f" ({run.wanted})"
            bar.update(task, total=len(run.steps), completed=over, description=words + wanted)
            screen.update(Group(bar, table(progress, time.time())))

        yield tell


def table(progress: "Progress", now: float) -> "Table":
    """Step, action, state, attempt, milliseconds, and the brokers that have not answered yet."""
    from rich.table import Table

    from regraft.cli.printing import shown
    from regraft.deploy.records import action_of
    from regraft.deploy.states import ActionState

    rows = Table("step", "action", "state", "attempt", "ms", "waiting for", box=None, pad_edge=False)
    order = {ActionState.PENDING: 1, ActionState.DONE: 2}
    doings = sorted(progress.actions.values(), key=lambda doing: order.get(doing.state, 0))
    for doing in doings[:ROWS]:
        ended = doing.ended or now
        spent = f"{1000 * (ended - doing.begun):.0f}" if doing.begun else "-"
        waiting = (
            "" if doing.state in order else " ".join(map(shown, _silent(progress, doing.change.id, doing)))
        )
        action = shown(str(action_of(doing)))
        rows.add_row(str(progress.run.step), action, doing.state.value, str(doing.attempt), spent, waiting)
    if len(doings) > ROWS:
        rows.add_row("", f"and {len(doings) - ROWS} others", "", "", "", "")
    return rows


def _silent(progress: "Progress", id: str, doing: object) -> list[str]:
    """The brokers of the change that have not reported the state that the action waits for."""
    from regraft.deploy.records import Doing, Status
    from regraft.deploy.states import ActionState, Reported

    assert isinstance(doing, Doing)
    there = {
        ActionState.COMMITTED: {Reported.DONE},
        ActionState.ABORTED: {Reported.ABORTED, Reported.REFUSED},
    }.get(doing.state, {Reported.READY})
    return [
        name for name in doing.change.brokers if progress.statuses.get(name, Status()).stage(id) not in there
    ]
