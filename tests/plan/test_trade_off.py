"""The trade-off between steps and actions: a strict front, the oracle's own on small trees."""

from itertools import pairwise
from random import Random

import pytest

from regraft.model import BadInput, Infeasible, Limits, Plan, Topology
from regraft.plan import Watch, make_plan, pareto, verify
from regraft.plan.problem import Problem
from regraft.testing.brute_force import Front, brute_force, fronts
from regraft.testing.trees import all_trees, changed_tree, named, random_tree


def front_of(
    current: Topology, goal: Topology, planner: str, seconds: float, limits: Limits = Limits()
) -> tuple[list[Plan], Front]:
    plans = pareto(current, goal, limits, planner, Watch(seconds))
    assert isinstance(plans, list)
    for plan in plans:
        verify(plan, current, goal, limits)
    return plans, tuple((len(plan.steps), plan.actions) for plan in plans)


@pytest.mark.parametrize("size", [4, 5])
def test_the_exact_front_is_the_oracles(size: int) -> None:
    rng, trees = Random(size), list(all_trees(size))
    for _ in range(12):
        initial, goal = rng.sample(trees, 2)
        _, front = front_of(named(initial, size), named(goal, size), "exact", 0.6)
        assert front == fronts(goal, size)[initial]


def test_a_real_trade_off_is_found() -> None:
    line = frozenset({(0, 1), (1, 2), (2, 3), (3, 4)})
    goal = frozenset({(0, 2), (0, 3), (0, 4), (1, 2)})
    assert front_of(named(line, 5), named(goal, 5), "exact", 0.6)[1] == ((2, 4), (3, 3))


@pytest.mark.parametrize("planner", ["fast", "exact"])
def test_the_shortest_plan_is_as_proven_as_without_the_trade_off(planner: str) -> None:
    line = frozenset({(0, 1), (1, 2), (2, 3), (3, 4)})
    goal = frozenset({(0, 2), (0, 3), (0, 4), (1, 2)})
    current, wanted = named(line, 5), named(goal, 5)
    plain = make_plan(current, wanted, Limits(time_limit=60), planner)
    assert isinstance(plain, Plan)
    assert plain.optimal
    (shortest, fewest), front = front_of(current, wanted, planner, 3)
    assert front == ((2, 4), (3, 3))
    assert shortest.optimal
    assert shortest.bounds == plain.bounds
    assert fewest.bounds == (2, 3)


def test_what_is_proven_of_the_shortest_plans_is_no_bound_where_actions_come_first() -> None:
    line = frozenset({(0, 1), (1, 2), (2, 3), (3, 4)})
    goal = frozenset({(0, 2), (0, 3), (0, 4), (1, 2)})
    plans, _ = front_of(named(line, 5), named(goal, 5), "fast", 3, Limits("actions"))
    assert [plan.bounds.actions for plan in plans] == [3, 3]


def test_the_front_keeps_the_limits() -> None:
    limits = Limits(exclusive=True)
    line = frozenset({(0, 1), (1, 2), (2, 3), (3, 4)})
    goal = frozenset({(0, 2), (0, 3), (0, 4), (1, 2)})
    front = front_of(named(line, 5), named(goal, 5), "exact", 0.6, limits)[1]
    assert front == brute_force(Problem(tuple("abcde"), line, goal), limits)


@pytest.mark.parametrize("planner", ["fast", "exact-each-path"])
def test_a_longer_plan_is_listed_only_if_it_has_fewer_actions(planner: str) -> None:
    rng = Random(7)
    tree = random_tree(30, rng)
    current, goal = named(tree, 30), named(changed_tree(tree, 0.4, rng), 30)
    plans, front = front_of(current, goal, planner, 1.5)
    assert front
    for (short, many), (longer, fewer) in pairwise(front):
        assert short < longer
        assert many > fewer
    for plan in plans:
        assert plan.bounds.steps <= len(plan.steps)
        assert plan.bounds.actions <= plan.actions


def test_equal_trees_have_the_empty_plan() -> None:
    tree = named(random_tree(6, Random(2)), 6)
    assert front_of(tree, tree, "fast", 0.1)[1] == ((0, 0),)


def test_planners_without_a_front_are_refused() -> None:
    tree = named(random_tree(6, Random(2)), 6)
    with pytest.raises(BadInput, match="best-first"):
        pareto(tree, tree, planner="best-first")


def test_limits_that_leave_no_plan_are_named() -> None:
    current, goal = (
        named(frozenset({(0, 1), (1, 2), (2, 3)}), 4),
        named(frozenset({(0, 1), (0, 2), (0, 3)}), 4),
    )
    answer = pareto(current, goal, Limits(max_degree=2))
    assert isinstance(answer, Infeasible)
    assert answer.limit == "max-degree"


def test_the_trade_off_is_refused_for_the_same_reasons_as_a_plan() -> None:
    line, star = Topology.of([("a", "b"), ("b", "c")]), Topology.of([("a", "b"), ("a", "c")])
    limits = Limits(operations=frozenset({"append"}), time_limit=60)
    assert pareto(line, star, limits) == make_plan(line, star, limits)
    assert isinstance(pareto(line, star, limits), Infeasible)
