import re

import pytest

from regraft.lab.pddl import ENCODINGS, THREE_ACTIONS, Encoding, packed, problem_text, read_plan
from regraft.model import Action, Bounds, Limits, Plan, Topology
from regraft.plan.verify import verify

INITIAL = Topology.of([("1", "2"), ("1", "3"), ("2", "4")])
GOAL = Topology.of([("1", "2"), ("1", "3"), ("3", "4")], brokers=["1", "2", "3", "4"])
"""IPITT Figure 1."""


def facts(section: str, predicate: str) -> set[tuple[str, str]]:
    return {(one, other) for one, other in re.findall(rf"\({predicate} (n\d+) (n\d+)\)", section)}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_brackets_match_in_domain_and_problem(encoding: Encoding) -> None:
    for text in (encoding.domain, problem_text(INITIAL, GOAL, encoding)):
        assert text.count("(") == text.count(")")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_predicate_of_the_problem_is_declared(encoding: Encoding) -> None:
    declared = set(re.findall(r"\((\S+?)[ )]", encoding.domain.split(":predicates")[1].split("(:action")[0]))
    _, facts = problem_text(INITIAL, GOAL, encoding).split("(:init")
    assert set(re.findall(r"\(([a-z-]+)", facts)) - {"and"} <= declared


def test_the_initial_links_stand_both_ways() -> None:
    init, _ = problem_text(INITIAL, GOAL).split("(:goal")
    one_way = {("n0", "n1"), ("n0", "n2"), ("n1", "n3")}
    assert facts(init, "conn") == one_way | {(other, one) for one, other in one_way}


def test_goal_links_are_static_facts_and_the_goal() -> None:
    init, goal = problem_text(INITIAL, GOAL).split("(:goal")
    one_way = {("n0", "n1"), ("n0", "n2"), ("n2", "n3")}
    assert facts(init, "goal-link") == one_way | {(other, one) for one, other in one_way}
    assert facts(goal, "conn") == one_way


def test_every_broker_is_an_object() -> None:
    assert "(:objects n0 n1 n2 n3)" in problem_text(INITIAL, GOAL)


def test_a_written_plan_is_read_back_with_the_brokers_names() -> None:
    text = "(shift n3 n1 n0)\n(shift n3 n0 n2)\n; cost = 2 (unit cost)\n"
    assert read_plan(text, INITIAL) == (
        (Action("shift", ("4", "2", "1")),),
        (Action("shift", ("4", "1", "3")),),
    )


def test_a_shift_in_three_parts_is_read_as_one() -> None:
    text = "(lift n3 n1)\n(slide n1 n0)\n(drop n3 n0)\n(lift n3 n0)\n(slide n0 n2)\n(drop n3 n2)\n"
    assert read_plan(text, INITIAL, THREE_ACTIONS) == (
        (Action("shift", ("4", "2", "1")),),
        (Action("shift", ("4", "1", "3")),),
    )


def shift(*brokers: str) -> tuple[Action]:
    return (Action("shift", brokers),)


def test_shifts_on_different_links_are_packed_into_one_step() -> None:
    """Two leaves of a star move at once; the guard of both stays."""
    steps = (shift("a", "hub", "far"), shift("b", "hub", "far"))
    assert packed(steps) == (steps[0] + steps[1],)


def test_a_shift_of_a_link_that_an_earlier_one_made_comes_a_step_later() -> None:
    steps = (shift("4", "2", "1"), shift("4", "1", "3"))
    assert packed(steps) == steps


def test_a_link_is_removed_after_the_last_shift_that_it_guards() -> None:
    steps = (shift("a", "b", "c"), shift("c", "b", "d"), shift("e", "f", "g"))
    assert packed(steps) == (steps[0] + steps[2], steps[1])


def test_a_packed_plan_replays_like_the_one_it_was_made_from() -> None:
    current = Topology.of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("b", "f")])
    steps = (shift("a", "b", "c"), shift("f", "b", "c"), shift("f", "c", "d"), shift("a", "c", "d"))
    goal = Topology.of([("b", "c"), ("c", "d"), ("d", "e"), ("d", "f"), ("a", "d")])
    short = packed(steps)
    assert len(short) == 2
    for plan in (steps, short):
        verify(Plan("tree", current.sha256, goal.sha256, plan, "test", Bounds(0, 0)), current, goal, Limits())
