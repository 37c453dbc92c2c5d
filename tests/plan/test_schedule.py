"""The same actions as early as possible: a plan that was valid stays valid."""

from collections import Counter
from random import Random

import numpy as np
import pytest

from regraft.model import Bounds, Limits, Plan
from regraft.plan.greedy import Greedy
from regraft.plan.problem import Problem
from regraft.plan.schedule import as_early_as_possible
from regraft.plan.verify import verify
from regraft.testing.trees import changed_tree, named, random_tree


def greedy_plans(
    size: int, ratio: float, seed: int
) -> tuple[Problem, list[list[list[tuple[int, int, int]]]]]:
    rng, styles = Random(seed), np.random.default_rng(seed)
    tree = random_tree(size, rng)
    problem = Problem(tuple(f"b{at}" for at in range(size)), tree, changed_tree(tree, ratio, rng))
    greedy = Greedy(problem, Limits(minimise="actions"))
    plans = [greedy.run(greedy.random(styles), seed) for _ in range(10)]
    return problem, [plan.listed() for plan in plans if plan is not None]


@pytest.mark.parametrize("seed", range(6))
def test_early_plans_are_valid_and_have_the_same_actions_in_no_more_steps(seed: int) -> None:
    problem, plans = greedy_plans(25, 0.6, seed)
    current, goal = named(problem.initial, 25), named(problem.goal, 25)
    assert plans
    for plan in plans:
        # One action per step is the plan with most to gain, so both are scheduled.
        for late in (plan, [[act] for step in plan for act in step]):
            early = as_early_as_possible(late)
            assert len(early) <= len(late)
            assert all(early)
            assert Counter(act for step in early for act in step) == Counter(
                act for step in late for act in step
            )
            steps = problem.named(early)
            verify(
                Plan("tree", current.sha256, goal.sha256, steps, "fast", Bounds(0, 0)),
                current,
                goal,
                Limits(),
            )


def test_independent_shifts_go_into_one_step() -> None:
    assert as_early_as_possible([[(0, 1, 2)], [(5, 4, 3)]]) == [[(0, 1, 2), (5, 4, 3)]]


def test_a_guard_is_removed_only_after_its_step() -> None:
    assert as_early_as_possible([[(0, 1, 2)], [(2, 1, 3)]]) == [[(0, 1, 2)], [(2, 1, 3)]]


def test_a_guard_is_used_only_after_it_was_added() -> None:
    assert as_early_as_possible([[(1, 3, 2)], [], [(0, 1, 2)]]) == [[(1, 3, 2)], [(0, 1, 2)]]


def test_nothing_stays_nothing() -> None:
    assert as_early_as_possible([]) == []
