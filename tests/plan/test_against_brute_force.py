"""Planners against the oracle that tries every step from every tree, on all small trees.

A pair of trees is the same task whatever the brokers' numbers are. So one goal of each shape, with
every labelled tree as the initial one, stands for all pairs.
"""

from itertools import product
from random import Random

import pytest

from regraft.model import Infeasible, Limits
from regraft.plan import PLANNERS
from regraft.plan.problem import Found, Problem, pair
from regraft.plan.watch import Watch
from regraft.testing.brute_force import Front, brute_force
from regraft.testing.trees import Tree, all_trees, tree_shapes

IDS = tuple("abcdefg")
EXACT = Limits(time_limit=60)


def problem(initial: Tree, goal: Tree) -> Problem:
    return Problem(IDS[: len(goal) + 1], initial, goal)


def tasks(size: int, count: int | None = None) -> list[Problem]:
    """All tasks on this many brokers, or a fixed sample of them."""
    found = [problem(initial, goal) for goal, initial in product(tree_shapes(size), all_trees(size))]
    return found if count is None else Random(size).sample(found, count)


def answer(planner: str, task: Problem, limits: Limits, seconds: float = 60) -> Found | Infeasible:
    return PLANNERS[planner](task, limits, Watch(seconds))


def size_of(found: Found) -> tuple[int, int]:
    return len(found.steps), sum(map(len, found.steps))


def agrees(task: Problem, limits: Limits) -> bool:
    """The exact planner finds the oracle's best and proves it, or finds no plan where there is none."""
    front = brute_force(task, limits)
    found = answer("exact", task, limits)
    if isinstance(found, Infeasible):
        return not front
    best = front[-1] if limits.minimise == "actions" else front[0]
    return size_of(found) == best == found.bounds


def test_there_are_as_many_trees_as_cayley_says() -> None:
    assert [len(set(all_trees(size))) for size in range(1, 7)] == [1, 1, 3, 16, 125, 1296]
    assert [len(tree_shapes(size)) for size in range(2, 8)] == [1, 1, 2, 3, 6, 11]


def links(*pairs: tuple[int, int]) -> Tree:
    return frozenset(pair(*ends) for ends in pairs)


def test_the_oracle_knows_ipitts_example() -> None:
    """IPITT Figure 1: broker 4 goes from 2 over 1 to 3."""
    initial, goal = links((0, 1), (0, 2), (1, 3)), links((0, 1), (0, 2), (2, 3))
    assert brute_force(problem(initial, goal)) == ((2, 2),)


@pytest.mark.parametrize(
    ("limits", "front"),
    [
        (Limits(), ((2, 4), (3, 3))),
        (Limits(exclusive=True), ((3, 3),)),
        (Limits(max_degree=3), ((3, 3),)),
        (Limits(max_degree=2), ()),
    ],
)
def test_the_oracle_weighs_steps_against_actions_within_the_limits(limits: Limits, front: Front) -> None:
    initial, goal = links((0, 1), (1, 2), (2, 3), (3, 4)), links((0, 2), (0, 3), (0, 4), (1, 2))
    assert brute_force(problem(initial, goal), limits) == front


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("minimise", ["steps", "actions"])
def test_the_exact_planner_is_right_on_all_pairs_of_trees(size: int, minimise: str) -> None:
    limits = Limits(minimise=minimise, time_limit=60)  # type: ignore[arg-type]
    assert [task for task in tasks(size) if not agrees(task, limits)] == []


@pytest.mark.parametrize("minimise", ["steps", "actions"])
def test_the_exact_planner_is_right_on_six_brokers(minimise: str) -> None:
    limits = Limits(minimise=minimise, time_limit=60)  # type: ignore[arg-type]
    assert [task for task in tasks(6, 60) if not agrees(task, limits)] == []


@pytest.mark.parametrize(
    "limits",
    [
        Limits(max_degree=3, time_limit=60),
        Limits(max_degree=4, minimise="actions", time_limit=60),
        Limits(exclusive=True, time_limit=60),
        Limits(operations=frozenset({"shift", "move"}), time_limit=60),
        Limits(operations=frozenset({"shift", "move"}), exclusive=True, time_limit=60),
        Limits(operations=frozenset({"shift", "move"}), max_degree=3, minimise="actions", time_limit=60),
    ],
    ids=["degree 3", "degree 4", "exclusive", "moves", "exclusive moves", "moves within degree 3"],
)
def test_the_exact_planner_is_right_within_limits(limits: Limits) -> None:
    count = 20 if "move" in limits.operations else 60
    assert [task for task in tasks(5, count) if not agrees(task, limits)] == []


@pytest.mark.parametrize("planner", sorted(PLANNERS))
def test_no_planner_beats_the_oracle_or_states_a_bound_above_it(planner: str) -> None:
    for task in tasks(5, 25):
        front = brute_force(task)
        found = answer(planner, task, Limits(time_limit=1), seconds=1)
        assert isinstance(found, Found), task
        steps, actions = size_of(found)
        as_short = min(fewest for length, fewest in front if length <= steps)
        assert front[0][0] <= steps
        assert found.bounds.steps <= front[0][0]
        assert found.bounds.actions <= as_short <= actions
