"""Where one decision of the loop ends and the next begins: limits that are just reached, and their words."""

import pytest
from tests.loop.driving import Driven

from regraft.loop import commands as c
from regraft.loop import events as e
from regraft.loop.goals import Limits, Seen, Verdict
from regraft.loop.goals.balance import Balance
from regraft.loop.goals.validity import Validity
from regraft.loop.hysteresis import buffered
from regraft.loop.judging import weigh
from regraft.loop.policy import Policy
from regraft.model import Action, Infeasible, Topology
from regraft.model.assessment import Assessment
from regraft.model.intents import Delete
from regraft.plan import make_plan

LINE = Topology.of([("a", "b"), ("b", "c")])


def soft(goal: str, number: float | None) -> Verdict:
    return Verdict(goal=goal, hard=False, kept=True, reason="", number=number)


def broken(number: float) -> Verdict:
    return Verdict(goal="degree", hard=True, kept=False, reason="too many", number=number, limit=1.0)


def test_validity_is_hard_and_the_largest_load_is_in_units_of_the_average() -> None:
    seen = Seen(LINE, Assessment(LINE.sha256, {"broker_load_balance": 0.5}, {}), 10.0)
    validity, balance = Validity().judge(seen, Limits()), Balance().judge(seen, Limits())
    assert validity is not None
    assert balance is not None
    assert (validity.hard, balance.hard, balance.number) == (True, False, 2.0)


@pytest.mark.parametrize(("before", "after"), [(None, 5.0), (5.0, None), (5.0, 5.0), (0.0, 0.0)])
def test_a_number_that_is_unknown_or_unchanged_is_no_gain(before: float | None, after: float | None) -> None:
    found = weigh((soft("cost", before),), (soft("cost", after),), 0.0)
    assert (found.improves, found.against) == (None, "no goal gets better")


def test_a_gain_of_just_the_tolerance_is_none_and_neither_is_such_a_loss_worse() -> None:
    assert weigh((soft("cost", 4.0),), (soft("cost", 3.0),), 0.25).improves is None
    assert weigh((soft("cost", 4.0),), (soft("cost", 2.9),), 0.25).improves == "cost"
    assert weigh((soft("cost", 4.0),), (soft("cost", 5.0),), 0.25).against == "no goal gets better"
    # A hard goal that is broken may get worse by as much as the tolerance, and no more.
    now, better = soft("cost", 4.0), soft("cost", 1.0)
    assert weigh((broken(4.0), now), (broken(5.0), better), 0.25).improves == "cost"
    assert weigh((broken(4.0), now), (broken(5.1), better), 0.25).against == "degree: too many"


def test_what_waits_is_what_flows_over_the_links_that_are_removed() -> None:
    plan = make_plan(LINE, Topology.of([("a", "c"), ("b", "c")]))
    assert not isinstance(plan, Infeasible)
    assert [action for step in plan.steps for action in step] == [Action("shift", ("a", "b", "c"))]
    policy = Policy(action_seconds=0.5)
    assert buffered(plan, {("a", "b"): 30.0, ("b", "c"): 90.0}, policy) == 15.0
    assert buffered(plan, {("b", "c"): 90.0}, policy) == 45.0  # not measured: as an average one
    assert buffered(plan, {}, policy) == 0.0


def test_the_limit_of_transformations_in_an_hour_is_reached_by_as_many() -> None:
    loop = Driven("automatic", transformations_per_hour=2, cool_down_seconds=0.0)
    for _ in range(2):
        loop.proposal()
        loop.asked(c.Deploy)
        loop.deployed()
    loop.proposal()
    assert loop.said[-1][0] == "waiting"
    assert "the limit of 2 transformations in an hour is reached" in loop.said[-1][1]


def test_a_window_with_just_enough_publications_is_judged() -> None:
    loop = Driven(least_publications=50)
    loop.window(publications=49)
    assert not any(isinstance(each, c.Assess) for each in loop.last)
    loop.window(publications=50)
    loop.asked(c.Design)


def test_a_plan_that_cannot_be_made_ends_the_search_of_this_window() -> None:
    loop = Driven()
    loop.window()
    loop.design(0.3)
    ticket = loop.asked(c.MakePlan).ticket
    loop.give(e.PlanMade(at=loop.now, ticket=ticket, reason="no way"))
    assert (loop.state.phase, loop.state.candidate) == ("waiting", None)
    assert loop.said[-1] == ("kept", "there is no way to the better topology: no way")


def test_the_second_failure_in_a_row_is_called_that() -> None:
    loop = Driven(back_off_seconds=5.0)
    for _ in range(2):
        loop.give(e.Failed(at=loop.now, part="disk", reason="full"))
    assert loop.said[-2][1].endswith("tried again in 5 s")
    assert loop.said[-1][1].endswith("tried again in 10 s, failure 2 in a row")


def test_a_run_for_traffic_is_asked_once_to_make_way_for_healing() -> None:
    loop = Driven("automatic")
    loop.proposal()
    loop.give(e.IntentRaised(at=loop.now, id="i1", intent=Delete(broker="b3")))
    assert loop.asked(c.StopRun).reason == "healing goes first"
    loop.give(e.IntentRaised(at=loop.now, id="i2", intent=Delete(broker="b4")))
    assert not any(isinstance(each, c.StopRun) for each in loop.last)


def test_healing_that_a_person_rejects_is_told_that_it_is_not_done() -> None:
    loop = Driven("propose", heal=False)
    loop.give(e.IntentRaised(at=loop.now, id="i1", intent=Delete(broker="b3")))
    loop.give(e.Rejected(at=loop.now, plan=loop.plan(), by="ann", reason="not now"))
    answer = loop.asked(c.AnswerIntents)
    assert (answer.intents, answer.done, answer.reason) == (("i1",), False, "rejected by ann: not now")


def test_after_a_run_that_could_not_begin_the_loop_cools_down() -> None:
    loop = Driven("automatic", cool_down_seconds=100.0)
    loop.proposal()
    ticket = loop.asked(c.Deploy).ticket
    loop.give(e.Failed(at=loop.now, part="deploy", reason="no agent", ticket=ticket))
    assert loop.state.cooling_until == loop.now + 100.0
    decision = next(each.decision for each in loop.last if isinstance(each, c.Log))
    assert (decision.kind, decision.acted) == ("failed", True)
