"""Worker processes, from a host's side: one is always started ahead, since starting Python takes long.

On failure: a worker that ends, or says what is no message, is `died` with the reason, once. Workers end
with their host: by the end of their socket, and by the system when it was killed.
"""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from pathlib import Path

import msgspec

from regraft.heal.components import pipe

REFILL = 0.3
"""Seconds after which a spare that was taken is replaced: not while its successor is waited for."""


ENDING = 0.5
"""Seconds that a process which has closed its socket may take to end."""


class WorkerProcess:
    """A spare, and then the component that `begin` makes of it."""

    def __init__(self, process: Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.process = process
        self._reader, self._writer = reader, writer
        self._reading: asyncio.Task[None] | None = None
        self._killed = False

    @classmethod
    async def spawn(cls, folder: Path) -> "WorkerProcess":
        ours, theirs = socket.socketpair()
        fd = theirs.fileno()
        command = (sys.executable, "-m", "regraft.heal.components.worker", str(fd))
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, pass_fds=(fd,), cwd=folder
            )
        finally:
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        return cls(process, reader, writer)

    def begin(self, begin: pipe.Begin, heard: Callable[[pipe.Up], None], died: Callable[[str], None]) -> None:
        self.say(begin)
        self._reading = asyncio.get_running_loop().create_task(self._read(heard, died))

    def say(self, message: pipe.Down) -> None:
        self._writer.write(pipe.framed(message))

    def stand(self, still: bool) -> None:
        """Stopped by the system: threads that it may have stand as well."""
        self._signal(signal.SIGSTOP if still else signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        """Not by the process's own methods: those may take its exit code away from whoever waits for it."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, number)

    def kill(self) -> None:
        """Nothing more is heard of it."""
        self._killed = True
        if self._reading is not None:
            self._reading.cancel()
        self._writer.close()
        self._signal(signal.SIGKILL)

    async def ended(self) -> None:
        self.kill()
        await self.process.wait()

    async def _read(self, heard: Callable[[pipe.Up], None], died: Callable[[str], None]) -> None:
        reason = ""
        try:
            while True:
                (length,) = pipe.LENGTH.unpack(await self._reader.readexactly(pipe.LENGTH.size))
                if length > pipe.MOST_FRAME:
                    reason = f"it said {length} bytes at once, where {pipe.MOST_FRAME} are allowed"
                    break
                message: pipe.Up = pipe.UP.decode(await self._reader.readexactly(length))
                if isinstance(message, pipe.Broken):
                    reason = message.reason
                    break
                heard(message)
        except (asyncio.IncompleteReadError, OSError):
            pass
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            reason = "it said what is no message"
        if not reason:  # it says how it has ended, if that is under way
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ENDING):
                    await self.process.wait()
        self._signal(signal.SIGKILL)
        code = await self.process.wait()
        if not self._killed:
            died(reason or _end(code))


def _end(code: int) -> str:
    return (
        f"its process was ended by {signal.Signals(-code).name}"
        if code < 0
        else f"it ended by itself ({code})"
    )


class Spares:
    def __init__(self, folder: Path, number: int = 1) -> None:
        self._folder, self._number = folder, number
        self._ready: list[WorkerProcess] = []
        self._refilling: asyncio.Task[None] | None = None
        self._closed = False

    async def fill(self) -> None:
        while len(self._ready) < self._number and not self._closed:
            self._ready.append(await WorkerProcess.spawn(self._folder))

    async def take(self) -> WorkerProcess:
        while self._ready:
            spare = self._ready.pop()
            self._refill_later()
            if spare.process.returncode is None:
                return spare
        return await WorkerProcess.spawn(self._folder)

    def _refill_later(self) -> None:
        if self._refilling is None or self._refilling.done():
            self._refilling = asyncio.get_running_loop().create_task(self._refill())

    async def _refill(self) -> None:
        await asyncio.sleep(REFILL)
        await self.fill()

    async def close(self) -> None:
        self._closed = True
        if self._refilling is not None:
            self._refilling.cancel()
            await asyncio.gather(self._refilling, return_exceptions=True)
        await asyncio.gather(*[each.ended() for each in self._ready])
