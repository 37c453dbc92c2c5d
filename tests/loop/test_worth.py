"""Whether a change is worth it: memory, prices, and the limits of what the loop does by itself."""

from dataclasses import dataclass

import msgspec
import pytest

from regraft.loop.budget import HOUR, outside_limits_reason, still_counted, used
from regraft.loop.hysteresis import (
    buffered,
    costs_too_much,
    pays_back_after,
    price,
    required_gain,
    still_remembered,
    undone,
)
from regraft.loop.maintenance import is_open, slot
from regraft.loop.policy import Policy
from regraft.loop.values import Candidate, Planned, RememberedChange, Spent, Window
from regraft.model import Action, Ends, Plan
from regraft.testing.loop_world import compared

WINDOW = Window(id="w", start=100.0, end=160.0, publications=500)
CANDIDATE = Candidate(
    goal="g",
    initial="t",
    epoch=1,
    method="test",
    added=(("a", "b"), ("c", "d")),
    removed=(("e", "f"), ("g", "h")),
    window="w",
    comparison=compared(0.3),
    saved=100.0,
)


def planned(actions: int, buffered: float = 0.0) -> Planned:
    return Planned(
        plan="p", initial="t", goal="g", epoch=1, planner="test", steps=2, actions=actions, buffered=buffered
    )


def change(added: tuple[Ends, ...], removed: tuple[Ends, ...], at: float = 0.0) -> RememberedChange:
    return RememberedChange(at=at, added=added, removed=removed)


@pytest.mark.parametrize(
    ("remembered", "expected"),
    [
        (change((("e", "f"), ("g", "h")), (("a", "b"), ("c", "d"))), 1),  # all of it
        (change((("e", "f"), ("x", "y")), (("a", "b"), ("v", "w"))), 1),  # just half of it
        (change((("e", "f"), ("x", "y")), (("t", "u"), ("v", "w"))), 0),  # a quarter
        (change((("e", "f"),), ()), 1),
        (change((("x", "y"),), (("a", "b"),)), 1),
        (change((("x", "y"), ("v", "w")), (("a", "b"),)), 0),
        (change((("a", "b"),), (("e", "f"),)), 0),  # the same again
        (change((), ()), 0),
    ],
)
def test_a_change_is_undone_by_a_candidate_that_takes_half_of_it_back(
    remembered: RememberedChange, expected: int
) -> None:
    assert undone((remembered,), CANDIDATE) == expected
    assert undone((remembered, remembered), CANDIDATE) == 2 * expected


def test_every_change_undone_doubles_the_gain_that_is_needed() -> None:
    back = change(CANDIDATE.removed, CANDIDATE.added)
    policy = Policy(least_gain=0.1)
    assert [required_gain((back,) * times, CANDIDATE, policy) for times in range(4)] == [0.1, 0.2, 0.4, 0.8]


def test_a_change_is_forgotten_when_its_time_is_over() -> None:
    memory = tuple(change((), (), at) for at in (10.0, 20.0, 30.0))
    assert still_remembered(memory, 50.0, Policy(memory_seconds=30.0)) == memory[2:]
    assert still_remembered(memory, 49.0, Policy(memory_seconds=30.0)) == memory[1:]


def test_actions_and_messages_that_wait_have_their_prices() -> None:
    policy = Policy(action_price=7.0, buffered_price=3.0, payback_windows=2.0)
    made = planned(5, 10.0)
    assert price(made, policy) == 65.0
    assert pays_back_after(made, CANDIDATE, WINDOW, policy) == 0.65 * 60.0
    for saved in (0.0, -5.0):
        none = msgspec.structs.replace(CANDIDATE, saved=saved)
        assert pays_back_after(made, none, WINDOW, policy) is None
    assert pays_back_after(made, msgspec.structs.replace(CANDIDATE, saved=0.5), WINDOW, policy) == 7800.0


def test_a_change_may_cost_what_it_saves_and_no_more() -> None:
    policy = Policy(action_price=50.0, buffered_price=1.0, payback_windows=2.0)
    assert costs_too_much(planned(4), CANDIDATE, WINDOW, policy) is None
    assert costs_too_much(planned(4, 2.0), CANDIDATE, WINDOW, policy) == (
        "it costs 202 (4 actions, 2 messages that wait), and saves 200 in 2 windows"
    )
    dear = planned(99)
    mends = msgspec.structs.replace(CANDIDATE.comparison, mends=True)
    other = msgspec.structs.replace(CANDIDATE.comparison, improves="balance")
    for comparison in (mends, other):
        free = msgspec.structs.replace(CANDIDATE, comparison=comparison)
        assert costs_too_much(dear, free, WINDOW, policy) is None
    assert costs_too_much(dear, msgspec.structs.replace(CANDIDATE, saved=0.0), WINDOW, policy) is None


@dataclass
class _Steps:
    steps: tuple[tuple[Action, ...], ...]


def test_messages_wait_on_links_that_are_removed_and_on_no_others() -> None:
    rates = {("a", "b"): 4.0, ("c", "d"): 8.0}
    policy = Policy(action_seconds=0.25)

    def waiting(*actions: Action) -> float:
        plan: Plan = _Steps((actions[:1], actions[1:]))  # type: ignore[assignment]
        return buffered(plan, rates, policy)

    assert waiting(Action("shift", ("a", "b", "c"))) == 1.0
    assert waiting(Action("unlink", ("d", "c"))) == 2.0
    assert waiting(Action("detach", ("x", "y"))) == 1.5
    assert waiting(Action("append", ("a", "b"))) == 0.0
    assert waiting(Action("link", ("a", "b"))) == 0.0
    assert waiting(Action("shift", ("a", "b", "c")), Action("unlink", ("c", "d"))) == 3.0


def test_an_hour_that_is_over_counts_no_more() -> None:
    spent = (Spent(at=0.0, actions=4), Spent(at=1.0, actions=2), Spent(at=5.0, actions=1))
    assert still_counted(spent, HOUR) == spent[1:]
    assert used(spent, HOUR) == (3, 2)
    assert used((), HOUR) == (0, 0)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({}, None),
        ({"max_actions": 5}, None),
        ({"max_actions": 4}, "it has 5 actions, and at most 4 are allowed without asking"),
        ({"actions_per_hour": 8}, None),
        ({"actions_per_hour": 7}, "it has 5 actions, and the budget of this hour has 4 left"),
        ({"actions_per_hour": 2}, "it has 5 actions, and the budget of this hour has 0 left"),
        ({"transformations_per_hour": 3}, None),
        ({"transformations_per_hour": 2}, "the limit of 2 transformations in an hour is reached"),
        (
            {"maintenance": (slot("02:00-03:00"), slot("05:00-06:00"))},
            "it is outside the maintenance windows (02:00-03:00, 05:00-06:00 UTC)",
        ),
        ({"maintenance": (slot("00:00-02:00"),)}, None),
    ],
)
def test_what_the_loop_may_do_by_itself(limits: dict[str, object], reason: str | None) -> None:
    spent = (Spent(at=0.0, actions=90), Spent(at=1.0, actions=1), Spent(at=2.0, actions=2))
    found = outside_limits_reason(planned(5), spent, Policy(**limits), HOUR)  # type: ignore[arg-type]
    assert found == reason


def test_a_night_is_open_from_its_first_minute_to_its_last() -> None:
    thursday, hour = 0.0, 3600.0  # 1970-01-01
    night = (slot("Thu 22:00-04:00"),)
    assert [is_open(night, thursday + at) for at in (22 * hour - 1, 22 * hour, 28 * hour - 1, 28 * hour)] == [
        False,
        True,
        True,
        False,
    ]
    assert not is_open(night, thursday + 3 * hour)  # of Wednesday's night
    assert not is_open(night, thursday + 46 * hour)  # Friday's
