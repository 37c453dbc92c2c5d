"""Hosts, workers and callers of the simulation of components (`components`): models around the real cores."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from regraft.components.effects import (
    Claim,
    Effect,
    Forget,
    Freeze,
    Go,
    Kill,
    Load,
    Look,
    Put,
    Respond,
    Run,
    Send,
    SendCode,
    SetRole,
    Stored,
    StorePoint,
    Tell,
    Unlist,
)
from regraft.components.messages import (
    Answered,
    Call,
    CallId,
    Image,
    Remembered,
    Reply,
    Task,
)
from regraft.components.resident import HostTimings
from regraft.components.work import Point

if TYPE_CHECKING:
    from tests.components.simulation import World

TIMINGS = HostTimings(freeze=0.5, ship=1.0, again=0.1, ask=0.3)
STEPS = 4
"""Of a task."""
pack = msgspec.msgpack.encode


class Worker:
    """Runs calls on a state that is a log: every effect of a call is one line of it."""

    def __init__(self, image: Image) -> None:
        self.log: list[str] = msgspec.msgpack.decode(image.cells.get("log", pack([])), type=list[str])
        self.tasks = {id: msgspec.msgpack.decode(task.progress, type=int) for id, task in image.tasks}
        self.going = False
        self.freezing = False
        self.busy = False

    def cells(self) -> dict[str, bytes | None]:
        return {"log": pack(self.log)}

    def progress(self) -> list[tuple[CallId, Task | None]]:
        return [(id, Task("task", b"", pack(step))) for id, step in self.tasks.items()]


class Host:
    """A core with a disk. What is not durable is lost in a crash, and so is what waits for it."""

    def __init__(self, world: "World", name: str) -> None:
        self.world, self.name = world, name
        self.disk: dict[str, Stored] = {}
        self.up = False
        self.lives = 0
        self.workers: dict[str, Worker] = {}
        self.bundles: set[str] = set()

    def start(self) -> None:
        self.up = True
        self.lives += 1
        self.core = self.world.make(self.name, str(self.lives), lambda bundle: 2.0, TIMINGS)
        self._waiting: list[Effect] = []
        self._syncing = False
        self.workers = {}
        self.perform(self.core.start(list(self.disk.values()), self.world.clock.now))
        self.later(0.05, self._tick)

    def called(self, call: Call, caller: "Caller") -> None:
        if self.up:
            self.perform(self.core.called(call, caller, self.now))

    def come_back(self) -> None:
        if not self.up:
            self.start()

    def crash(self) -> None:
        if self.up:
            self.up = False
            self.workers = {}
            self.world.outcome.crashes += 1

    def later(self, delay: float, action: Callable[[], None]) -> None:
        """In this life of the host only."""
        life = self.lives

        def act() -> None:
            if self.up and self.lives == life:
                action()

        self.world.clock.after(delay, act)

    def _tick(self) -> None:
        self.perform(self.core.tick(self.world.clock.now))
        self.later(0.05, self._tick)

    # The disk: effects in order, those after a store when it is durable

    def perform(self, effects: list[Effect]) -> None:
        self._waiting += effects
        self._continue()

    def _continue(self) -> None:
        while self._waiting and not self._syncing and self.up:
            effect = self._waiting.pop(0)
            if isinstance(effect, Put | StorePoint | SetRole | Forget):
                self._syncing = True
                self.later(self.world.rng.uniform(0.0005, 0.02), partial(self._synced, effect))
            else:
                self._act(effect)

    def _synced(self, effect: Put | StorePoint | SetRole | Forget) -> None:
        self._syncing = False
        match effect:
            case Put(image=image, role=role, sender=sender, version=version):
                self.disk[image.tenure] = Stored(image, role, sender, version)
            case SetRole(tenure=tenure, role=role):
                self.disk[tenure] = Stored(self.disk[tenure].image, role)
            case Forget(tenure=tenure):
                self.disk.pop(tenure, None)
            case StorePoint():
                stored = self.disk[effect.tenure]
                self.disk[effect.tenure] = replace(stored, image=changed(stored.image, effect))
        self._continue()

    def _act(self, effect: Effect) -> None:
        world, now = self.world, self.world.clock.now
        match effect:
            case Send(to=to, message=message):
                world.carry(self, to, message)
            case SendCode(to=to, bundle=bundle):
                world.carry_code(to, bundle)
            case Respond(via=via, reply=reply):
                assert isinstance(via, Caller)
                world.respond(via, reply)
            case Tell(order=order, refused=refused):
                world.told(order, refused)
            case Look(tenure=tenure, name=name):
                world.directory(self, tenure, lambda: world.entries.get(name), self.core.looked)
            case Claim(tenure=tenure, entry=entry, version=version):
                world.directory(self, tenure, partial(world.claim, entry, version), self.core.claimed)
            case Unlist(tenure=tenure, name=name, version=version):
                world.directory(self, tenure, partial(world.unlist, name, version), self.core.looked)
            case _:
                self._work(effect, now)

    # Workers

    def _work(self, effect: Effect, now: float) -> None:
        rng = self.world.rng
        match effect:
            case Load(image=image):
                worker = self.workers[image.tenure] = Worker(image)
                self.of(
                    worker,
                    image.tenure,
                    rng.uniform(0.002, 0.05),
                    lambda: self.core.loaded(image.tenure, self.now),
                )
            case Kill(tenure=tenure):
                self.workers.pop(tenure, None)
            case Go(tenure=tenure) | Freeze(tenure=tenure) | Run(tenure=tenure) if tenure not in self.workers:
                pass  # it has died, and the core knows or will
            case Go(tenure=tenure):
                self.workers[tenure].going = True
                self.workers[tenure].freezing = False
                self._step(tenure)
            case Freeze(tenure=tenure):
                self.workers[tenure].freezing = True
                self._maybe_frozen(tenure)
            case Run(tenure=tenure, id=id, method=method):
                worker = self.workers[tenure]
                worker.busy = True
                self.core.at(tenure, id, now)
                long = rng.choice((0.001, 0.001, 0.02, 1.0 if rng.random() < 0.05 else 0.001))
                self.of(worker, tenure, long, lambda: self._end(tenure, id, method))

    def _begun(self, tenure: str) -> list[Effect]:
        return self.core.loaded(tenure, self.now)

    @property
    def now(self) -> float:
        return self.world.clock.now

    def of(self, worker: Worker, tenure: str, delay: float, event: Callable[[], list[Effect]]) -> None:
        """An event of this worker, unless it has ended by then."""

        def act() -> None:
            if self.workers.get(tenure) is worker:
                self.perform(event())

        self.later(delay, act)

    def _end(self, tenure: str, id: CallId, method: str) -> list[Effect]:
        worker = self.workers[tenure]
        self.world.check_running(self, tenure)
        worker.busy = False
        if method == "task":
            worker.tasks[id] = 0
            point = Point(cells=worker.cells(), tasks=worker.progress())
            self._step(tenure)
        else:
            worker.log.append(f"{id.caller} {id.number}")
            point = Point(
                done=[(id, Answered(pack(len(worker.log))))], cells=worker.cells(), tasks=worker.progress()
            )
        effects = self.core.point(tenure, point, self.now)
        self._maybe_frozen(tenure)
        return effects

    def _step(self, tenure: str) -> None:
        """Tasks continue by themselves; a point is reported now and then."""
        worker = self.workers[tenure]
        if worker.going and worker.tasks:
            self.of(worker, tenure, self.world.rng.uniform(0.01, 0.1), lambda: self._stepped(tenure))

    def _stepped(self, tenure: str) -> list[Effect]:
        worker = self.workers[tenure]
        if not worker.going or not worker.tasks:
            return []
        self.world.check_running(self, tenure)
        id, step = next(iter(worker.tasks.items()))
        done: list[tuple[CallId, Answered]] = []
        worker.log.append(f"{id.caller} {id.number} step {step}")
        worker.tasks[id] = step + 1
        if step + 1 == STEPS:
            del worker.tasks[id]
            done = [(id, Answered(pack("done")))]
        self._step(tenure)
        if done or self.world.rng.random() < 0.3:
            return self.core.point(
                tenure, Point(done=done, cells=worker.cells(), tasks=worker.progress()), self.now
            )
        return []

    def _maybe_frozen(self, tenure: str) -> None:
        worker = self.workers.get(tenure)
        if worker is not None and worker.freezing and not worker.busy:
            worker.going = False
            point = Point(cells=worker.cells(), tasks=worker.progress(), frozen=True)
            self.of(worker, tenure, 0.001, lambda: self.core.point(tenure, point, self.now))

    def kill_worker(self) -> None:
        """As a fault of the component: whatever it does is answered with the reason."""
        if self.up and self.workers:
            tenure = self.world.rng.choice(sorted(self.workers))
            del self.workers[tenure]
            self.world.outcome.killed += 1
            self.perform(self.core.died(tenure, "killed", self.now))


def changed(image: Image, change: StorePoint) -> Image:
    """What the store holds after a point."""
    cells: dict[str, bytes | None] = {**image.cells, **change.cells}
    tasks: dict[CallId, Task | None] = {**dict(image.tasks), **change.tasks}
    remembered = dict(image.remembered)
    for id, answer in change.answers.items():
        before = remembered.get(id.caller, Remembered(0, {}))
        floor = max(before.floor, change.floors.get(id.caller, 0))
        answers = {number: each for number, each in before.answers.items() if number >= floor}
        remembered[id.caller] = Remembered(floor, {**answers, id.number: answer})
    return msgspec.structs.replace(
        image,
        cells={key: cell for key, cell in cells.items() if cell is not None},
        tasks=[(id, task) for id, task in tasks.items() if task is not None],
        remembered=remembered,
    )


class Caller:
    """Asks until it is answered, where the directory or a host says."""

    def __init__(self, world: "World", name: str) -> None:
        self.world, self.name = world, name
        self.count = 0
        self.open: dict[int, Call] = {}
        self._attempts: dict[int, int] = {}
        self.answers: dict[int, tuple[str, str, Answered]] = {}
        """By number: component, method, answer."""

    def call(self, name: str, method: str) -> None:
        self.count += 1
        self.open[self.count] = Call(
            id=CallId(self.name, self.count), answered=0, name=name, method=method, arguments=b""
        )
        self._send(self.count, "")

    def _send(self, number: int, place: str) -> None:
        if number not in self.open:
            return
        call = msgspec.structs.replace(self.open[number], answered=min(self.open))
        found = self.world.entries.get(call.name)
        place = place or (found.entry.place if found else "")
        if place in self.world.hosts and not self.world.lost():
            host = self.world.hosts[place]
            self.world.clock.after(self.world.delay(), partial(host.called, call, self))
        attempt = self._attempts[number] = self._attempts.get(number, 0) + 1
        self.world.clock.after(self.world.rng.uniform(0.3, 0.5), lambda: self._again(number, attempt))

    def _again(self, number: int, attempt: int) -> None:
        """Unless it has been sent since."""
        if self._attempts[number] == attempt:
            self._send(number, "")

    def replied(self, reply: Reply) -> None:
        number = reply.id.number
        if number not in self.open:
            return
        if reply.answer is None:
            self.world.clock.after(0.02, lambda: self._send(number, reply.place))
            return
        call = self.open.pop(number)
        self.answers[number] = call.name, call.method, reply.answer
        self.world.outcome.answered += 1
