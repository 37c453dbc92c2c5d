"""Coroutines that no event loop runs: what the core does step by step, with time and answers as arguments.

A step that needs the world awaits a `Request`; the shell gets it with a number and answers by that number.
Everything else that can be awaited is here: `sleep`, a `Signal`, another `Task`. The order in which tasks
continue depends on nothing but the order of the calls, so a simulation is repeated exactly.
"""

from collections import deque
from collections.abc import Callable, Coroutine, Generator
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Work = Coroutine[Any, Any, T]


class Request(Generic[T]):
    """What the shell has to find out or to do. `await` gives its answer, or raises the `RegraftError` that it
    failed with."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, T]:
        answer: T = yield self
        return answer


class Signal(Generic[T]):
    """A value that is given once. Tasks wait for it, with or without a time limit."""

    def __init__(self) -> None:
        self.value: T | None = None
        self.given = False
        self.waiting: list[Task[Any]] = []

    def give(self, value: T) -> None:
        if not self.given:
            self.value, self.given = value, True
            for task in self.waiting:
                task.resume(value)
            self.waiting.clear()

    def within(self, seconds: float | None = None) -> "_Until[T]":
        """`await signal.within(2.0)`: its value, or None if it has not been given in time."""
        return _Until(self, seconds)


class _Until(Generic[T]):
    def __init__(self, signal: Signal[T], seconds: float | None) -> None:
        self.signal, self.seconds = signal, seconds

    def __await__(self) -> Generator[Any, Any, T | None]:
        if self.signal.given:
            return self.signal.value
        answer: T | None = yield self
        return answer


def sleep(seconds: float) -> _Until[None]:
    return _Until(Signal(), seconds)


class Task(Generic[T]):
    """One coroutine. `over` is given when it has ended, with its result; None if it was cancelled."""

    def __init__(self, tasks: "Tasks", work: Work[T]) -> None:
        self.over: Signal[T] = Signal()
        self._tasks = tasks
        self._work = work
        self._turn = 0
        """Grows with each step: an answer to an earlier one, or its timer, comes too late."""
        self._request = 0

    @property
    def done(self) -> bool:
        return self.over.given

    def resume(self, value: object = None, fault: Exception | None = None) -> None:
        self._turn += 1
        self._tasks.ready.append((self, self._turn, value, fault))

    def cancel(self) -> None:
        if not self.done:
            self._turn += 1
            self._tasks.forget(self._request)
            self._work.close()
            self.over.give(None)  # type: ignore[arg-type]

    def step(self, turn: int, value: object, fault: Exception | None) -> None:
        if self.done or turn != self._turn:
            return
        self._request = 0
        try:
            wanted = self._work.throw(fault) if fault is not None else self._work.send(value)
        except StopIteration as end:
            self.over.give(end.value)
        except Exception as unexpected:
            self.over.give(None)  # type: ignore[arg-type]
            self._tasks.failed(unexpected)
        else:
            self._wait(wanted)

    def _wait(self, wanted: object) -> None:
        if isinstance(wanted, _Until):
            wanted.signal.waiting.append(self)
            if wanted.seconds is not None:
                self._tasks.after(wanted.seconds, self._too_late(wanted.signal, self._turn))
        else:
            assert isinstance(wanted, Request)
            self._request = self._tasks.ask(self, wanted)

    def _too_late(self, signal: Signal[Any], turn: int) -> Callable[[], None]:
        def expired() -> None:
            if turn == self._turn and not self.done:
                signal.waiting.remove(self)
                self.resume(None)

        return expired


class Tasks:
    """All tasks of one core. `asked` gets each request and its number, `failed` an exception that nothing
    caught."""

    def __init__(
        self,
        asked: Callable[[int, Request[Any]], None],
        forgotten: Callable[[int], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self.now = 0.0
        self.ready: deque[tuple[Task[Any], int, object, Exception | None]] = deque()
        self.failed = failed
        self._asked, self._forgotten = asked, forgotten
        self._number = 0
        self._waiting: dict[int, Task[Any]] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []

    def begin(self, work: Work[T]) -> Task[T]:
        task = Task(self, work)
        task.resume()
        return task

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        self._number += 1
        heappush(self._timers, (self.now + seconds, self._number, then))

    def ask(self, task: Task[Any], request: Request[Any]) -> int:
        self._number = number = self._number + 1
        self._waiting[number] = task
        self._asked(number, request)
        return number

    def forget(self, number: int) -> None:
        if self._waiting.pop(number, None) is not None:
            self._forgotten(number)

    def answered(self, number: int, answer: object, fault: Exception | None) -> None:
        """The answer to a request that was forgotten is ignored."""
        if (task := self._waiting.pop(number, None)) is not None:
            task.resume(answer, fault)

    def run(self, now: float) -> None:
        """Continue whatever can continue at this time."""
        self.now = now
        while True:
            while self.ready:
                task, turn, value, fault = self.ready.popleft()
                task.step(turn, value, fault)
            if not self._timers or self._timers[0][0] > now:
                return
            heappop(self._timers)[2]()

    def next_due(self) -> float | None:
        return self._timers[0][0] if self._timers else None
