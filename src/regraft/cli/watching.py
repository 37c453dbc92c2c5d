"""Running a planner so that a person can watch it, and stop it and keep what it has.

The planner runs in a thread of its own: solvers spend seconds in native code, where Python could
not answer Ctrl-C. The first Ctrl-C tells the `Watch` to stop, and the planner returns its best plan
so far; the second gives up on it.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from regraft.plan.watch import Progress, Watch

T = TypeVar("T")
THREAD = "planner"


class Shown(NamedTuple):
    """How the wait is shown: `tell` takes progress from the planner's thread, `tick` redraws."""

    tell: "Callable[[Progress], None]"
    tick: "Callable[[Watch], None]"


def planner_is_running() -> bool:
    return any(thread.name == THREAD for thread in threading.enumerate())


@dataclass(frozen=True)
class Watched(Generic[T]):
    """What the work returned, how long it took, and whether a person ended it early."""

    result: T
    seconds: float
    interrupted: bool


def run_watched(work: "Callable[[Watch], T]", seconds: float, quiet: bool = False) -> Watched[T]:
    """Run the work with a watch of so many seconds; its exceptions come through."""
    from regraft.plan.watch import Watch

    outcome: Future[T] = Future()
    with _shown(quiet) as shown:
        watch = Watch(seconds, report=shown.tell)

        def run() -> None:
            try:
                outcome.set_result(work(watch))
            except BaseException as fault:  # handed over to the thread that waits
                outcome.set_exception(fault)

        with _stopped_by_interrupt(watch):
            threading.Thread(target=run, name=THREAD, daemon=True).start()
            while not outcome.done():
                _wait(outcome)
                shown.tick(watch)
        elapsed = watch.elapsed
    return Watched(outcome.result(), elapsed, watch.stopped)


def _wait(outcome: Future[T]) -> None:
    try:
        outcome.exception(timeout=0.1)
    except TimeoutError:
        return


@contextmanager
def _stopped_by_interrupt(watch: "Watch") -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread has signals
        yield
        return

    def stop(*_: object) -> None:
        if watch.stopped:
            raise KeyboardInterrupt
        watch.stop()
        click.echo("interrupted: finishing with the best plan so far (again to give up)", err=True)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _shown(quiet: bool) -> Iterator[Shown]:
    """A bar on a terminal's standard error; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield Shown(lambda _: None, lambda _: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("planning", total=1.0)

        def tell(progress: "Progress") -> None:
            bar.update(task, description=describe(progress))

        def tick(watch: "Watch") -> None:
            bar.update(task, completed=min(1.0, watch.elapsed / watch.seconds) if watch.seconds else 1.0)

        yield Shown(tell, tick)


def describe(progress: "Progress") -> str:
    """`12 steps (at least 9), 40 actions (at least 36)`."""
    parts = [
        f"{found} {name} (at least {least})" if found is not None else f"at least {least} {name}"
        for found, least, name in (
            (progress.steps, progress.bound_steps, "steps"),
            (progress.actions, progress.bound_actions, "actions"),
        )
    ]
    return ", ".join([*parts, progress.note] if progress.note else parts)
