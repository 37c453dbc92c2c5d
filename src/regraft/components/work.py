"""The calls of one component at one host, and its worker: what waits, what runs, what is remembered. Sans-IO.

A worker gets one call at a time. It reports points: moments at which its state, the progress of its tasks and
the calls that have ended are consistent. A point is stored before an answer leaves. A call that does not end
in time, or whose worker dies, is answered with the reason and not tried again; the others continue from the
last point in a new worker.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

import msgspec

from regraft.components.answers import RememberedAnswers
from regraft.components.effects import Effect, Freeze, Go, Kill, Load, Respond, Run, StorePoint
from regraft.components.messages import Answered, Call, CallId, Image, Reply, Task
from regraft.model.transitions import Machine, Transitions

MOST_WAITING = 10_000
RETRY, LONGEST_RETRY = 0.05, 5.0
LOAD_SECONDS = 30.0
"""The time limit of loading: a process may have to be started first, on a busy machine."""
K = TypeVar("K")
V = TypeVar("V")


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's report of what has changed; None: deleted. `frozen`: the worker pauses there."""

    done: list[tuple[CallId, Answered]] = []
    cells: dict[str, bytes | None] = {}
    tasks: list[tuple[CallId, Task | None]] = []
    frozen: bool = False


class WorkerState(Enum):
    """The process of a component, as its host sees it.

    ● ──▶ NONE ──load──▶ LOADING ──loaded──▶ PAUSED ──go──▶ ACTIVE
           ▲                │                ▲ │             │ │
           │                │                └─┼─frozen──────┘ │
           │                │                  │               │
           └────────────────┴──────────────────┴─died, killed──┘
    """

    NONE = "none"
    LOADING = "loading"
    PAUSED = "paused"
    ACTIVE = "active"


_W = WorkerState
WORKER_TRANSITIONS = Transitions(
    {_W.NONE},
    {
        _W.NONE: {_W.LOADING},
        _W.LOADING: {_W.PAUSED, _W.NONE},
        _W.PAUSED: {_W.ACTIVE, _W.NONE},
        _W.ACTIVE: {_W.PAUSED, _W.NONE},
    },
)


@dataclass
class Waiting:
    call: Call
    via: object


@dataclass
class Work:
    image: Image
    """The component as it came; the fields below hold what has changed since."""
    seconds: float
    """The time limit of a call, and of a task between two points."""
    out: list[Effect]
    now: float
    machine: Machine[WorkerState] = field(init=False)
    cells: dict[str, bytes] = field(init=False)
    tasks: dict[CallId, Task] = field(init=False)
    memory: RememberedAnswers = field(init=False)
    queue: deque[Waiting] = field(default_factory=deque)
    running: Waiting | None = None
    routes: dict[CallId, object] = field(default_factory=dict)
    """Where the answers of tasks go."""
    at: CallId | None = None
    """The call that the worker says it is executing."""
    heard: float = 0.0
    failures: int = 0
    retry_at: float | None = None

    def __post_init__(self) -> None:
        self.machine = Machine(WORKER_TRANSITIONS, WorkerState.NONE, f"the worker of {self.tenure}")
        self.cells = dict(self.image.cells)
        self.tasks = dict(self.image.tasks)
        self.memory = RememberedAnswers(self.image.remembered, self.now)

    @property
    def worker(self) -> WorkerState:
        return self.machine.state

    @property
    def tenure(self) -> str:
        return self.image.tenure

    def snapshot(self, tenure: str) -> Image:
        """All of it, to continue at another host or in a new worker."""
        return msgspec.structs.replace(
            self.image,
            tenure=tenure,
            cells=dict(self.cells),
            remembered=self.memory.dump(),
            tasks=list(self.tasks.items()),
        )

    def copy(self, name: str, tenure: str) -> Image:
        """For a clone: the state alone, so that no call of the original is executed twice."""
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
        """Tells all waiting callers that the component is at `place`; empty: at an unknown place."""
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
        """Answers all waiting calls. The answers are not remembered: the calls have not begun."""
        for each in self.queue:
            self._respond(each.via, each.call.id, Answered(fault=reason))
        self.queue.clear()

    # The worker

    def load(self, now: float) -> None:
        self.machine.become(WorkerState.LOADING)
        self.heard, self.retry_at, self.at = now, None, None
        self.out.append(Load(self.snapshot(self.tenure)))

    def loaded(self) -> None:
        self.machine.become(WorkerState.PAUSED)

    def go(self, now: float) -> None:
        """The component may run; if it has no worker, it gets one first."""
        if self.worker is WorkerState.NONE:
            self.load(now)
        elif self.worker is WorkerState.PAUSED:
            self.machine.become(WorkerState.ACTIVE)
            self.heard = now
            self.out.append(Go(self.tenure))
            self.next(now)

    def next(self, now: float) -> None:
        if self.worker is WorkerState.ACTIVE and self.running is None and self.queue:
            self.running = self.queue.popleft()
            self.heard = now
            call = self.running.call
            self.out.append(Run(self.tenure, call.id, call.method, call.arguments))

    def freeze(self, now: float) -> bool:
        """Whether the worker will report a frozen point; otherwise there is nothing to wait for."""
        if self.worker is not WorkerState.ACTIVE:
            return False
        self.out.append(Freeze(self.tenure))
        return True

    def kill(self) -> None:
        """Whatever it has done since its last point has not happened; its call waits again."""
        if self.worker is not WorkerState.NONE:
            self.machine.become(WorkerState.NONE)
            self.out.append(Kill(self.tenure))
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
            self.machine.become(WorkerState.PAUSED)
            self.at = None
            if self.running is not None:  # the worker paused before it read this call
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
            self.out.append(StorePoint(self.tenure, cells, tasks, answers, floors))
        for via, id in vias:
            if via is not None:
                self._respond(via, id, answers[id])

    def died(self, reason: str, now: float) -> None:
        """The call that it was executing is answered with the reason."""
        loading = self.worker is WorkerState.LOADING
        self.machine.become(WorkerState.NONE)
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
        """It is busy and has reported nothing for too long."""
        if self.worker is WorkerState.LOADING:
            return now - self.heard > max(self.seconds, LOAD_SECONDS)
        busy = self.worker is WorkerState.ACTIVE and (self.running is not None or bool(self.tasks))
        return busy and now - self.heard > self.seconds


def _apply(held: dict[K, V], changes: Mapping[K, V | None]) -> None:
    for key, value in changes.items():
        if value is None:
            held.pop(key, None)
        else:
            held[key] = value
