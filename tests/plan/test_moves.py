"""Moves: links that slide to where the goal wants them, as the shifts that carry them out."""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from regraft.model import Bounds, Limits, Plan, Topology, ends
from regraft.plan import make_plan
from regraft.plan.fast import TRIES
from regraft.plan.moves import Mover, slide
from regraft.plan.problem import Problem, pair
from regraft.plan.search import Search
from regraft.plan.verify import verify
from regraft.plan.watch import Watch
from regraft.testing.trees import Tree, changed_tree, named, random_tree

MOVES = frozenset({"shift", "append", "detach", "move"})


def task(size: int, ratio: float, seed: int) -> Problem:
    rng = Random(seed)
    tree = random_tree(size, rng)
    goal = changed_tree(tree, ratio, rng) if ratio < 1 else random_tree(size, rng)
    return Problem(tuple(f"b{at}" for at in range(size)), tree, goal)


def most_links(*trees: Tree) -> int:
    return max(count for tree in trees for count in Counter(end for link in tree for end in link).values())


def follow(plan: Plan, current: Topology, rng: Random) -> tuple[set[tuple[str, str]], int, int]:
    """Carry out every change, those of a step in any order; each must leave a tree.

    Returns the links at the end, how many brokers were told to shift, and the most links that a broker had.
    """
    links, shifts = set(current.by_ends), 0
    most = most_of(links)
    for step in plan.steps:
        for operation, brokers in rng.sample(step, len(step)):
            assert operation == "shift", "brokers carry out shifts and nothing else on the same brokers"
            i, j, k = brokers
            assert ends(j, k) in links
            links.add(ends(i, k))
            most = max(most, most_of(links))  # the new link is made before the old one is broken
            links.remove(ends(i, j))
            Topology.of(sorted(links), current.ids)  # raises if it is no tree
            shifts += 1
    return links, shifts, most


def most_of(links: set[tuple[str, str]]) -> int:
    return max(Counter(end for link in links for end in link).values())


@pytest.mark.parametrize("seed", range(12))
def test_allowing_moves_costs_no_shift_and_breaks_no_limit(seed: int) -> None:
    problem = task(20, 0.3, seed)
    current, goal = named(problem.initial, 20), named(problem.goal, 20)
    limits = Limits(max_degree=most_links(problem.initial, problem.goal) + 1, threads=1)
    plain, moving = (
        make_plan(current, goal, each, watch=Watch(0)) for each in (limits, replace(limits, operations=MOVES))
    )
    assert isinstance(plain, Plan)
    assert isinstance(moving, Plan)
    links, shifts, most = follow(moving, current, Random(seed))
    assert links == set(goal.by_ends)
    assert shifts == moving.actions <= plain.actions
    assert len(moving.steps) <= len(plain.steps)
    assert limits.max_degree is not None
    assert most <= limits.max_degree
    assert moving.bounds == plain.bounds


def test_what_is_proven_of_a_plan_with_moves_is_proven_of_its_shifts() -> None:
    problem = task(6, 0.5, 3)
    current, goal = named(problem.initial, 6), named(problem.goal, 6)
    limits = Limits(operations=MOVES, time_limit=60)
    plain, moving = (make_plan(current, goal, each, "exact") for each in (Limits(time_limit=60), limits))
    assert isinstance(plain, Plan)
    assert isinstance(moving, Plan)
    assert plain.optimal
    assert moving.optimal
    assert moving.bounds == plain.bounds


@pytest.mark.parametrize("seed", [0, 4, 6, 8, 10])
def test_within_a_tight_limit_moves_find_a_plan_where_the_greedy_search_finds_none(seed: int) -> None:
    problem = task(20, 1.0, seed)
    current, goal = named(problem.initial, 20), named(problem.goal, 20)
    limits = Limits(max_degree=most_links(problem.initial, problem.goal))
    plain, moving = (
        Search(problem, replace(limits, operations=each), Watch(600), Bounds(0, 0))
        for each in (limits.operations, MOVES)
    )
    plain.first(TRIES)
    moving.first(TRIES)
    assert plain.best is None
    assert moving.best is not None
    plan = Plan("tree", current.sha256, goal.sha256, problem.named(moving.best), "fast", Bounds(0, 0))
    verify(plan, current, goal, limits)
    _, _, most = follow(plan, current, Random(seed))
    assert most == limits.max_degree


@pytest.mark.parametrize("limits", [Limits(), Limits(exclusive=True), Limits(max_degree=12)])
@pytest.mark.parametrize("seed", range(4))
def test_a_plan_of_moves_makes_every_missing_link(seed: int, limits: Limits) -> None:
    problem = task(30, 0.5, seed)
    steps = Mover(problem, limits, Watch(60)).run(np.random.default_rng(seed))
    assert steps is not None
    links = set(problem.initial)
    for step in steps:
        named_twice = [
            broker for broker, count in Counter(b for act in step for b in act).items() if count > 1
        ]
        assert not (limits.exclusive and named_twice)
        removed, added = {pair(i, j) for i, j, _ in step}, {pair(i, k) for i, _, k in step}
        assert {pair(j, k) for _, j, k in step} <= links - removed
        assert removed.isdisjoint(problem.goal)
        links = links - removed | added
    assert links == problem.goal


def test_moves_that_do_not_concern_each_other_share_a_step() -> None:
    line = {pair(at, at + 1) for at in range(9)}
    goal = line - {(0, 1), (8, 9)} | {(0, 2), (7, 9)}
    problem = Problem(tuple("abcdefghij"), frozenset(line), frozenset(goal))
    steps = Mover(problem, Limits(), Watch(60)).run(np.random.default_rng(1))
    assert steps is not None
    assert len(steps) == 1


def test_a_degree_limit_without_room_leaves_no_plan() -> None:
    """Every broker of the line has its two links already, or ends it: no link may be added first."""
    line = frozenset({(0, 1), (1, 2), (2, 3)})
    problem = Problem(tuple("abcd"), line, frozenset({(0, 2), (1, 2), (1, 3)}))
    tight, roomy = (Mover(problem, Limits(max_degree=most), Watch(60)) for most in (2, 3))
    assert tight.run(np.random.default_rng(1)) is None
    assert roomy.run(np.random.default_rng(1)) is not None


@pytest.mark.parametrize(
    ("at", "shifts"),
    [
        (0, [(0, 1, 2), (0, 2, 3), (0, 3, 4)]),
        (1, [(2, 1, 0), (0, 2, 3), (0, 3, 4)]),
        (3, [(4, 3, 2), (4, 2, 1), (4, 1, 0)]),
    ],
)
def test_a_link_slides_one_end_at_a_time(at: int, shifts: list[tuple[int, ...]]) -> None:
    assert slide((0, 1, 2, 3, 4), at) == shifts
