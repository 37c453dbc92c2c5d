"""Modules of ours that run in processes of their own: started with a guard, asked to end, and then killed.

A module is asked to end by closing its standard input, so that it can end in order: a broker says goodbye to
its neighbours. Many modules that stop at once on few processors take long, so none is killed as long as one
after the other ends.
"""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

STOP_SECONDS = 10.0
"""If none of them ends for this long, those that are left hang, and are killed."""


class Running(Protocol):
    """A process that runs, or has run: one of asyncio's, or a forked one."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None:
        """None until it is known that the process has ended."""

    async def wait(self) -> object: ...


_Running = TypeVar("_Running", bound=Running)


async def start_module(module: str, *arguments: str) -> Process:
    """Start `python -m MODULE …`. We talk to it through its standard input and output; it ends when its input
    does, and also if we are killed or it hangs then. Ctrl-C in the terminal reaches us alone."""
    command = (sys.executable, "-m", "regraft.processes", module, *arguments)
    return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, start_new_session=True)


def send(process: Running, number: signal.Signals) -> None:
    """Send a signal, if the process still runs.

    Not by asyncio's own methods: they fail for a process that has ended, and they may collect its exit code,
    which the code that waits for the process then never gets."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


async def kill(process: Running) -> None:
    """End it as a crash does, without a goodbye, and wait until it has ended."""
    send(process, signal.SIGKILL)
    await process.wait()


def close_input(process: Process) -> None:
    """Ask a process that `start_module` has started to end."""
    if process.stdin is not None:
        process.stdin.close()


async def end_all(processes: Iterable[_Running], ask: Callable[[_Running], None]) -> None:
    """Ask all of them to end, wait, and kill those that hang."""
    ending = {asyncio.ensure_future(process.wait()): process for process in processes}
    for process in ending.values():
        ask(process)
    while ending:
        done, _ = await asyncio.wait(ending, timeout=STOP_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            del ending[task]
        for process in ending.values() if not done else ():
            send(process, signal.SIGKILL)
