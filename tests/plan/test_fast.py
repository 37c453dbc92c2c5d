"""The fast planner: a plan for any task at once, better ones in the time left, the best when stopped."""

from collections.abc import Callable
from random import Random
from threading import Timer
from typing import get_args

import pytest

from regraft.model import ActionCosts, Infeasible, Limits, Plan, Topology
from regraft.model.limits import Minimise
from regraft.plan import Progress, make_plan, verify
from regraft.plan.exact import exact
from regraft.plan.fast import fast
from regraft.plan.problem import Found, Problem, pair
from regraft.plan.watch import Watch
from regraft.testing.trees import Tree, changed_tree, named, random_tree

Shape = Callable[[int], Tree]


def grown_tree(size: int, rng: Random) -> Tree:
    """Each broker joins one of those before it: a quick way to a large tree."""
    return frozenset((rng.randrange(at), at) for at in range(1, size))


def line(size: int) -> Tree:
    return frozenset(pair(at, at + 1) for at in range(size - 1))


def star(size: int) -> Tree:
    return frozenset(pair(0, at) for at in range(1, size))


def comb(size: int) -> Tree:
    """A line with a leaf at each of its brokers."""
    back = line(size // 2)
    return back | {pair(at, size // 2 + at) for at in range(size - size // 2)}


def binary(size: int) -> Tree:
    return frozenset(pair((at - 1) // 2, at) for at in range(1, size))


def planned(current: Topology, goal: Topology, limits: Limits, seconds: float = 0.0) -> Plan:
    plan = make_plan(current, goal, limits, "fast", Watch(seconds))
    assert isinstance(plan, Plan)
    verify(plan, current, goal, limits)
    return plan


def test_two_thousand_brokers_have_a_plan_without_any_time() -> None:
    rng = Random(1)
    current, goal = grown_tree(2000, rng), grown_tree(2000, rng)
    plan = planned(named(current, 2000), named(goal, 2000), Limits())
    assert plan.actions >= plan.bounds.actions >= len(goal - current)


@pytest.mark.parametrize(("before", "after"), [(line, star), (star, line)])
def test_a_line_of_300_brokers_and_a_star_change_into_each_other(before: Shape, after: Shape) -> None:
    plan = planned(named(before(300), 300), named(after(300), 300), Limits())
    assert len(plan.steps) >= plan.bounds.steps >= 8


@pytest.mark.parametrize("after", [line, star, comb, binary])
@pytest.mark.parametrize("before", [line, star, comb, binary])
def test_every_shape_changes_into_every_shape(before: Shape, after: Shape) -> None:
    for limits in (Limits(), Limits(exclusive=True), Limits(minimise="actions")):
        planned(named(before(40), 40), named(after(40), 40), limits)


def test_the_same_seed_gives_the_same_plan() -> None:
    rng = Random(3)
    current, goal = (named(random_tree(60, rng), 60) for _ in range(2))
    limits = Limits(seed=4, max_degree=8)
    assert planned(current, goal, limits) == planned(current, goal, limits)


@pytest.mark.parametrize("minimise", get_args(Minimise))
def test_time_never_makes_a_plan_worse(minimise: Minimise) -> None:
    rng = Random(5)
    tree = random_tree(60, rng)
    current, goal = named(tree, 60), named(changed_tree(tree, 0.5, rng), 60)
    limits = Limits(minimise=minimise, threads=1)

    def measure(plan: Plan) -> int:
        at_unit_cost = {"steps": len(plan.steps), "time": 2 * len(plan.steps)}
        return at_unit_cost.get(minimise, plan.actions)

    assert measure(planned(current, goal, limits, 1.0)) <= measure(planned(current, goal, limits))


def test_costs_decide_what_is_cheapest() -> None:
    """Where each shift costs two, the cheapest plan has the fewest shifts."""
    rng = Random(6)
    current, goal = (named(random_tree(7, rng), 7) for _ in range(2))
    dear = Limits(minimise="cost", costs=ActionCosts(by_operation={"shift": 2}))
    plain = planned(current, goal, Limits(minimise="actions"), 5)
    assert planned(current, goal, dear, 5).actions == plain.actions


def test_small_tasks_are_proven_before_time_is_up() -> None:
    rng = Random(7)
    plan = planned(named(random_tree(7, rng), 7), named(random_tree(7, rng), 7), Limits(), 30)
    assert plan.optimal


def hard() -> Problem:
    rng = Random(8)
    return Problem(tuple(f"b{at}" for at in range(60)), random_tree(60, rng), random_tree(60, rng))


@pytest.mark.parametrize("planner", [fast, exact])
def test_a_stopped_planner_returns_its_best_early(
    planner: Callable[[Problem, Limits, Watch], Found | Infeasible],
) -> None:
    problem, told = hard(), list[Progress]()
    watch = Watch(600, report=told.append)
    timer = Timer(2.0, watch.stop)
    timer.start()
    found = planner(problem, Limits(), watch)
    timer.join()
    assert watch.elapsed < watch.seconds, "it waited until its time was up"
    assert isinstance(found, Found)
    plan = problem.named(found.steps)
    current, goal = named(problem.initial, 60), named(problem.goal, 60)
    verify(Plan("tree", current.sha256, goal.sha256, plan, "fast", found.bounds), current, goal, Limits())
    assert len(found.steps) == min(now.steps for now in told if now.steps is not None)


def test_progress_tells_plans_that_get_better() -> None:
    told = list[Progress]()
    watch = Watch(60)

    def note(now: Progress) -> None:
        told.append(now)
        if len(told) == 3:
            watch.stop()

    watch.report = note
    fast(hard(), Limits(threads=1), watch)
    sizes = [(now.steps, now.actions) for now in told]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 3


@pytest.mark.parametrize("operations", [{"append"}, {"append", "move"}])
def test_without_shifts_there_is_no_plan(operations: set[str]) -> None:
    line, star = Topology.of([("a", "b"), ("b", "c")]), Topology.of([("a", "b"), ("a", "c")])
    found = make_plan(line, star, Limits(operations=frozenset(operations)))
    assert found == Infeasible("links must change, but shift is not allowed", "operations", proven=True)


def test_equal_trees_need_no_plan() -> None:
    tree = random_tree(9, Random(1))
    found = fast(Problem(tuple("abcdefghi"), tree, tree), Limits(), Watch(0))
    assert isinstance(found, Found)
    assert found.steps == ()
    assert found.bounds == (0, 0)
