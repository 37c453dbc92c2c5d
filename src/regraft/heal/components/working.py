"""One component's calls and its worker, at one host: what waits, what runs, what is remembered. Sans-IO.

A worker gets one call at a time. It reports points: moments at which its state, its tasks' progress and the
calls that have ended fit together. A point is stored before an answer leaves. A call whose worker dies or
does not end in time is answered with the reason and not tried again; others go on from the last point in a
new worker.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

import msgspec

from regraft.heal.components.calls import Memory
from regraft.heal.components.effects import Change, Effect, Freeze, Go, Kill, Load, Respond, Run
from regraft.heal.components.messages import Answered, Call, CallId, Image, Reply, Task

MOST_WAITING = 10_000
RETRY, LONGEST_RETRY = 0.05, 5.0
LOAD_SECONDS = 30.0
"""A process may have to be started first, on a busy machine."""
K = TypeVar("K")
V = TypeVar("V")


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """From a worker; None: no longer there. `frozen`: and there it stands."""

    done: list[tuple[CallId, Answered]] = []
    cells: dict[str, bytes | None] = {}
    tasks: list[tuple[CallId, Task | None]] = []
    frozen: bool = False


class Worker(Enum):
    NONE = "none"
    LOADING = "loading"
    STANDING = "standing"
    GOING = "going"


@dataclass
class Waiting:
    call: Call
    via: object


@dataclass
class Working:
    image: Image
    """As it came; what has changed since is in the fields below."""
    seconds: float
    """That a call may take, and a task between two points."""
    out: list[Effect]
    now: float
    worker: Worker = Worker.NONE
    cells: dict[str, bytes] = field(init=False)
    tasks: dict[CallId, Task] = field(init=False)
    memory: Memory = field(init=False)
    queue: deque[Waiting] = field(default_factory=deque)
    running: Waiting | None = None
    routes: dict[CallId, object] = field(default_factory=dict)
    """Where the answers of tasks go."""
    at: CallId | None = None
    """What the worker said it was doing last."""
    heard: float = 0.0
    failures: int = 0
    retry_at: float | None = None

    def __post_init__(self) -> None:
        self.cells = dict(self.image.cells)
        self.tasks = dict(self.image.tasks)
        self.memory = Memory(self.image.remembered, self.now)

    @property
    def tenure(self) -> str:
        return self.image.tenure

    def snapshot(self, tenure: str) -> Image:
        """To go on from elsewhere."""
        return msgspec.structs.replace(
            self.image,
            tenure=tenure,
            cells=dict(self.cells),
            remembered=self.memory.dump(),
            tasks=list(self.tasks.items()),
        )

    def copy(self, name: str, tenure: str) -> Image:
        """For a clone: state alone. What was asked of this one is not done twice."""
        image = self.image
        return Image(name=name, tenure=tenure, bundle=image.bundle, origin=image.name, cells=dict(self.cells))

    # Calls

    def called(self, call: Call, via: object, now: float) -> None:
        self.memory.heard(call.id.caller, call.answered, now)
        if self.memory.over(call.id):
            return
        if (answer := self.memory.answer(call.id)) is not None:
            self._respond(via, call.id, answer)
        elif call.id in self.tasks:
            self.routes[call.id] = via
        elif (same := self._known(call.id)) is not None:
            same.via = via
        elif len(self.queue) >= MOST_WAITING:
            self._respond(via, call.id, Answered(fault=f"{MOST_WAITING} calls wait already"))
        else:
            self.queue.append(Waiting(call, via))

    def _known(self, id: CallId) -> Waiting | None:
        if self.running is not None and self.running.call.id == id:
            return self.running
        return next((each for each in self.queue if each.call.id == id), None)

    def _respond(self, via: object, id: CallId, answer: Answered) -> None:
        self.out.append(Respond(via, Reply(id=id, answer=answer)))

    def send_on(self, place: str) -> None:
        """All that wait: the component is there now; empty: nowhere we know."""
        if self.running is not None:
            self.queue.appendleft(self.running)
        for each in self.queue:
            self.out.append(Respond(each.via, Reply(id=each.call.id, place=place)))
        for id, via in self.routes.items():
            self.out.append(Respond(via, Reply(id=id, place=place)))
        self.queue.clear()
        self.routes.clear()
        self.running = None

    def refuse_all(self, reason: str) -> None:
        """What waits is answered so, and not remembered: it has not been begun."""
        for each in self.queue:
            self._respond(each.via, each.call.id, Answered(fault=reason))
        self.queue.clear()

    # The worker

    def load(self, now: float) -> None:
        self.worker, self.heard, self.retry_at = Worker.LOADING, now, None
        self.at = None
        self.out.append(Load(self.snapshot(self.tenure)))

    def go(self, now: float) -> None:
        """It may run; if it has no worker it gets one first."""
        if self.worker is Worker.NONE:
            self.load(now)
        elif self.worker is Worker.STANDING:
            self.worker, self.heard = Worker.GOING, now
            self.out.append(Go(self.tenure))
            self.next(now)

    def next(self, now: float) -> None:
        if self.worker is Worker.GOING and self.running is None and self.queue:
            self.running = self.queue.popleft()
            self.heard = now
            call = self.running.call
            self.out.append(Run(self.tenure, call.id, call.method, call.arguments))

    def freeze(self, now: float) -> bool:
        """Whether a point is to be waited for; otherwise it stands already."""
        if self.worker is not Worker.GOING:
            return False
        self.out.append(Freeze(self.tenure))
        return True

    def kill(self) -> None:
        """What it was doing has not happened since the last point, and waits."""
        if self.worker is not Worker.NONE:
            self.out.append(Kill(self.tenure))
        self.worker = Worker.NONE
        if self.running is not None:
            self.queue.appendleft(self.running)
            self.running = None

    def point(self, point: Point, now: float) -> None:
        self.heard, self.failures = now, 0
        answers = dict(point.done)
        tasks = {**dict(point.tasks), **dict.fromkeys(answers.keys() & self.tasks.keys())}
        self._keep(answers, point.cells, tasks, now)
        if self.at in answers:
            self.at = None
        if point.frozen:
            self.worker, self.at = Worker.STANDING, None
            if self.running is not None:  # it came too late to be begun
                self.queue.appendleft(self.running)
                self.running = None

    def _keep(
        self,
        answers: dict[CallId, Answered],
        cells: dict[str, bytes | None],
        tasks: dict[CallId, Task | None],
        now: float,
    ) -> None:
        _apply(self.cells, cells)
        _apply(self.tasks, tasks)
        vias: list[tuple[object, CallId]] = []
        for id, answer in answers.items():
            self.memory.keep(id, answer, now)
            vias.append((self.routes.pop(id, None), id))
        if self.running is not None and (id := self.running.call.id) in answers.keys() | tasks.keys():
            if id in answers:
                vias.append((self.running.via, id))
            else:
                self.routes[id] = self.running.via
            self.running = None
        if answers or cells or tasks:
            floors = {id.caller: self.memory.floor(id.caller) for id in answers}
            self.out.append(Change(self.tenure, cells, tasks, answers, floors))
        for via, id in vias:
            if via is not None:
                self._respond(via, id, answers[id])

    def died(self, reason: str, now: float) -> None:
        """Whatever it was at is answered with the reason."""
        loading, self.worker = self.worker is Worker.LOADING, Worker.NONE
        culprit, self.at = self.at, None
        if loading:
            self.refuse_all(f"{self.image.name} does not start: {reason}")
        elif culprit is not None and (culprit in self.tasks or self._known(culprit) is not None):
            gone = {culprit: None} if culprit in self.tasks else {}
            self._keep({culprit: Answered(fault=reason)}, {}, dict(gone), now)
        if self.running is not None:
            self.queue.appendleft(self.running)
            self.running = None
        self.retry_at = now + min(LONGEST_RETRY, RETRY * 2**self.failures)
        self.failures += 1

    def overdue(self, now: float) -> bool:
        """It is busy and has said nothing for too long."""
        if self.worker is Worker.LOADING:
            return now - self.heard > max(self.seconds, LOAD_SECONDS)
        busy = self.worker is Worker.GOING and (self.running is not None or bool(self.tasks))
        return busy and now - self.heard > self.seconds


def _apply(held: dict[K, V], changes: Mapping[K, V | None]) -> None:
    for key, value in changes.items():
        if value is None:
            held.pop(key, None)
        else:
            held[key] = value
