"""The local search over plans: each plan on the way is valid, none is longer, detours are removed."""

from random import Random

import pytest

from regraft.model import Bounds, Limits, Plan
from regraft.plan import verify
from regraft.plan.bounds import lower_bounds
from regraft.plan.exact import exact
from regraft.plan.fast import fast
from regraft.plan.greedy import Greedy, Steps
from regraft.plan.problem import Found, Problem
from regraft.plan.replan import Chain
from regraft.plan.search import Search
from regraft.plan.watch import Watch
from regraft.testing.trees import changed_tree, named, random_tree

FEW = Limits(minimise="actions")


def task(size: int, ratio: float, seed: int) -> Problem:
    rng = Random(seed)
    tree = random_tree(size, rng)
    return Problem(tuple(f"b{at}" for at in range(size)), tree, changed_tree(tree, ratio, rng))


def greedy(problem: Problem) -> Steps:
    runs = Greedy(problem, FEW)
    plan = runs.run(runs.plain(), 0)
    assert plan is not None
    return plan.listed()


def check(problem: Problem, steps: Steps) -> None:
    current, goal = named(problem.initial, problem.size), named(problem.goal, problem.size)
    plan = Plan("tree", current.sha256, goal.sha256, problem.named(steps), "fast", Bounds(0, 0))
    verify(plan, current, goal)


def actions(steps: Steps) -> int:
    return sum(map(len, steps))


@pytest.mark.parametrize(("size", "ratio"), [(3, 0.5), (8, 1.0), (40, 0.2), (40, 1.0), (200, 0.3)])
def test_every_plan_on_the_way_is_valid_and_none_is_longer_than_the_one_before(
    size: int, ratio: float
) -> None:
    for seed in range(5):
        problem = task(size, ratio, seed)
        steps = greedy(problem)
        chain, before = Chain(problem, steps, seed), actions(steps)
        for tries in (1, 1, 1, 2, 5, 10, 50, 100):
            chain.run(tries)
            check(problem, chain.steps())
            assert actions(chain.steps()) <= before
            before = actions(chain.steps())


def test_a_way_there_and_back_is_left_out() -> None:
    """Link 0-1 of the line goes to 0-2 and back before it does what it should."""
    problem = Problem(tuple("abcd"), frozenset({(0, 1), (1, 2), (2, 3)}), frozenset({(0, 2), (1, 2), (2, 3)}))
    chain = Chain(problem, [[(0, 1, 2)], [(0, 2, 3)], [(0, 3, 2)]], 0)
    chain.run(50)
    assert chain.steps() == [[(0, 1, 2)]]


def test_a_greedy_plan_gets_shorter() -> None:
    problem = task(100, 0.5, 1)
    steps = greedy(problem)
    chain = Chain(problem, steps, 1)
    chain.run(3000)
    assert actions(chain.steps()) < 0.95 * actions(steps)


def test_small_trees_change_with_the_fewest_actions() -> None:
    """Most of them: this is a local search. It never claims fewer actions than the fewest."""
    least = 0
    for seed in range(10):
        problem = task(7, 1.0, seed)
        proven = exact(problem, FEW, Watch(60))
        assert isinstance(proven, Found)
        chain = Chain(problem, greedy(problem), seed)
        chain.run(1000)
        assert actions(chain.steps()) >= sum(map(len, proven.steps))
        least += actions(chain.steps()) == sum(map(len, proven.steps))
    assert least >= 8


def test_the_same_seed_goes_the_same_way() -> None:
    problem = task(60, 0.5, 3)
    one, other = (Chain(problem, greedy(problem), 4) for _ in range(2))
    one.run(200)
    other.run(200)
    assert one.steps() == other.steps()


@pytest.mark.parametrize(
    ("limits", "replans"),
    [
        (FEW, True),
        (Limits(), False),
        (Limits(minimise="actions", max_degree=9), False),
        (Limits(minimise="actions", exclusive=True), False),
        (Limits(minimise="actions", operations=frozenset({"shift", "move"})), True),
    ],
)
def test_only_unlimited_shifts_are_planned_anew(limits: Limits, replans: bool) -> None:
    problem = task(20, 0.5, 1)
    assert Search(problem, limits, Watch(0), lower_bounds(problem, limits)).replans == replans


@pytest.mark.parametrize("threads", [1, 2])
def test_the_fast_planner_saves_actions_by_it(threads: int) -> None:
    problem = task(100, 0.5, 2)
    limits = Limits(minimise="actions", threads=threads)
    first, found = (fast(problem, limits, Watch(seconds)) for seconds in (0.0, 1.0))
    assert isinstance(first, Found)
    assert isinstance(found, Found)
    assert sum(map(len, found.steps)) < sum(map(len, first.steps))
