"""Components that move: the real cores on virtual hosts, and what must never happen."""

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest
from tests.components.simulated_host import TIMINGS
from tests.components.simulation import run
from tests.diagrams import assert_drawn

from regraft.components import life
from regraft.components.answers import FORGET, MOST_CALLERS, RememberedAnswers
from regraft.components.core import HostCore
from regraft.components.effects import Effect, Put, Send, Stored, StorePoint, Tell
from regraft.components.life import TRANSITIONS, Life, Role
from regraft.components.messages import Answered, CallId, Image, Offer
from regraft.components.resident import Moving, Resident
from regraft.components.work import WORKER_TRANSITIONS, Point, WorkerState
from regraft.model import IllegalTransition

SEEDS = 300


def test_after_hundreds_of_runs_with_faults_there_is_one_owner_and_every_call_was_executed_once() -> None:
    moved = crashes = answered = 0
    for seed in range(SEEDS):
        outcome = run(seed)
        assert outcome.violations == [], seed
        moved, crashes, answered = (
            moved + outcome.moved,
            crashes + outcome.crashes,
            answered + outcome.answered,
        )
    assert moved > 3 * SEEDS  # else nothing was tried
    assert crashes > SEEDS
    assert answered > 10 * SEEDS


def test_the_same_seed_gives_the_same_run() -> None:
    assert run(7) == run(7)


class ClaimsByReading(HostCore):
    """A host that starts believes what it reads; a write of its earlier life may still come."""

    def _claim(self, resident: Resident, version: int) -> None:
        resident.version = version
        self._run(resident, resident.work.heard)


class ForgetsAnswers(HostCore):
    def _offer(self, resident: Resident, moving: Moving) -> None:
        image = msgspec.structs.replace(resident.work.snapshot(moving.tenure), remembered={})
        self._out.append(Send(moving.to, Offer(image=image, version=resident.version)))


class ForgetsTasks(HostCore):
    def _offer(self, resident: Resident, moving: Moving) -> None:
        image = msgspec.structs.replace(resident.work.snapshot(moving.tenure), tasks=[])
        self._out.append(Send(moving.to, Offer(image=image, version=resident.version)))


class RunsWhenLoaded(HostCore):
    """Without waiting for the directory."""

    def loaded(self, tenure: str, now: float) -> list[Effect]:
        effects = super().loaded(tenure, now)
        resident = self.residents.get(tenure)
        if resident is not None and resident.life is Life.ARRIVING:
            self._run(resident, now)
        return [*effects, *self._effects()]


class GuessesThatNothingHappened(HostCore):
    """When the directory does not answer, the component is taken to be still here."""

    def away(self, tenure: str, now: float) -> list[Effect]:
        resident = self.residents.get(tenure)
        if resident is not None and resident.life is Life.SWITCHING:
            resident.machine.become(Life.CLAIMING)
            self._run(resident, now)
            return self._effects()
        return super().away(tenure, now)


class BelievesTheSender(HostCore):
    """A cancelled arrival is dropped without a look into the directory."""

    def _look(self, resident: Resident) -> None:
        if resident.cancelled:
            self._leave(resident)
        else:
            super()._look(resident)


class AnswersBeforeItIsStored(HostCore):
    def point(self, tenure: str, point: Point, now: float) -> list[Effect]:
        return sorted(super().point(tenure, point, now), key=lambda effect: isinstance(effect, StorePoint))


class StoresNothingOnArrival(HostCore):
    def _offered(self, sender: str, offer: Offer, problem: str, now: float) -> None:
        super()._offered(sender, offer, problem, now)
        for i, effect in enumerate(self._out):
            if isinstance(effect, Put) and effect.role is Role.ARRIVING:
                self._out[i] = replace(effect, image=msgspec.structs.replace(effect.image, cells={}))


BUGS = [
    ClaimsByReading,
    ForgetsAnswers,
    ForgetsTasks,
    RunsWhenLoaded,
    GuessesThatNothingHappened,
    BelievesTheSender,
    AnswersBeforeItIsStored,
    StoresNothingOnArrival,
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: str(bug.__name__))
def test_a_planted_bug_is_caught(bug: Callable[..., HostCore]) -> None:
    assert any(_fails(seed, bug) for seed in range(200))


def _fails(seed: int, bug: Callable[..., HostCore]) -> bool:
    try:
        return bool(run(seed, bug).violations)
    except (IllegalTransition, KeyError):
        return True


def core() -> HostCore:
    return HostCore("h1", "1", lambda bundle: 1.0, TIMINGS)


def test_an_illegal_transition_says_how_it_came_to_that() -> None:
    hosts = core()
    hosts.create("c", "sha", {}, "order", 0.0)
    resident = hosts.named("c")
    assert resident is not None
    with pytest.raises(IllegalTransition, match="creating cannot become shipping"):
        resident.machine.become(Life.SHIPPING)


def test_every_state_can_be_reached_and_gone_is_the_end() -> None:
    assert TRANSITIONS[Life.GONE] == frozenset()
    assert TRANSITIONS.start.union(*TRANSITIONS.table.values()) == set(Life)


def test_the_drawings_are_those_of_the_tables() -> None:
    assert_drawn(life.__doc__, TRANSITIONS)
    assert_drawn(WorkerState.__doc__, WORKER_TRANSITIONS)


def test_a_point_of_a_worker_that_was_given_up_changes_nothing() -> None:
    """Its process may report until the Kill, which waits for the disk, is carried out."""
    hosts = core()
    hosts.create("c", "sha", {}, "order", 0.0)
    resident = hosts.named("c")
    assert resident is not None
    hosts.loaded(resident.tenure, 0.0)
    hosts.claimed(resident.tenure, 0, 0.0)
    hosts.died(resident.tenure, "killed", 1.0)
    assert resident.work.worker is WorkerState.NONE
    assert hosts.point(resident.tenure, Point(cells={"n": b"1"}, frozen=True), 1.0) == []
    assert resident.work.cells == {}


@pytest.mark.parametrize("order", ["migrate", "clone", "terminate"])
def test_an_order_for_what_is_not_here_is_refused_with_the_reason(order: str) -> None:
    arguments = {"migrate": ("c", "h2"), "clone": ("c", "h2", "d"), "terminate": ("c",)}[order]
    assert getattr(core(), order)(*arguments, "order", 0.0) == [Tell("order", refused="c is not at h1")]


def test_a_second_move_while_one_is_under_way_is_refused() -> None:
    hosts = core()
    image = Image(name="c", tenure="c/h1/0/1", bundle="sha")
    hosts.start([Stored(image, Role.MINE)], 0.0)
    assert hosts.migrate("c", "h2", "order", 0.0) == [Tell("order", refused="c is claiming at h1")]


def test_answers_are_forgotten_when_their_caller_has_them_and_late_doubles_are_known() -> None:
    memory = RememberedAnswers({}, 0.0)
    for number in (1, 2, 3):
        memory.keep(CallId("a", number), Answered(bytes([number])), 0.0)
    memory.heard("a", 3, 1.0)
    assert memory.answer(CallId("a", 2)) is None
    assert memory.over(CallId("a", 2))
    assert memory.answer(CallId("a", 3)) == Answered(b"\x03")
    again = RememberedAnswers(memory.dump(), 5.0)
    assert again.over(CallId("a", 2))
    assert again.answer(CallId("a", 3)) == Answered(b"\x03")


def test_callers_that_were_not_heard_of_for_long_are_forgotten_when_there_are_too_many() -> None:
    memory = RememberedAnswers({}, 0.0)
    for number in range(MOST_CALLERS):
        memory.keep(CallId(f"old{number}", 1), Answered(), 0.0)
    memory.heard("new", 1, FORGET + 1)
    assert list(memory.dump()) == ["new"]
