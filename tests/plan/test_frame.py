"""Brokers that join are appended first, brokers that leave are detached last (IPITT §IV-B)."""

import pytest

from regraft.model import Action, Infeasible, Limits, Plan, Topology
from regraft.plan import make_plan, verify
from regraft.plan.frame import frame, over_degree
from regraft.plan.problem import Problem

LINE = Topology.of([("a", "b"), ("b", "c")])


def framed(current: Topology, goal: Topology, limits: Limits = Limits()) -> Problem:
    problem = frame(current, goal, limits)
    assert isinstance(problem, Problem)
    assert len(problem.initial) == len(problem.goal) == problem.size - 1
    plan = make_plan(current, goal, limits)
    assert isinstance(plan, Plan)
    verify(plan, current, goal, limits)
    return problem


def test_the_same_brokers_need_no_frame() -> None:
    problem = framed(LINE, Topology.of([("a", "c"), ("b", "c")]))
    assert problem.appends == problem.detaches == ()
    assert problem.ids == ("a", "b", "c")


def test_joining_brokers_are_appended_nearest_first() -> None:
    problem = framed(LINE, Topology.of([("a", "b"), ("b", "c"), ("c", "x"), ("x", "y")]))
    assert problem.appends == ((Action("append", ("x", "c")),), (Action("append", ("y", "x")),))
    assert problem.initial == problem.goal


def test_brokers_join_in_one_step_where_they_can() -> None:
    problem = framed(LINE, Topology.of([("a", "b"), ("b", "c"), ("c", "x"), ("c", "y")]))
    assert problem.appends == ((Action("append", ("x", "c")), Action("append", ("y", "c"))),)


def test_leaving_brokers_are_detached_farthest_first() -> None:
    problem = framed(Topology.of([("a", "b"), ("b", "c"), ("c", "x"), ("x", "y")]), LINE)
    assert problem.detaches == ((Action("detach", ("y", "x")),), (Action("detach", ("x", "c")),))


def test_an_inner_broker_may_leave() -> None:
    problem = framed(LINE, Topology.of([("a", "c")]))
    assert len(problem.missing) == 1
    assert [action.operation for step in problem.detaches for action in step] == ["detach"]


def test_brokers_may_join_and_leave_at_once() -> None:
    problem = framed(LINE, Topology.of([("b", "c"), ("c", "x"), ("x", "y")]))
    assert [len(step) for step in problem.appends] == [1, 1]
    assert problem.detaches == ((Action("detach", ("a", "b")),),)


def test_trees_without_a_broker_in_common_meet_at_one_link() -> None:
    problem = framed(LINE, Topology.of([("x", "y"), ("y", "z")]))
    assert {action.brokers[0] for step in problem.appends for action in step} == {"x", "y", "z"}
    assert {action.brokers[0] for step in problem.detaches for action in step} == {"a", "b", "c"}


def test_a_single_broker_may_be_replaced() -> None:
    framed(Topology.of([], ["a"]), Topology.of([], ["x"]))


def test_exclusive_brokers_take_part_in_one_append_per_step() -> None:
    goal = Topology.of([("a", "b"), ("b", "c"), ("c", "x"), ("c", "y"), ("a", "z")])
    problem = framed(LINE, goal, Limits(exclusive=True))
    assert [len(step) for step in problem.appends] == [2, 1]
    assert framed(goal, LINE, Limits(exclusive=True)).detaches


@pytest.mark.parametrize(("forbidden", "where"), [("append", "x"), ("detach", "a")])
def test_an_operation_that_is_missing_is_named(forbidden: str, where: str) -> None:
    limits = Limits(operations=frozenset({"shift", "append", "detach"}) - {forbidden})
    answer = frame(LINE, Topology.of([("b", "c"), ("c", "x")]), limits)
    assert isinstance(answer, Infeasible)
    assert (answer.limit, answer.where, answer.proven) == (forbidden, where, True)


def test_a_tree_over_the_degree_limit_is_named_and_proven_if_joining_brokers_are_not_the_reason() -> None:
    star = Topology.of([("a", "b"), ("a", "c"), ("a", "d")])
    line = Topology.of([("a", "b"), ("b", "c"), ("c", "d")])
    fork = Topology.of([("x", "a"), ("a", "y")])
    grown = Topology.of([("x", "y"), ("y", "a"), ("a", "n")])
    for current, goal, proven in ((line, star, True), (LINE, star, True), (fork, grown, False)):
        problem = frame(current, goal, Limits())
        assert isinstance(problem, Problem)
        crowded = over_degree(problem, Limits(max_degree=2))
        assert crowded is not None
        assert (crowded.limit, crowded.where, crowded.proven) == ("max-degree", "a", proven)
        assert over_degree(problem, Limits(max_degree=3)) is None
