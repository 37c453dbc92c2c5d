"""The process that a component runs in: `python -m regraft.components.worker FD`, started by a host.

It waits as a spare until the host tells it which component to become. One thread does one thing at a time: a
call, or a step of a task. After each call the state is packed and compared field by field; what has changed
is reported as a point. A method that raises leaves the state as it was. A state that is not plain data, or is
too large, ends the process with the reason, and the host continues from the last point in a new one.
"""

import contextlib
import ctypes
import hashlib
import importlib
import inspect
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from regraft.components import pipe
from regraft.components.bundle import install_modules, read_bundle
from regraft.components.manifest import Limits, state_problem
from regraft.components.messages import Answered, CallFailed, CallId, Task
from regraft.components.work import Point
from regraft.model import BadInput

SLICE = 0.05
"""Seconds that one task runs before the next has its turn."""
REPORT = 0.25
"""Seconds between two reports of the progress of tasks."""
PDEATHSIG = 1
LONG_CALLER = 100
pack = msgspec.msgpack.Encoder().encode
unpack = msgspec.msgpack.Decoder().decode


@dataclass
class RunningTask:
    """A task in this process."""

    method: str
    arguments: bytes
    progress: dict[str, Any]
    calls: int
    generator: Iterator[None]
    reported: int
    """How many of its calls are in the last reported point."""


class Context:
    """What a component may ask of its host."""

    def __init__(self, runner: "Runner", begin: pipe.Begin, files: dict[str, bytes]) -> None:
        self.name, self.place, self.origin = begin.name, begin.place, begin.origin
        self._runner = runner
        self._files = files

    def resource(self, path: str) -> bytes:
        """A data file of the bundle."""
        return self._files[path]

    def call(self, name: str, method: str, *arguments: Any, **named: Any) -> Any:
        """Calls a method of any component by its name. Repeated after a crash, it is the same call."""
        answer = self._runner.call_out(name, method, pack((arguments, named)))
        if answer.fault:
            raise CallFailed(answer.fault)
        return unpack(answer.value)


class Runner:
    def __init__(self, channel: pipe.Channel, begin: pipe.Begin) -> None:
        self._channel = channel
        self._name = begin.name
        self._manifest = begin.manifest
        bundle = read_bundle(Path(begin.bundle).read_bytes(), begin.name)
        install_modules(bundle.files)
        self._cells = dict(begin.cells)
        self.state: dict[str, Any] = {key: unpack(cell) for key, cell in begin.cells.items()}
        module, _, entry = begin.manifest.entry.partition(":")
        made = getattr(importlib.import_module(module), entry)
        self._component = made(self.state, Context(self, begin, bundle.files))
        if reason := state_problem(self.state, begin.manifest.state):
            raise BadInput(begin.name, reason)
        self._tasks: dict[CallId, RunningTask] = {}
        self._at: CallId | None = None
        self._calls = 0
        self._due = 0.0
        for id, task in begin.tasks:
            self._begin_task(id, task)

    # The loop

    def run(self) -> NoReturn:
        going = False
        while True:
            if not going or not self._tasks or self._channel.pending():
                going = self._handle(self._channel.receive(), going)
            else:
                self._slice()

    def _handle(self, message: pipe.Down, going: bool) -> bool:
        match message:
            case pipe.Proceed():
                if cells := self._changed():  # set by its constructor
                    self._channel.send(pipe.Reached(point=Point(cells=cells)))
                return True
            case pipe.Do():
                self._do(message)
            case pipe.Halt():
                self._prepare_to_move()
                self._report([], frozen=True)
                return False
        return going

    def _prepare_to_move(self) -> None:
        self._at = None
        hook = getattr(self._component, "before_move", None)
        if hook is not None:
            try:
                hook()
            except Exception as fault:
                print(f"before_move: {_said(fault)}", file=sys.stderr)

    def _do(self, message: pipe.Do) -> None:
        if self._tasks:
            self._report([])  # so that the effects of this call can be undone
        self._now_at(message.id)
        self._calls = 0
        method = getattr(self._component, message.method, None)
        if message.method.startswith("_") or not inspect.ismethod(method):
            self._report([(message.id, Answered(fault=f"{self._name} has no method {message.method!r}"))])
            return
        try:
            if inspect.isgeneratorfunction(method):
                self._begin_task(message.id, Task(message.method, message.arguments, pack({})))
                self._report([])
                return
            arguments, named = unpack(message.arguments)
            answer = Answered(pack(method(*arguments, **named)))
        except Exception as fault:
            self.state.clear()
            self.state.update({key: unpack(cell) for key, cell in self._cells.items()})
            answer = Answered(fault=_said(fault))
        self._report([(message.id, answer)])

    def _now_at(self, id: CallId) -> None:
        if self._at != id:
            self._at = id
            self._channel.send(pipe.Executing(id=id))

    # Tasks

    def _begin_task(self, id: CallId, task: Task) -> None:
        """From its progress, which is all that it knows of its earlier steps."""
        progress = unpack(task.progress)
        arguments, named = unpack(task.arguments)
        generator = getattr(self._component, task.method)(progress, *arguments, **named)
        self._tasks[id] = RunningTask(
            task.method, task.arguments, progress, task.calls, generator, task.calls
        )

    def _slice(self) -> None:
        id, going = next(iter(self._tasks.items()))
        self._now_at(id)
        end = time.monotonic() + SLICE
        done: list[tuple[CallId, Answered]] = []
        try:
            while not done and time.monotonic() < end and not self._channel.pending():
                next(going.generator)
        except StopIteration as over:
            done = [(id, _answer(over.value))]
        except Exception as fault:
            done = [(id, Answered(fault=_said(fault)))]
        del self._tasks[id]
        if not done:
            self._tasks[id] = going  # to the end of the queue
        if done or time.monotonic() >= self._due:
            self._report(done)

    # Points

    def _report(self, done: list[tuple[CallId, Answered]], frozen: bool = False) -> None:
        cells = self._changed()
        tasks: list[tuple[CallId, Task | None]] = []
        for id, going in self._tasks.items():
            progress = _packed(going.progress, "progress")
            tasks.append((id, Task(going.method, going.arguments, progress, going.calls)))
            going.reported = going.calls
        self._channel.send(pipe.Reached(point=Point(done=done, cells=cells, tasks=tasks, frozen=frozen)))
        self._due = time.monotonic() + REPORT

    def _changed(self) -> dict[str, bytes | None]:
        if reason := state_problem(self.state, self._manifest.state):
            raise BadInput(self._name, reason)
        changed: dict[str, bytes | None] = {key: None for key in self._cells if key not in self.state}
        for key, value in self.state.items():
            packed = pack(value)
            if packed != self._cells.get(key):
                changed[key] = _packed(value, f"field {key!r} of the state")
                if type(key) is not str:
                    raise BadInput(self._name, f"{key!r} of the state is no name")
        for key, cell in changed.items():
            if cell is None:
                del self._cells[key]
            else:
                self._cells[key] = cell
        size, most = sum(map(len, self._cells.values())), self._manifest.limits.state_bytes
        if size > most:
            raise BadInput(self._name, f"a state of {size} bytes, where {most} are allowed")
        return changed

    # Calls of other components

    def call_out(self, name: str, method: str, arguments: bytes) -> Answered:
        """Numbered within the call or task that makes it, so that a repetition makes the same call."""
        if self._at is None:
            raise CallFailed("a component calls others only while it is called itself")
        going = self._tasks.get(self._at)
        if going is not None:
            going.calls += 1
            number, answered = going.calls, going.reported
        else:
            self._calls += 1
            number, answered = self._calls, 0
        caller = f"{self._name}:{self._at.caller}:{self._at.number}"
        if len(caller) > LONG_CALLER:
            caller = f"{self._name}:{hashlib.blake2b(caller.encode(), digest_size=16).hexdigest()}"
        out = pipe.CallOut(
            id=CallId(caller, number), answered=answered, name=name, method=method, arguments=arguments
        )
        self._channel.send(out)
        return self._channel.returned()


def _packed(value: Any, what: str) -> bytes:
    packed = pack(value)
    if unpack(packed) != value:
        raise BadInput("", f"{what} is not plain data (numbers, text, bytes, lists, dicts with text keys)")
    return packed


def _answer(value: Any) -> Answered:
    try:
        return Answered(pack(value))
    except Exception as fault:
        return Answered(fault=_said(fault))


def _said(fault: BaseException) -> str:
    text = " ".join(str(fault).split())[:500]
    return f"{type(fault).__name__}: {text}" if text else type(fault).__name__


def confine(limits: Limits) -> None:
    """Sets limits that cannot be lifted, before any line of the component runs."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory = pages * resource.getpagesize() + limits.memory_bytes
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def main(fd: int) -> None:
    with contextlib.suppress(OSError):  # the system ends it with its host, even in an endless loop
        ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = pipe.Channel(fd)
    begin = channel.receive()
    assert isinstance(begin, pipe.Begin)
    try:
        log = os.open(begin.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        confine(begin.manifest.limits)
        runner = Runner(channel, begin)
        channel.send(pipe.Begun())
        runner.run()
    except MemoryError:
        reason = f"more memory than the {begin.manifest.limits.memory_bytes >> 20} MiB that are allowed"
    except BadInput as fault:
        reason = str(fault)
    except BaseException as fault:
        reason = _said(fault)
    with contextlib.suppress(OSError, MemoryError):
        channel.send(pipe.Broken(reason=reason))
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
