"""IPITT's baseline: valid plans, reproducible, never claimed to be the best."""

from itertools import count
from random import Random

import pytest
from hypothesis import given, settings
from tests.plan.problems import between, problem_of

from regraft.model import Infeasible, Limits, Plan, Topology
from regraft.plan.action_sets import neighbours, transformation_paths
from regraft.plan.best_first import CurrentTree, best_first, change_of_estimate, estimate
from regraft.plan.problem import Found
from regraft.plan.verify import verify
from regraft.plan.watch import Watch
from regraft.testing.brute_force import brute_force, fronts
from regraft.testing.trees import changed_tree, random_tree, tree_pairs


def ticking(ticks: int) -> Watch:
    """A watch that expires after it has been read this many times: the same on every machine."""
    looks = count()
    return Watch(ticks, clock=lambda: float(next(looks)))


@settings(max_examples=40)
@given(tree_pairs(largest=10))
def test_every_plan_passes_the_replay_with_one_action_a_step(both: tuple[Topology, Topology]) -> None:
    problem = problem_of(*both)
    found = best_first(problem, Limits(), ticking(2_000))
    assert isinstance(found, Found)
    assert {len(step) for step in found.steps} <= {1}
    initial, goal = both
    steps = problem.named(found.steps)
    plan = Plan("tree", initial.sha256, goal.sha256, steps, "best-first", found.bounds)
    verify(plan, initial, goal, Limits())
    assert found.proof is None


def test_on_small_trees_it_finds_the_fewest_actions() -> None:
    luck = Random(8)
    for _ in range(20):
        problem = between(random_tree(5, luck), random_tree(5, luck))
        found = best_first(problem, Limits(), ticking(20_000))
        assert isinstance(found, Found)
        assert len(found.steps) == brute_force(problem)[-1][1]


def test_the_same_seed_gives_the_same_plan() -> None:
    initial = random_tree(40, Random(1))
    problem = between(initial, changed_tree(initial, 0.2, Random(2)))
    once, again = (best_first(problem, Limits(seed=7), ticking(300)) for _ in range(2))
    assert isinstance(once, Found)
    assert once == again


def test_more_time_never_gives_a_longer_plan() -> None:
    initial = random_tree(30, Random(3))
    problem = between(initial, changed_tree(initial, 0.3, Random(4)))
    lengths = []
    for ticks in (150, 600, 2_400):
        found = best_first(problem, Limits(), ticking(ticks))
        assert isinstance(found, Found)
        lengths.append(len(found.steps))
    assert lengths == sorted(lengths, reverse=True)


def test_a_search_that_grows_too_large_starts_again() -> None:
    initial = random_tree(30, Random(3))
    problem = between(initial, changed_tree(initial, 0.3, Random(4)))
    assert isinstance(best_first(problem, Limits(), ticking(2_000), size_limit=50), Found)


def test_the_degree_limit_holds_in_every_state() -> None:
    limits = Limits(max_degree=3)
    goal = frozenset({(0, 1), (1, 2), (2, 3), (3, 4)})
    possible = [initial for initial, front in fronts(goal, 5, limits.operations, 3).items() if front]
    assert len(possible) > 20
    for initial in possible:
        problem = between(initial, goal)
        found = best_first(problem, limits, ticking(5_000))
        assert isinstance(found, Found)
        state = CurrentTree.of(problem)
        for ((i, j, k),) in found.steps:
            assert max(len(state.around[i]), len(state.around[k])) + 1 <= 3
            state.apply((i, j, k))


def test_without_time_the_answer_names_the_limit() -> None:
    problem = between(random_tree(30, Random(1)), random_tree(30, Random(2)))
    refused = best_first(problem, Limits(), ticking(1))
    assert isinstance(refused, Infeasible)
    assert (refused.limit, refused.proven) == ("time-limit", False)


def test_a_depth_limit_below_every_plan_is_named() -> None:
    problem = between(frozenset({(0, 1), (1, 2), (2, 3)}), frozenset({(0, 3), (1, 3), (0, 2)}))
    refused = best_first(problem, Limits(), ticking(10_000), depth_limit=2)
    assert isinstance(refused, Infeasible)
    assert (refused.limit, refused.proven) == ("depth-limit", False)


def test_without_shifts_there_is_no_plan() -> None:
    problem = between(frozenset({(0, 1), (1, 2)}), frozenset({(0, 1), (0, 2)}))
    refused = best_first(problem, Limits(operations=frozenset({"move"})), ticking(100))
    assert isinstance(refused, Infeasible)
    assert refused.limit == "operations"


@given(tree_pairs(largest=9))
def test_the_change_of_the_estimate_is_that_of_the_paths(both: tuple[Topology, Topology]) -> None:
    problem = problem_of(*both)
    paths = transformation_paths(problem)
    change = change_of_estimate(paths)
    for shift in CurrentTree.of(problem).shifts(max_degree=None):
        after = CurrentTree.of(problem)
        after.apply(shift)
        assert neighbours(after.links, problem.size) == after.around
        # A link that the shift makes is no longer missing; its path of two brokers counts nothing.
        assert estimate(after.missing_paths()) == estimate(paths) + change(shift)


@pytest.mark.parametrize("size", [1, 2])
def test_trees_without_a_choice_need_no_plan(size: int) -> None:
    tree = random_tree(size, Random(0))
    found = best_first(between(tree, tree), Limits(), ticking(100))
    assert isinstance(found, Found)
    assert list(found.steps) == []
