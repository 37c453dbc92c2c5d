"""Reachability removes nothing that a plan needs, and rules out a length only if it has no plan."""

from itertools import product
from random import Random

import numpy as np
import pytest

from regraft.model import Limits
from regraft.plan.fast import fast
from regraft.plan.problem import Found, Problem, pair
from regraft.plan.reach import Ground, Windows, regions, windows
from regraft.plan.watch import Watch
from regraft.testing.brute_force import brute_force
from regraft.testing.trees import all_trees, changed_tree, random_tree, tree_shapes


def task(size: int, ratio: float, seed: int) -> Problem:
    rng = Random(seed)
    tree = random_tree(size, rng)
    return Problem(tuple(f"b{at}" for at in range(size)), tree, changed_tree(tree, ratio, rng))


def table_of(problem: Problem, steps: int) -> Windows | None:
    ground = Ground(problem)
    return windows(ground, steps, ground.every_shift(steps))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("size", "ratio"), [(8, 0.9), (20, 0.5), (40, 0.2)])
def test_every_action_of_a_plan_is_possible_in_its_step(size: int, ratio: float, seed: int) -> None:
    problem = task(size, ratio, seed)
    found = fast(problem, Limits(threads=1, seed=seed), Watch(0))
    assert isinstance(found, Found)
    table = table_of(problem, len(found.steps))
    assert table is not None
    for step, acts in enumerate(found.steps):
        assert set(acts) <= {table.acts[act] for act in table.possible[step]}


def test_every_link_of_a_plan_is_live_in_its_state() -> None:
    problem = task(15, 0.7, 3)
    found = fast(problem, Limits(threads=1), Watch(0))
    assert isinstance(found, Found)
    table = table_of(problem, len(found.steps))
    assert table is not None
    names = [tuple(link) for link in table.links.tolist()]
    links = set(problem.initial)
    for state in range(len(found.steps) + 1):
        live = {name for name, there in zip(names, table.live[state], strict=True) if there}
        assert links - (problem.initial & problem.goal) <= live
        for i, j, k in found.steps[state] if state < len(found.steps) else ():
            links = links - {pair(i, j)} | {pair(i, k)}


@pytest.mark.parametrize("size", [3, 4, 5])
def test_none_means_that_no_plan_has_so_few_steps(size: int) -> None:
    refuted = 0
    for goal, initial in product(tree_shapes(size), all_trees(size)):
        problem = Problem(tuple("abcde"[:size]), initial, goal)
        fewest = brute_force(problem)[0][0]
        for steps in range(1, fewest + 2):
            if table_of(problem, steps) is None:
                assert steps < fewest
                refuted += 1
            else:
                break
    assert refuted > 0 or size == 3


def test_a_removable_link_without_actions_refutes_every_length() -> None:
    problem = task(8, 0.5, 1)
    assert windows(Ground(problem), 9, np.empty((0, 3), np.int64)) is None


def test_no_steps_are_enough_only_for_equal_trees() -> None:
    problem = task(8, 0.5, 1)
    assert table_of(problem, 0) is None
    assert table_of(Problem(problem.ids, problem.goal, problem.goal), 0) is not None


def test_links_of_the_goal_are_never_removed() -> None:
    problem = task(12, 0.6, 5)
    shifts = Ground(problem).every_shift(8).tolist()
    assert shifts
    assert not {pair(i, j) for i, j, _ in shifts} & problem.goal


def test_all_shifts_are_cut_off_where_there_are_too_many() -> None:
    ground = Ground(task(12, 0.6, 5))
    assert len(ground.every_shift(8, most=10)) == 11 < len(ground.every_shift(8))


def two_ends() -> Problem:
    """A long line whose two ends change without a link in common."""
    line = {pair(at, at + 1) for at in range(13)}
    goal = line - {(0, 1), (12, 13)} | {(0, 3), (10, 13)}
    return Problem(tuple(f"b{at}" for at in range(14)), frozenset(line), frozenset(goal))


def test_regions_share_no_link() -> None:
    table = table_of(two_ends(), 2)
    assert table is not None
    parts = regions(table)
    assert len(parts) == 2
    used = []
    for part in parts:
        acts = {act for some in part.possible for act in some}
        links = {int(link) for act in acts for link in (part.removed[act], part.added[act])}
        links |= {int(part.guards[act]) for act in acts} - {-1}
        assert all(not part.live[:, link].any() or link in links for link in range(len(part.links)))
        used.append(links)
    assert used[0].isdisjoint(used[1])


def test_regions_together_hold_every_action() -> None:
    for seed in range(5):
        problem = task(30, 0.1, seed)
        found = fast(problem, Limits(threads=1), Watch(0))
        assert isinstance(found, Found)
        table = table_of(problem, len(found.steps))
        assert table is not None
        assert sum(part.choices for part in regions(table)) == table.choices
