"""The compact model at every length and with every option, against the oracle."""

from collections.abc import Callable
from random import Random

import pytest

from regraft.model import Bounds, Limits, Plan
from regraft.plan.compact import FEASIBLE, Aim, CompactAnswer, solve
from regraft.plan.problem import Problem, Shift, pair
from regraft.plan.reach import Ground, windows
from regraft.plan.verify import verify
from regraft.plan.watch import Watch
from regraft.testing.brute_force import brute_force
from regraft.testing.trees import all_trees, named, random_tree

ONE = Aim(lambda act: 1)


def tasks(size: int, count: int) -> list[Problem]:
    rng, trees, ids = Random(size), list(all_trees(size)), tuple(f"b{at}" for at in range(size))
    pairs = (rng.sample(trees, 2) for _ in range(count))
    return [Problem(ids, initial, goal) for initial, goal in pairs]


def answer(problem: Problem, steps: int, aim: Aim, limits: Limits = Limits()) -> CompactAnswer:
    ground = Ground(problem)
    table = windows(ground, steps, ground.every_shift(steps))
    if table is None:
        return CompactAnswer(None, 0, True)
    found = solve(problem, table, limits, aim, Watch(30))
    if found.steps is not None:
        current, goal = named(problem.initial, problem.size), named(problem.goal, problem.size)
        dense = problem.named([step for step in found.steps if step])
        verify(Plan("tree", current.sha256, goal.sha256, dense, "exact", Bounds(0, 0)), current, goal, limits)
        assert len(found.steps) == steps
    return found


def total(steps: list[list[Shift]] | None, cost: Callable[[Shift], int]) -> int:
    return sum(cost(act) for step in steps or () for act in step)


@pytest.mark.parametrize(
    "limits",
    [Limits(), Limits(max_degree=3), Limits(max_degree=4), Limits(exclusive=True)],
    ids=["free", "degree 3", "degree 4", "exclusive"],
)
def test_fewest_actions_at_every_length_are_the_oracles(limits: Limits) -> None:
    within = 0
    for problem in tasks(5, 25):
        front = brute_force(problem, limits)
        if limits.max_degree is not None and not front:
            continue
        for steps in range(1, 6):
            found = answer(problem, steps, ONE, limits)
            fewest = min((actions for length, actions in front if length <= steps), default=None)
            assert found.proven
            assert (None if found.steps is None else total(found.steps, lambda act: 1)) == fewest
            assert fewest is None or found.bound == fewest
            within += fewest is not None
    assert within > 0


def test_a_plan_is_found_without_an_aim() -> None:
    for problem in tasks(6, 5):
        fewest = brute_force(problem)[0][0]
        assert answer(problem, fewest, FEASIBLE).steps is not None
        assert answer(problem, fewest - 1, FEASIBLE) == CompactAnswer(None, 0, True)


def test_what_must_be_beaten_is_beaten_or_refuted() -> None:
    for problem in tasks(5, 10):
        steps, fewest = brute_force(problem)[-1]
        assert (
            total(answer(problem, steps, Aim(lambda act: 1, at_most=fewest)).steps, lambda act: 1) == fewest
        )
        assert answer(problem, steps, Aim(lambda act: 1, at_most=fewest - 1)) == CompactAnswer(None, 0, True)


def one_way() -> Problem:
    """Broker 0 goes from 1 over 2 to 3; there is no other way."""
    initial = frozenset(pair(*link) for link in [(0, 1), (1, 2), (2, 3)])
    goal = frozenset(pair(*link) for link in [(0, 3), (1, 2), (2, 3)])
    return Problem(("b0", "b1", "b2", "b3"), initial, goal)


def test_dear_actions_are_avoided_where_others_do() -> None:
    """One action of the plan with the fewest becomes dear: the cheapest plan costs at most as much as it."""
    for problem in tasks(5, 15):
        plain = answer(problem, 5, ONE)
        used = {act for step in plain.steps or () for act in step}
        dear = min(used)

        def cost(act: Shift, dear: Shift = dear) -> int:
            return 5 if act == dear else 1

        found = answer(problem, 5, Aim(cost))
        assert found.proven
        assert total(found.steps, cost) == found.bound
        assert total(plain.steps, lambda act: 1) <= found.bound <= total(plain.steps, cost)


def test_the_only_way_is_taken_whatever_it_costs() -> None:
    found = answer(one_way(), 2, Aim(lambda act: 7))
    assert found.steps == [[(0, 1, 2)], [(0, 2, 3)]]
    assert found.bound == 14


def test_the_slowest_action_of_each_step_counts() -> None:
    for problem in tasks(5, 10):
        fewest = brute_force(problem)[0][0]
        found = answer(problem, fewest, Aim(lambda act: 3, slowest=True))
        assert found.proven
        assert found.bound == 3 * fewest


def test_a_hint_changes_nothing_about_the_answer() -> None:
    for problem in tasks(5, 5):
        ground, steps = Ground(problem), brute_force(problem)[-1][0]
        table = windows(ground, steps, ground.every_shift(steps))
        assert table is not None
        first = solve(problem, table, Limits(), ONE, Watch(30))
        again = solve(problem, table, Limits(), ONE, Watch(30), first.steps or ())
        assert (again.bound, again.proven) == (first.bound, first.proven)


def test_a_stopped_watch_ends_the_solver_without_a_claim() -> None:
    rng = Random(1)
    problem = Problem(tuple(f"b{at}" for at in range(25)), random_tree(25, rng), random_tree(25, rng))
    ground = Ground(problem)
    table = windows(ground, 9, ground.every_shift(9))
    assert table is not None
    watch = Watch(60)
    watch.stop()
    found = solve(problem, table, Limits(), ONE, watch)
    assert not found.proven
