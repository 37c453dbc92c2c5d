"""Running a planner or a design so that a person can watch it, or stop it early and keep what it has found.

The work runs in a thread of its own: solvers spend seconds in native code, where Python could not answer
Ctrl-C. The first Ctrl-C tells the `Watch` to stop, and the planner returns its best plan so far; the second
gives up on it.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import click

from regraft.cli.printing import progress_bar

if TYPE_CHECKING:
    import asyncio

    from regraft.plan.watch import Progress, Watch

T = TypeVar("T")
THREAD = "planner"
"""The name of the thread, by which `planner_is_running` finds it."""


def planner_is_running() -> bool:
    return any(thread.name == THREAD for thread in threading.enumerate())


@dataclass(frozen=True)
class Watched(Generic[T]):
    """What the work returned, how long it took, and whether a person ended it early."""

    result: T
    seconds: float
    interrupted: bool


def run_watched(work: "Callable[[Watch], T]", seconds: float, quiet: bool = False) -> Watched[T]:
    """Run the work with a time limit of `seconds`; its exceptions are raised here."""
    from regraft.plan.watch import Watch

    outcome: Future[T] = Future()
    with progress_bar("planning", quiet) as update:
        watch = Watch(seconds, report=lambda progress: update(description=describe(progress)))

        def run() -> None:
            try:
                outcome.set_result(work(watch))
            except BaseException as fault:  # raised again in the thread that waits
                outcome.set_exception(fault)

        with _stopped_by_interrupt(watch):
            threading.Thread(target=run, name=THREAD, daemon=True).start()
            while not outcome.done():
                _wait(outcome)
                update(completed=min(1.0, watch.elapsed / watch.seconds) if watch.seconds else 1.0)
        elapsed = watch.elapsed
    return Watched(outcome.result(), elapsed, watch.stopped)


def _wait(outcome: Future[T]) -> None:
    try:
        outcome.exception(timeout=0.1)
    except TimeoutError:
        return


def stopped_by_signal() -> "asyncio.Event":
    """An event that Ctrl-C or SIGTERM sets; for commands that run in an event loop until they are stopped."""
    import asyncio

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


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
