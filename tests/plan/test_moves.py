"""Plans of moves: each missing goal link in one action, whatever the distance."""

from random import Random

import numpy as np
import pytest

from regraft.model import Bounds, Limits, Plan
from regraft.plan.moves import Mover, every_move
from regraft.plan.problem import Problem, pair
from regraft.plan.verify import verify
from regraft.testing.trees import changed_tree, named, random_tree

MOVES = frozenset({"move"})


def task(size: int, ratio: float, seed: int) -> Problem:
    rng = Random(seed)
    tree = random_tree(size, rng)
    return Problem(tuple(f"b{at}" for at in range(size)), tree, changed_tree(tree, ratio, rng))


@pytest.mark.parametrize("limits", [Limits(operations=MOVES), Limits(operations=MOVES, exclusive=True)])
@pytest.mark.parametrize("seed", range(8))
def test_each_missing_link_takes_one_move(seed: int, limits: Limits) -> None:
    problem = task(30, 0.5, seed)
    steps = Mover(problem, limits).run(np.random.default_rng(seed))
    assert steps is not None
    assert sum(map(len, steps)) == len(problem.missing)
    assert {pair(act[2], act[3]) for step in steps for act in step} == set(problem.missing)
    current, goal = named(problem.initial, 30), named(problem.goal, 30)
    plan = Plan("tree", current.sha256, goal.sha256, problem.named(steps), "fast", Bounds(0, 0))
    verify(plan, current, goal, limits)


def test_moves_that_do_not_concern_each_other_share_a_step() -> None:
    line = {pair(at, at + 1) for at in range(9)}
    goal = line - {(0, 1), (8, 9)} | {(0, 2), (7, 9)}
    problem = Problem(tuple("abcdefghij"), frozenset(line), frozenset(goal))
    steps = Mover(problem, Limits(operations=MOVES)).run(np.random.default_rng(1))
    assert steps is not None
    assert len(steps) == 1


def test_a_degree_limit_without_room_leaves_no_plan() -> None:
    """Every broker of the line has its two links already, or ends it: no link may be added first."""
    line = frozenset({(0, 1), (1, 2), (2, 3)})
    problem = Problem(tuple("abcd"), line, frozenset({(0, 2), (1, 2), (1, 3)}))
    mover = Mover(problem, Limits(operations=MOVES, max_degree=2))
    assert mover.run(np.random.default_rng(1)) is None
    assert Mover(problem, Limits(operations=MOVES, max_degree=3)).run(np.random.default_rng(1)) is not None


def test_a_mover_remembers_what_each_of_its_moves_needs() -> None:
    problem = task(12, 0.5, 2)
    mover = Mover(problem, Limits(operations=MOVES))
    assert mover.grounded() == []
    steps = mover.run(np.random.default_rng(2))
    assert steps is not None
    grounded = mover.grounded()
    assert {act for act, _ in grounded} == {act for step in steps for act in step}
    for act, guards in grounded:
        assert pair(act[0], act[1]) not in guards
        joined = {pair(act[0], act[1]), *guards}
        ends = [broker for link in joined for broker in link]
        assert sorted(broker for broker in set(ends) if ends.count(broker) == 1) == sorted(act[2:])


def test_all_moves_of_a_small_task_are_known() -> None:
    problem = task(4, 0.7, 1)
    moves, complete = every_move(problem)
    assert complete
    links = [pair(one, other) for one in range(4) for other in range(one)]
    paths = {guards for _, guards in moves}
    assert all((link,) in paths for link in links)
    assert all(pair(act[0], act[1]) not in problem.goal for act, _ in moves)


def test_moves_of_a_larger_task_are_not_all_there_are() -> None:
    moves, complete = every_move(task(12, 0.3, 1))
    assert moves
    assert not complete
