"""No bound is above the optimum: the oracle knows it on small trees, the exact planner on larger ones."""

from itertools import product
from random import Random

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from regraft.model import Limits
from regraft.plan.bounds import action_bound, lower_bounds, path_bound, reach_bound
from regraft.plan.exact import exact
from regraft.plan.kernel_assign import least_assignment
from regraft.plan.problem import Found, Problem, pair
from regraft.plan.reach import Ground
from regraft.plan.watch import Watch
from regraft.testing.brute_force import brute_force
from regraft.testing.trees import all_trees, changed_tree, random_tree, tree_shapes


def tasks(size: int, count: int | None = None) -> list[Problem]:
    pairs = product(tree_shapes(size), all_trees(size))
    found = [Problem(tuple("abcdef"[:size]), initial, goal) for goal, initial in pairs if goal != initial]
    return found if count is None else Random(size).sample(found, count)


def between(size: int, ratio: float, seed: int) -> Problem:
    rng = Random(seed)
    tree = random_tree(size, rng)
    return Problem(tuple(f"b{at}" for at in range(size)), tree, changed_tree(tree, ratio, rng))


@pytest.mark.parametrize(("size", "count"), [(3, None), (4, None), (5, None), (6, 300)])
def test_no_bound_is_above_the_oracle(size: int, count: int | None) -> None:
    met = 0
    for task in tasks(size, count):
        front = brute_force(task)
        by_path = path_bound(task)
        by_reach = reach_bound(Ground(task), max(by_path, 1))
        assert by_path <= by_reach <= front[0][0], task
        assert action_bound(task) <= front[-1][1], task
        met += by_reach == front[0][0]
    assert met > 0


def test_moves_change_no_bound_because_they_are_carried_out_as_shifts() -> None:
    moving = Limits(operations=frozenset({"shift", "move"}))
    assert all(lower_bounds(task, moving) == lower_bounds(task, Limits()) for task in tasks(5, 20))


def test_no_bound_is_above_the_oracle_within_limits() -> None:
    for limits in (Limits(max_degree=3), Limits(exclusive=True)):
        for task in tasks(5, 60):
            front, bounds = brute_force(task, limits), lower_bounds(task, limits)
            assert not front or (bounds.steps <= front[0][0] and bounds.actions <= front[-1][1])


@pytest.mark.parametrize(("size", "ratio", "seed"), [(12, 0.3, 1), (12, 0.5, 2), (16, 0.25, 3), (20, 0.2, 4)])
def test_no_bound_is_above_what_the_exact_planner_proves(size: int, ratio: float, seed: int) -> None:
    task = between(size, ratio, seed)
    limits = Limits(time_limit=30)
    found = exact(task, limits, Watch(30))
    assert isinstance(found, Found)
    assert found.bounds == (len(found.steps), sum(map(len, found.steps)))
    bounds = lower_bounds(task, limits)
    assert path_bound(task) <= bounds.steps <= found.bounds.steps
    assert bounds.actions <= found.bounds.actions


def test_equal_trees_need_nothing() -> None:
    tree = random_tree(7, Random(1))
    assert lower_bounds(Problem(tuple("abcdefg"), tree, tree), Limits()) == (0, 0)


def test_a_long_path_with_one_removable_link_needs_a_step_for_each_link_that_stays() -> None:
    """Broker 0 goes from one end of a line to the other: its link passes one link per step."""
    line = {pair(at, at + 1) for at in range(9)}
    task = Problem(tuple("abcdefghij"), frozenset(line), frozenset(line - {(0, 1)} | {(0, 9)}))
    assert path_bound(task) == 8


def test_a_line_to_a_star_is_bounded_by_halving() -> None:
    line = frozenset(pair(at, at + 1) for at in range(99))
    star = frozenset(pair(0, at) for at in range(1, 100))
    assert path_bound(Problem(tuple(map(str, range(100))), line, star)) == 7


def test_a_star_to_a_line_is_bounded_by_halving_as_well() -> None:
    """Read backwards, the plan brings both ends of the line together."""
    line = frozenset(pair(at, at + 1) for at in range(99))
    star = frozenset(pair(0, at) for at in range(1, 100))
    assert path_bound(Problem(tuple(map(str, range(100))), star, line)) == 7


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("dearest", [1, 2, 5, 1000])
def test_the_compiled_assignment_is_as_cheap_as_scipys(size: int, dearest: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(10):
        cost = rng.integers(0, dearest + 1, (size, size))
        assert least_assignment(cost) == cost[linear_sum_assignment(cost)].sum()
