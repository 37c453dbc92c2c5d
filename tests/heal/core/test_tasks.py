"""Coroutines without an event loop: they continue in order, at their time, and faults are reported."""

from dataclasses import dataclass

import pytest

from regraft.heal.core.tasks import Request, Signal, Task, Tasks, sleep
from regraft.model import RegraftError


@dataclass(frozen=True)
class Ask(Request[str]):
    what: str


class World:
    """The requests that were made, by number; the numbers that were forgotten; uncaught faults."""

    def __init__(self) -> None:
        self.asked: dict[int, Ask] = {}
        self.forgotten: list[int] = []
        self.faults: list[Exception] = []
        self.said: list[str] = []
        self.tasks = Tasks(self._asked, self.forgotten.append, self.faults.append)

    def _asked(self, number: int, request: Request[str]) -> None:
        assert isinstance(request, Ask)
        self.asked[number] = request

    async def ask(self, what: str) -> str:
        try:
            answer = await Ask(what)
        except RegraftError as fault:
            answer = f"no: {fault}"
        self.said.append(f"{what} {answer}")
        return answer

    def answer(self, what: str, answer: object = "yes", fault: Exception | None = None) -> None:
        (number,) = [number for number, asked in self.asked.items() if asked.what == what]
        self.tasks.answered(number, answer, fault)
        self.tasks.run(self.tasks.now)


@pytest.fixture
def world() -> World:
    return World()


def test_an_answer_or_a_fault_reaches_the_task_that_asked(world: World) -> None:
    first, second = (world.tasks.begin(world.ask(what)) for what in ("first", "second"))
    assert world.asked == {}, "nothing runs before its time"
    world.tasks.run(0.0)
    world.answer("second", fault=RegraftError("away"))
    assert (second.done, first.done) == (True, False)
    world.answer("first")
    assert world.said == ["second no: away", "first yes"]
    assert (first.over.value, second.over.value) == ("yes", "no: away")
    world.answer("first", "again")
    assert len(world.said) == 2, "an answer counts once"


def test_sleepers_wake_in_the_order_of_their_times(world: World) -> None:
    async def sleeper(seconds: float) -> None:
        await sleep(seconds)
        world.said.append(f"{seconds:g} at {world.tasks.now:g}")

    for seconds in (3.0, 1.0, 2.0):
        world.tasks.begin(sleeper(seconds))
    world.tasks.run(0.0)
    assert world.tasks.next_due() == 1.0
    world.tasks.run(0.5)
    assert world.said == []
    world.tasks.run(2.0)
    assert world.said == ["1 at 2", "2 at 2"]
    assert world.tasks.next_due() == 3.0
    world.tasks.run(7.0)
    assert world.tasks.next_due() is None


def test_a_signal_wakes_all_tasks_that_wait_and_those_that_come_later(world: World) -> None:
    signal: Signal[int] = Signal()

    async def waiter(name: str, seconds: float | None) -> None:
        world.said.append(f"{name} {await signal.within(seconds)}")

    world.tasks.begin(waiter("patient", None))
    world.tasks.begin(waiter("impatient", 1.0))
    world.tasks.begin(waiter("long", 5.0))
    world.tasks.run(0.0)
    world.tasks.run(1.0)
    assert world.said == ["impatient None"]
    signal.give(7)
    signal.give(8)
    world.tasks.begin(waiter("late", None))
    world.tasks.run(2.0)
    assert world.said == ["impatient None", "patient 7", "long 7", "late 7"]
    world.tasks.run(9.0)
    assert len(world.said) == 4, "the time of one that was woken is over"


def test_a_signal_that_is_given_when_the_time_ends_counts_once(world: World) -> None:
    signal: Signal[int] = Signal()

    async def waiter() -> None:
        world.said.append(str(await signal.within(1.0)))
        await sleep(1.0)
        world.said.append("awake")

    world.tasks.begin(waiter())
    world.tasks.run(0.0)
    signal.give(7)
    world.tasks.run(1.0)
    assert world.said == ["7"]
    world.tasks.run(2.0)
    assert world.said == ["7", "awake"]


def test_a_signal_that_comes_too_late_wakes_nobody_from_what_it_waits_for_now(world: World) -> None:
    signal: Signal[int] = Signal()

    async def waiter() -> None:
        world.said.append(str(await signal.within(1.0)))
        await sleep(1.0)
        world.said.append(f"awake at {world.tasks.now:g}")

    world.tasks.begin(waiter())
    world.tasks.run(0.0)
    world.tasks.run(1.0)
    signal.give(7)
    world.tasks.run(1.5)
    world.tasks.run(2.0)
    assert world.said == ["None", "awake at 2"]


def test_the_answer_to_a_cancelled_task_is_ignored_and_tasks_that_wait_for_it_continue(world: World) -> None:
    cancelled = world.tasks.begin(world.ask("first"))

    async def waiter(other: Task[str]) -> None:
        world.said.append(f"over: {await other.over.within()}")

    world.tasks.begin(waiter(cancelled))
    world.tasks.run(0.0)
    cancelled.cancel()
    cancelled.cancel()
    assert world.forgotten == list(world.asked)
    world.answer("first")
    assert world.said == ["over: None"]
    assert cancelled.done


def test_a_task_that_is_cancelled_before_it_begins_or_while_it_sleeps_does_nothing_more(world: World) -> None:
    async def sleeper() -> None:
        try:
            await sleep(1.0)
            world.said.append("awake")
        finally:
            world.said.append("tidied")

    never, asleep = world.tasks.begin(world.ask("never")), world.tasks.begin(sleeper())
    never.cancel()
    world.tasks.run(0.0)
    asleep.cancel()
    world.tasks.run(5.0)
    assert (world.asked, world.forgotten, world.said) == ({}, [], ["tidied"])


def test_an_uncaught_fault_is_reported_and_the_other_tasks_continue(world: World) -> None:
    async def broken() -> str:
        raise ValueError("a mistake")

    async def waiter(other: Task[str]) -> None:
        world.said.append(f"over: {await other.over.within()}")

    failing = world.tasks.begin(broken())
    world.tasks.begin(waiter(failing))
    world.tasks.run(0.0)
    assert [str(fault) for fault in world.faults] == ["a mistake"]
    assert (failing.done, world.said) == (True, ["over: None"])


def test_an_uncaught_fault_of_a_request_is_reported(world: World) -> None:
    async def careless() -> None:
        await Ask("first")

    world.tasks.begin(careless())
    world.tasks.run(0.0)
    world.answer("first", fault=RegraftError("away"))
    assert [str(fault) for fault in world.faults] == ["away"]
