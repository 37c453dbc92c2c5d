"""Processes forked from one that has loaded all modules: 24 brokers start in seconds, not minutes.

The standard library's fork server does the forking. A child talks to us through a socket that is its standard
input and output, and stops when our end of it closes. No child outlives us, however we end
(`processes.orphans`).
"""

import asyncio
import contextlib
import multiprocessing
import os
import socket
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from regraft.processes.children import end_all
from regraft.processes.orphans import end_with_parent

PRELOADED = ["__main__", "regraft.demo.children", "regraft.demo.preloaded"]
LOOK_SECONDS = 0.05
LINE_BYTES = 2**24


class Forked:
    """A running child: its process id, the lines that it writes, and a writer to its standard input."""

    def __init__(self, process: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.pid: int = process.pid
        self.lines = reader
        self.writer = writer
        self._process = process

    @property
    def returncode(self) -> int | None:
        """None while it runs."""
        code: int | None = self._process.exitcode
        return code

    async def wait(self) -> None:
        # Polling, not a thread for each: there are more processes than threads in the pool.
        while self.returncode is None:
            await asyncio.sleep(LOOK_SECONDS)

    def end_input(self) -> None:
        """Ask it to end. What it still writes can be read."""
        with contextlib.suppress(OSError, RuntimeError):
            self.writer.write_eof()

    async def stop(self) -> None:
        await stop_all([self])


async def stop_all(processes: Collection[Forked]) -> None:
    await end_all(processes, Forked.end_input)
    for process in processes:
        process.writer.close()


class ForkServer:
    """`warm` loads what children need; after that, `start` takes milliseconds."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)

    async def warm(self) -> None:
        from multiprocessing.forkserver import ensure_running  # noqa: PLC0415

        await asyncio.to_thread(ensure_running)

    async def start(self, target: Callable[..., None], log: Path, *arguments: Any) -> Forked:
        """Run `target(*arguments)` in a process of its own, with its standard error in the file `log`."""
        ours, theirs = socket.socketpair()
        process = self._context.Process(target=child, args=(theirs, log, target, *arguments), daemon=True)
        try:
            await asyncio.to_thread(process.start)
        finally:
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_BYTES)
        return Forked(process, reader, writer)


def child(own: socket.socket, log: Path, target: Callable[..., None], *arguments: Any) -> None:
    """What the new process runs."""
    end_with_parent()
    os.setsid()  # Ctrl-C in the terminal must reach only the command, which then stops its children
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 2)
    sys.stdin = os.fdopen(os.dup(own.fileno()), "r", encoding="utf-8")
    sys.stdout = os.fdopen(os.dup(own.fileno()), "w", encoding="utf-8")
    own.close()
    target(*arguments)
