"""Operations as preconditions and effects."""

import pytest

from regraft.plan.operations import (
    applicable,
    conn,
    eq,
    goal_state,
    ground,
    initial_state,
    rem,
    result,
)
from regraft.plan.problem import Problem

# IPITT Figure 1, with its brokers 1..4 as 0..3: 4 moves from 2 to 3.
FIGURE_1 = Problem(tuple("1234"), frozenset({(0, 1), (0, 2), (1, 3)}), frozenset({(0, 1), (0, 2), (2, 3)}))


def test_the_states_of_figure_1_are_those_the_seed_prints() -> None:
    assert initial_state(FIGURE_1) == {conn(0, 1), conn(0, 2), conn(1, 3), rem(1, 3)}
    assert goal_state(FIGURE_1) == {conn(0, 1), conn(0, 2), conn(2, 3)}


def test_shift_4_2_1_leads_to_the_state_that_the_seed_prints() -> None:
    shift = ground("shift", (3, 1, 0), FIGURE_1.goal)
    assert applicable(initial_state(FIGURE_1), shift)
    s1 = result(initial_state(FIGURE_1), shift)
    assert s1 == {conn(0, 1), conn(0, 2), conn(0, 3), rem(0, 3)}
    assert result(s1, ground("shift", (3, 0, 2), FIGURE_1.goal)) == goal_state(FIGURE_1)


def test_a_link_has_no_direction_and_conn_is_not_rem() -> None:
    assert conn(2, 5) == conn(5, 2)
    assert conn(2, 5) != rem(2, 5)


@pytest.mark.parametrize(
    ("shift", "why"),
    [
        ((0, 1, 3), "0-1 is in the goal, so it is not removable"),
        ((3, 1, 2), "the guard 1-2 is not there"),
        ((3, 0, 1), "3-0 is not there"),
    ],
)
def test_a_shift_is_refused_without_its_preconditions(shift: tuple[int, int, int], why: str) -> None:
    assert not applicable(initial_state(FIGURE_1), ground("shift", shift, FIGURE_1.goal)), why


@pytest.mark.parametrize("brokers", [(1, 1, 2), (1, 2, 2), (1, 2, 1)])
def test_a_shift_takes_three_distinct_brokers(brokers: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="distinct"):
        ground("shift", brokers, frozenset())


def test_a_new_link_is_removable_unless_the_goal_has_it() -> None:
    assert ground("shift", (3, 1, 0), FIGURE_1.goal).add == {conn(3, 0), rem(3, 0)}
    assert ground("shift", (3, 0, 2), FIGURE_1.goal).add == {conn(3, 2)}


def test_append_makes_a_broker_and_detach_takes_it_away() -> None:
    before = frozenset({eq(0)})
    append, detach = ground("append", (1, 0), frozenset()), ground("detach", (1, 0), frozenset())
    assert not applicable(before, detach)
    grown = result(before, append)
    assert grown == {eq(0), eq(1), conn(0, 1), rem(0, 1)}
    assert not applicable(grown, append)
    assert result(grown, detach) == before
