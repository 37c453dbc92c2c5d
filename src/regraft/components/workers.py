"""The worker processes of a host. Spares are started ahead, because starting Python takes long.

On failure: when a worker ends, or sends something that is not a message, `died` is called once with the
reason. Workers end with their host: when their socket ends, and by the system if the host was killed.
"""

import asyncio
import contextlib
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from pathlib import Path

from regraft.components import pipe
from regraft.components.bundles import Bundles
from regraft.components.effects import Effect, Freeze, Go, Kill, Load, Run
from regraft.components.messages import Image
from regraft.model import BadInput
from regraft.processes.children import send
from regraft.wire.frames import BadFrame
from regraft.wire.streams import Stream, adopt

REFILL = 0.3
"""Seconds until a spare that was taken is replaced: a move should not compete with that for the processor."""


ENDING = 0.5
"""Seconds that a process may take to end after it has closed its socket."""


class _Pipe(Stream[pipe.Up, pipe.Down]):
    """The host's end of the socket. `over` gets the reason why the worker says no more, if it is known."""

    def __init__(self) -> None:
        super().__init__(pipe.HOST)
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.on_message: Callable[[pipe.Up], None] = lambda message: None

    def heard(self, message: pipe.Up) -> None:
        if isinstance(message, pipe.Broken):
            self._end(message.reason)
        elif not self.over.done():
            self.on_message(message)

    def garbled(self, fault: BadFrame) -> None:
        self._end(f"it sent {fault}")
        self.close()

    def ended(self) -> None:
        self._end("")

    def _end(self, reason: str) -> None:
        if not self.over.done():
            self.over.set_result(reason)


class WorkerProcess:
    """A spare process, until `begin` makes it the worker of a component."""

    def __init__(self, process: Process, pipe: _Pipe) -> None:
        self.process = process
        self._pipe = pipe
        self._ending: asyncio.Task[None] | None = None
        self._killed = False

    @classmethod
    async def spawn(cls, folder: Path) -> "WorkerProcess":
        ours, theirs = socket.socketpair()
        fd = theirs.fileno()
        command = (sys.executable, "-m", "regraft.components.worker", str(fd))
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, pass_fds=(fd,), cwd=folder
            )
        finally:
            theirs.close()
        return cls(process, await adopt(_Pipe, ours))

    def begin(self, begin: pipe.Begin, heard: Callable[[pipe.Up], None], died: Callable[[str], None]) -> None:
        self._pipe.on_message = heard
        self.say(begin)
        self._ending = asyncio.get_running_loop().create_task(self._end(died))

    def say(self, message: pipe.Down) -> None:
        self._pipe.send(message)

    def pause(self, paused: bool) -> None:
        """The system stops the process, with all threads that the component may have started."""
        send(self.process, signal.SIGSTOP if paused else signal.SIGCONT)

    def kill(self) -> None:
        """Neither `heard` nor `died` is called afterwards."""
        self._killed = True
        if self._ending is not None:
            self._ending.cancel()
        self._pipe.close()
        send(self.process, signal.SIGKILL)

    async def ended(self) -> None:
        self.kill()
        await self.process.wait()

    async def _end(self, died: Callable[[str], None]) -> None:
        reason = await self._pipe.over
        if not reason:  # its exit code says how it has ended, if it is ending
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ENDING):
                    await self.process.wait()
        send(self.process, signal.SIGKILL)
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


Said = Callable[[str, WorkerProcess, pipe.Up], None]
Died = Callable[[str, str], None]


class Workers:
    """The workers of one host, by tenure.

    `said(tenure, worker, message)` and `died(tenure, reason)` are called for the current worker of a
    component, never for an earlier one.
    """

    def __init__(self, id: str, folder: Path, bundles: Bundles, said: Said, died: Died, spares: int) -> None:
        self._id, self._folder, self._bundles = id, folder, bundles
        self._said, self._died = said, died
        self._spares = Spares(folder, spares)
        self._workers: dict[str, WorkerProcess] = {}
        self._loads: dict[str, asyncio.Task[None]] = {}

    async def start(self) -> None:
        (self._folder / "logs").mkdir(exist_ok=True)
        await self._spares.fill()

    async def close(self) -> None:
        for load in self._loads.values():
            load.cancel()
        await asyncio.gather(*self._loads.values(), return_exceptions=True)
        workers, self._workers = list(self._workers.values()), {}
        await asyncio.gather(self._spares.close(), *[each.ended() for each in workers])

    def kill_all(self) -> None:
        for worker in self._workers.values():
            worker.kill()

    def act(self, effect: Effect) -> None:
        """Does nothing for a worker that has just died; `died` tells the core."""
        match effect:
            case Load(image=image):
                self._loads[image.tenure] = asyncio.get_running_loop().create_task(self._load(image))
            case Kill(tenure=tenure):
                if (load := self._loads.pop(tenure, None)) is not None:
                    load.cancel()
                if (worker := self._workers.pop(tenure, None)) is not None:
                    worker.kill()
            case Go(tenure=tenure) if (worker := self._workers.get(tenure)) is not None:
                worker.pause(False)
                worker.say(pipe.Proceed())
            case Run(tenure=tenure) if (worker := self._workers.get(tenure)) is not None:
                worker.say(pipe.Do(id=effect.id, method=effect.method, arguments=effect.arguments))
            case Freeze(tenure=tenure) if (worker := self._workers.get(tenure)) is not None:
                worker.say(pipe.Halt())

    async def _load(self, image: Image) -> None:
        tenure = image.tenure
        try:
            manifest = self._bundles.opened(image.bundle).manifest
            worker = self._workers[tenure] = await self._spares.take()
        except (BadInput, OSError) as fault:
            self._died(tenure, str(fault))
            return
        begin = pipe.Begin(
            bundle=str(self._bundles.path(image.bundle).resolve()),
            manifest=manifest,
            name=image.name,
            place=self._id,
            origin=image.origin,
            cells=image.cells,
            tasks=image.tasks,
            log=str((self._folder / "logs" / f"{image.name}.log").resolve()),
        )
        worker.begin(
            begin,
            lambda message: self._heard(tenure, worker, message),
            lambda reason: self._ended(tenure, worker, reason),
        )

    def _heard(self, tenure: str, worker: WorkerProcess, message: pipe.Up) -> None:
        if self._workers.get(tenure) is worker:
            if isinstance(message, pipe.Begun) or (
                isinstance(message, pipe.Reached) and message.point.frozen
            ):
                worker.pause(True)
            self._said(tenure, worker, message)

    def _ended(self, tenure: str, worker: WorkerProcess, reason: str) -> None:
        if self._workers.get(tenure) is worker:
            del self._workers[tenure]
            self._died(tenure, reason)
