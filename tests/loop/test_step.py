"""The cycle, event by event."""

from collections.abc import Callable

import pytest
from tests.loop.driving import Driven

from regraft.loop import commands as c
from regraft.loop import events as e
from regraft.loop.goals.goal import Verdict
from regraft.loop.judging import Comparison
from regraft.loop.maintenance import slot
from regraft.loop.step import IllegalEvent
from regraft.loop.values import ProposalState, Window
from regraft.model.intents import Delete
from regraft.testing.loop_world import compared


def test_a_window_is_measured_when_it_is_over_and_not_before() -> None:
    loop = Driven()
    assert loop.wait(5) == ()
    loop.now = loop.state.due
    loop.wait(0)
    asked = loop.asked(c.Measure)
    assert (asked.start, asked.end) == (1000.0, 1010.0)


def test_windows_that_were_missed_stay_unmeasured() -> None:
    loop = Driven()
    loop.wait(95)
    asked = loop.asked(c.Measure)
    assert (asked.start, asked.end) == (1080.0, 1090.0)


def test_a_quiet_window_says_nothing() -> None:
    loop = Driven(least_publications=100)
    loop.window(publications=99)
    assert loop.kinds()[-1] == "quiet"
    assert loop.state.phase == "waiting"


def test_in_mode_propose_a_plan_waits_until_somebody_approves_it() -> None:
    loop = Driven("propose")
    plan = loop.proposal()
    assert loop.asked(c.Propose).proposal.needs_approval == "the mode is propose"
    assert loop.wait(1) == ()
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    assert loop.asked(c.Deploy).running.plan == plan
    assert loop.asked(c.Deploy).running.by == "ann"


def test_in_mode_automatic_it_is_carried_out_at_once() -> None:
    loop = Driven("automatic")
    plan = loop.proposal()
    assert loop.asked(c.Deploy).running.plan == plan
    assert loop.kinds()[-3:] == ["proposed", "approved", "deploying"]


def test_in_mode_observe_the_plan_is_made_and_only_shown() -> None:
    loop = Driven("observe", max_actions=2)
    plan = loop.proposal(gain=0.3, actions=3)
    proposal = loop.asked(c.Propose).proposal
    assert (proposal.planned.plan, proposal.observed, proposal.needed_gain) == (plan, True, 0.05)
    assert proposal.outside_limits == "it has 3 actions, and at most 2 are allowed without asking"
    said = "2 steps, 3 actions would save 30.0% of the routing cost; the loop only observes"
    assert loop.said[-1] == ("would-propose", f"{said} (the mode is observe)")
    assert loop.state.phase == "waiting"


def test_what_is_only_shown_can_be_neither_approved_nor_rejected() -> None:
    loop = Driven("observe")
    plan = loop.proposal()
    why = "the loop only observes (the mode is observe): the plan is shown, and nothing can be approved"
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    assert loop.said[-1] == ("refused", f"{plan} cannot be approved: {why}")
    loop.give(e.Rejected(at=loop.now, plan=plan, by="ann", reason="no"))
    assert loop.said[-1] == ("refused", f"{plan} cannot be rejected: {why}")
    assert loop.state.phase == "waiting"


def test_what_is_only_shown_is_shown_for_as_long_as_it_gains() -> None:
    loop = Driven("observe")
    plan = loop.proposal()
    loop.window(proposal=compared(0.2))
    assert loop.said[-1] == ("kept", f"the plan {plan} would still save 20.0%, and is only shown")
    loop.window(proposal=compared(0.01))
    assert ("withdrawn", f"the proposal {plan} is withdrawn: it would save 1.0% of the routing cost now") in (
        loop.said
    )
    assert loop.state.proposal is None


def test_in_mode_observe_what_gains_is_confirmed_before_it_is_planned() -> None:
    loop = Driven("observe", confirm=2)
    loop.window()
    loop.design(0.3)
    said = "30.0% of the routing cost could be saved; seen in 1 of 2 windows"
    assert loop.said[-1] == ("unconfirmed", said)
    assert loop.state.proposal is None
    loop.window(candidate=compared(0.3), candidate_saved=1000.0)
    loop.design(0.3)
    loop.plan()
    assert loop.kinds()[-1] == "would-propose"


def test_what_was_only_shown_is_proposed_when_the_mode_is_set_to_propose() -> None:
    loop = Driven("observe")
    plan = loop.proposal()
    loop.give(e.ModeSet(at=loop.now, mode="propose", by="ann"))
    assert loop.asked(c.Settle) == c.Settle(
        plan=plan, state=ProposalState.WAITING, reason="the mode is propose"
    )
    assert loop.kinds()[-2:] == ["mode", "proposed"]
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    assert loop.asked(c.Deploy).running.plan == plan


def test_a_window_with_one_publication_is_told_in_the_singular() -> None:
    loop = Driven(least_publications=2)
    loop.window(publications=1)
    said = "1 publication in the window: too few to judge by, at least 2 are needed"
    assert loop.said[-1] == ("quiet", said)


def test_a_gain_that_is_too_small_changes_nothing() -> None:
    loop = Driven(least_gain=0.1)
    loop.window()
    loop.design(0.09)
    assert loop.said[-1][0] == "kept"
    assert "at least 10.0% is needed" in loop.said[-1][1]


def test_a_change_that_costs_more_than_it_saves_is_not_made() -> None:
    loop = Driven("automatic", payback_windows=2.0, action_price=1000.0)
    loop.proposal(gain=0.3, actions=10)
    assert loop.said[-1][0] == "kept"
    assert "not worth it" in loop.said[-1][1]


def test_a_candidate_has_to_gain_in_several_windows_in_a_row() -> None:
    loop = Driven("automatic", confirm=3)
    loop.window()
    loop.design(0.3)
    assert "seen in 1 of 3 windows" in loop.said[-1][1]
    loop.window(candidate=compared(0.2), candidate_saved=1000.0)
    assert "seen in 2 of 3 windows" in loop.said[-1][1]
    loop.window(candidate=compared(0.25), candidate_saved=1000.0)
    assert loop.asked(c.Design).windows == 3
    loop.design(0.24)
    assert loop.asked(c.MakePlan).candidate.windows == 3


def test_what_is_confirmed_is_designed_once_more_for_the_windows_in_which_it_was() -> None:
    """If the traffic has changed, the traffic before that has no influence on the design."""
    loop = Driven("automatic", confirm=2)
    loop.window()
    loop.design(0.3, added=("x", "y"))
    loop.window(candidate=compared(0.2), candidate_saved=1000.0)
    loop.design(0.4, added=("x", "z"))
    assert loop.asked(c.MakePlan).candidate.added == (("x", "z"),)
    other = Driven("automatic", confirm=2)
    other.window()
    other.design(0.3, added=("x", "y"))
    other.window(candidate=compared(0.2), candidate_saved=1000.0)
    other.design(0.1, added=("x", "z"))
    assert other.asked(c.MakePlan).candidate.added == (("x", "y"),)


def test_a_window_in_which_it_does_not_gain_begins_the_search_anew() -> None:
    loop = Driven("automatic", confirm=3)
    loop.window()
    loop.design(0.3)
    loop.window(candidate=compared(0.01), candidate_saved=10.0)
    assert loop.said[-1][0] == "unconfirmed"
    assert loop.asked(c.Design).windows == 3
    assert loop.state.candidate is None


def test_a_proposal_that_no_longer_gains_is_withdrawn() -> None:
    loop = Driven("propose")
    plan = loop.proposal()
    loop.window(proposal=compared(0.2))
    assert loop.said[-1][0] == "kept"
    loop.window(proposal=compared(0.0))
    assert "withdrawn" in loop.kinds()
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    assert loop.said[-1] == ("refused", f"{plan} cannot be approved: it is withdrawn already")


def test_a_proposal_is_approved_once() -> None:
    loop = Driven("propose")
    plan = loop.proposal()
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    loop.give(e.Approved(at=loop.now, plan=plan, by="bob"))
    assert loop.said[-1] == ("refused", f"{plan} cannot be approved: it is being carried out already")
    loop.deployed()
    loop.give(e.Approved(at=loop.now, plan=plan, by="bob"))
    assert loop.said[-1] == ("refused", f"{plan} cannot be approved: it is done already")


def test_an_approval_for_a_topology_that_has_changed_is_refused() -> None:
    loop = Driven("propose")
    plan = loop.proposal()
    loop.give(e.TopologyChanged(at=loop.now, epoch=2, sha256="t2"))
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    assert loop.said[-1] == ("refused", f"{plan} cannot be approved: it is stale already")
    assert loop.state.phase == "waiting"


def test_a_change_by_somebody_else_during_a_run_is_known_when_it_has_failed() -> None:
    loop = Driven("propose", cool_down_seconds=0.0)
    loop.give(e.Approved(at=loop.now, plan=loop.proposal(), by="ann"))
    loop.give(e.TopologyChanged(at=loop.now, epoch=5, sha256="t5"))
    loop.deployed("failed", epoch=1, topology="t1", actions=0)
    assert (loop.state.epoch, loop.state.topology) == (5, "t5")
    loop.now += 3600.0
    plan = loop.proposal()
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    assert loop.state.phase == "deploying"


@pytest.mark.parametrize(
    "told",
    [
        lambda now: e.ModeSet(at=now, mode="observe", by="ann"),
        lambda now: e.Paused(at=now, reason="lunch", by="ann"),
    ],
)
def test_a_loop_that_is_set_to_observe_while_a_plan_is_made_does_not_propose_it(
    told: Callable[[float], e.Event],
) -> None:
    loop = Driven("propose")
    loop.window()
    command = loop.design(0.3)
    loop.give(told(loop.now))
    loop.last = command
    loop.plan()
    assert "proposed" not in loop.kinds()
    assert loop.kinds()[-1] == "would-propose"
    assert loop.state.proposal is not None
    assert loop.state.proposal.observed


def test_the_log_says_who_stopped_a_run() -> None:
    loop = Driven("propose")
    loop.give(e.Approved(at=loop.now, plan=loop.proposal(), by="ann"))
    loop.give(e.RunAsked(at=loop.now, wanted="stop", by="eve"))
    assert loop.said[-1] == ("deploying", "the run under way is to stop, after the actions that have begun")
    loop.deployed("stopped", actions=1, reason="")
    assert any("stopped by eve" in text for _, text in loop.said)


def test_when_the_clock_is_set_back_windows_are_measured_again() -> None:
    loop = Driven("propose")
    loop.window(publications=0)
    loop.now -= 86_400.0
    loop.wait(0.0)
    loop.now += 30.0
    loop.give(e.Tick(at=loop.now))
    assert loop.asked(c.Measure).end <= loop.now


def test_a_rejected_plan_is_not_proposed_again_for_a_while() -> None:
    loop = Driven("propose", cool_down_seconds=60.0)
    plan = loop.proposal()
    loop.give(e.Rejected(at=loop.now, plan=plan, by="ann", reason="not on a Friday"))
    assert any(isinstance(each, c.Settle) and each.state == "rejected" for each in loop.last)
    loop.window()
    assert loop.said[-1][0] == "cooling"


def test_after_a_change_it_cools_down_and_looks_at_what_was_gained() -> None:
    loop = Driven("automatic", cool_down_seconds=30.0)
    loop.proposal(gain=0.3)
    loop.deployed()
    loop.now += 10
    loop.window(cost=3500.0)
    assert [kind for kind, _ in loop.said[-2:]] == ["verified", "cooling"]
    assert "30.0% saved, 30.0% were expected" in loop.said[-2][1]


def test_a_change_that_gained_nothing_is_logged_as_such() -> None:
    loop = Driven("automatic", cool_down_seconds=30.0)
    loop.proposal(gain=0.3)
    loop.deployed()
    loop.now += 10
    loop.window(cost=5100.0)
    assert "disappointed" in loop.kinds()


@pytest.mark.parametrize("kept", [True, False])
def test_only_a_hard_goal_that_is_broken_does_not_wait_until_it_has_cooled_down(kept: bool) -> None:
    loop = Driven("automatic", cool_down_seconds=30.0)
    loop.proposal()
    loop.deployed()
    loop.now = loop.state.due
    loop.give(e.Tick(at=loop.now))
    measure = loop.asked(c.Measure)
    window = Window(id="w", start=measure.start, end=measure.end, publications=1000)
    loop.give(e.Measured(at=loop.now, ticket=measure.ticket, window=window))
    degree = Verdict(goal="degree", hard=True, kept=kept, reason="b0 has 9 links", number=9.0, limit=5.0)
    current = Comparison(now=(degree,), then=(degree,), improves=None, gain=0.0, against=None)
    ticket = loop.asked(c.Assess).ticket
    loop.give(e.Judged(at=loop.now, ticket=ticket, window=window, current=current, cost=5000.0))
    assert loop.state.phase == ("waiting" if kept else "designing")


def test_undoing_a_change_needs_twice_the_gain() -> None:
    loop = Driven("automatic", cool_down_seconds=0.0, least_gain=0.1)
    loop.proposal(gain=0.3)
    loop.deployed()
    loop.window()
    loop.design(0.15, added=("y", "z"), removed=("x", "y"))
    assert "at least 20.0% is needed, because it undoes 1 recent change" in loop.said[-1][1]


def test_a_change_is_forgotten_in_time() -> None:
    loop = Driven("automatic", cool_down_seconds=0.0, least_gain=0.1, memory_seconds=30.0)
    loop.proposal(gain=0.3)
    loop.deployed()
    loop.now += 40
    loop.proposal(gain=0.3)
    loop.deployed()
    assert len(loop.state.memory) == 1


def test_what_is_forgotten_may_be_undone_for_the_least_gain() -> None:
    """Also if no later run has cleared the memory: `deployed` does that, and no other event."""
    loop = Driven("automatic", cool_down_seconds=0.0, least_gain=0.1, memory_seconds=30.0)
    loop.proposal(gain=0.3)
    loop.deployed()
    loop.now += 40
    loop.window()
    loop.design(0.15, added=("y", "z"), removed=("x", "y"))
    loop.asked(c.MakePlan)


def test_the_budget_of_an_hour_makes_a_plan_wait_for_a_person() -> None:
    loop = Driven("automatic", actions_per_hour=5, cool_down_seconds=0.0)
    loop.proposal(actions=3)
    loop.deployed()
    plan = loop.proposal(actions=3)
    assert loop.said[-1][0] == "waiting"
    assert "has 2 left" in loop.said[-1][1]
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    assert loop.asked(c.Deploy).running.plan == plan


def test_a_budget_that_a_person_has_overdrawn_has_nothing_left() -> None:
    loop = Driven("automatic", actions_per_hour=5, cool_down_seconds=0.0)
    loop.give(e.Approved(at=loop.now, plan=loop.proposal(actions=9), by="ann"))
    loop.deployed(actions=9)
    loop.proposal(actions=1)
    assert "has 0 left" in loop.said[-1][1]


def test_a_design_that_succeeds_after_failures_ends_the_trouble() -> None:
    """Only using it shows that it works: after the wait it is used once, and not when it fails again."""
    loop = Driven("automatic", back_off_seconds=5.0)
    loop.window()
    loop.give(e.Failed(at=loop.now, part="design", reason="no memory", ticket=loop.asked(c.Design).ticket))
    assert loop.state.only_observes is not None
    loop.wait(5)
    loop.window()
    loop.design(0.001)
    assert loop.state.troubles == {}
    assert "recovered" in loop.kinds()


def test_outside_the_maintenance_windows_a_plan_waits_until_one_begins() -> None:
    loop = Driven("automatic", maintenance=(slot("01:00-02:00"),))
    loop.proposal()
    assert "outside the maintenance windows" in loop.said[-1][1]
    loop.now = 3599.0
    loop.give(e.Paused(at=loop.now, by="ann", reason=""))
    loop.give(e.Resumed(at=loop.now, by="ann"))
    assert loop.state.running is None
    loop.now = 3600.0
    loop.give(e.Resumed(at=loop.now, by="ann"))
    loop.asked(c.Deploy)


def test_healing_goes_first_and_stops_what_is_under_way() -> None:
    loop = Driven("automatic")
    loop.proposal()
    loop.give(e.IntentRaised(at=loop.now, id="i1", intent=Delete(broker="b3")))
    assert loop.asked(c.StopRun).reason == "healing goes first"
    loop.deployed("stopped")
    assert [each.id for each in loop.asked(c.Repair).wanted] == ["i1"]
    loop.plan()
    assert loop.asked(c.Deploy).running.cause == "healing"
    loop.deployed()
    assert loop.asked(c.AnswerIntents).done


def test_healing_needs_no_approval_but_can_be_made_to() -> None:
    loop = Driven("propose", heal=False)
    loop.give(e.IntentRaised(at=loop.now, id="i1", intent=Delete(broker="b3")))
    plan = loop.plan()
    assert loop.state.phase == "waiting"
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    assert loop.asked(c.Deploy).running.cause == "healing"


@pytest.mark.parametrize("how", ["observe", "paused"])
@pytest.mark.parametrize("planning", [True, False])
def test_healing_that_has_not_begun_when_the_loop_is_told_to_observe_is_not_done(
    how: str, planning: bool
) -> None:
    loop = Driven("automatic")
    if not planning:
        loop.proposal()
    loop.give(e.IntentRaised(at=loop.now, id="i1", intent=Delete(broker="b3")))
    stop: e.Event = (
        e.ModeSet(at=loop.now, mode="observe", by="ann")
        if how == "observe"
        else e.Paused(at=loop.now, by="ann", reason="")
    )
    loop.give(stop)
    assert (loop.asked(c.AnswerIntents).intents, loop.asked(c.AnswerIntents).done) == (("i1",), False)
    why = "the loop only observes" if how == "observe" else "the loop is paused"
    assert ("healing", f"delete b3: not done, {why}") in loop.said
    if not planning:
        loop.deployed("stopped")
    assert (loop.state.phase, loop.state.wanted, loop.state.repairing) == ("waiting", (), ())
    assert not any(isinstance(each, c.Repair | c.Deploy) for each in loop.last)


def test_healing_that_cannot_be_planned_is_told_why() -> None:
    loop = Driven("propose")
    loop.give(e.IntentRaised(at=loop.now, id="i1", intent=Delete(broker="b3")))
    ticket = loop.asked(c.Repair).ticket
    loop.give(e.PlanMade(at=loop.now, ticket=ticket, reason="nobody lives"))
    answer = loop.asked(c.AnswerIntents)
    assert (answer.done, answer.reason) == (False, "nobody lives")


def test_when_spark_fails_the_loop_observes_and_tries_again_ever_more_rarely() -> None:
    loop = Driven("automatic", back_off_seconds=5.0)
    waits = []
    for _ in range(4):
        loop.now = max(loop.now, loop.state.due)
        loop.wait(0)
        ticket = loop.asked(c.Measure).ticket
        loop.give(e.Failed(at=loop.now, part="measure", reason="Spark has gone", ticket=ticket))
        assert loop.state.effective_mode == "observe"
        waits.append(loop.state.due - loop.now)
    assert waits == [5.0, 10.0, 20.0, 40.0]
    loop.window()
    assert "recovered" in loop.kinds()
    assert loop.state.effective_mode == "automatic"


def test_while_zookeeper_is_away_nothing_is_approved_and_it_is_probed() -> None:
    loop = Driven("propose", back_off_seconds=5.0)
    plan = loop.proposal()
    loop.give(e.Failed(at=loop.now, part="coordination", reason="no answer"))
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    assert loop.said[-1][0] == "refused"
    loop.wait(5)
    assert loop.asked(c.Probe).part == "coordination"
    loop.give(e.Recovered(at=loop.now, part="coordination"))
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    loop.asked(c.Deploy)


def test_what_fails_is_not_probed_before_its_time() -> None:
    loop = Driven("propose", back_off_seconds=5.0)
    loop.give(e.Failed(at=loop.now, part="coordination", reason="no answer"))
    assert not [each for each in loop.wait(4.9) if isinstance(each, c.Probe)]
    assert [each for each in loop.wait(0.1) if isinstance(each, c.Probe)]


@pytest.mark.parametrize("paused", [False, True])
def test_a_loop_that_only_observes_refuses_what_healing_wants(paused: bool) -> None:
    loop = Driven("automatic" if paused else "observe")
    if paused:
        loop.give(e.Paused(at=loop.now, by="ann", reason="a holiday"))
    loop.give(e.IntentRaised(at=loop.now, id="i1", intent=Delete(broker="c")))
    why = "the loop is paused" if paused else "the loop only observes"
    assert loop.asked(c.AnswerIntents) == c.AnswerIntents(intents=("i1",), done=False, reason=why)
    assert not loop.state.wanted


def test_a_run_that_lost_zookeeper_continues_when_it_is_back() -> None:
    loop = Driven("automatic")
    plan = loop.proposal()
    loop.give(e.Failed(at=loop.now, part="coordination", reason="lease lost", ticket=loop.state.ticket))
    assert loop.state.phase == "deploying"
    loop.give(e.Recovered(at=loop.now, part="coordination"))
    assert loop.asked(c.Resume).running.plan == plan


def test_a_failed_run_makes_the_loop_observe_for_a_while() -> None:
    loop = Driven("automatic", back_off_seconds=5.0, cool_down_seconds=0.0)
    loop.proposal()
    loop.deployed("failed")
    modes = [loop.state.effective_mode]
    loop.wait(5)
    assert [*modes, loop.state.effective_mode] == ["observe", "automatic"]


def test_after_a_restart_a_run_continues_and_other_work_begins_anew() -> None:
    loop = Driven("automatic")
    plan = loop.proposal()
    loop.give(e.Started(at=loop.now))
    assert loop.asked(c.Resume).running.plan == plan
    other = Driven("automatic")
    other.now = other.state.due
    other.wait(0)
    old = other.asked(c.Measure).ticket
    other.give(e.Started(at=other.now))
    assert other.state.phase == "waiting"
    late = Window(id="w", start=0.0, end=10.0, publications=5)
    assert other.give(e.Measured(at=other.now, ticket=old, window=late)) == ()


def test_a_run_that_somebody_else_left_in_the_journal_is_finished() -> None:
    loop = Driven("observe")
    loop.give(e.Started(at=loop.now, interrupted="abc"))
    assert loop.asked(c.Resume).running.plan == "abc"


def test_a_proposal_does_not_outlive_a_run_that_somebody_else_left() -> None:
    """In automatic mode it would be carried out on another topology than it was made for."""
    loop = Driven("automatic", actions_per_hour=5, cool_down_seconds=0.0)
    loop.proposal(actions=3)
    loop.deployed()
    plan = loop.proposal(actions=3)
    loop.give(e.Started(at=loop.now, interrupted="abc"))
    loop.now += 4000.0
    loop.deployed()
    assert not any(isinstance(each, c.Deploy) for each in loop.last)
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    assert loop.said[-1] == ("refused", f"{plan} cannot be approved: it is stale already")


def test_the_last_run_can_be_taken_back_by_a_person() -> None:
    loop = Driven("propose")
    loop.give(e.BackAsked(at=loop.now, by="ann"))
    running = loop.asked(c.Deploy).running
    assert (running.plan, running.back) == (None, True)
    loop.deployed(back=True)
    assert loop.said[-1][0] == "deployed"


def test_a_run_under_way_that_is_to_be_taken_back_is_told_so() -> None:
    loop = Driven("automatic")
    loop.proposal()
    loop.give(e.BackAsked(at=loop.now, by="ann"))
    assert loop.asked(c.StopRun).back
    loop.give(e.BackAsked(at=loop.now, by="bob"))
    assert loop.said[-1][0] == "refused"


def test_paused_it_only_observes() -> None:
    loop = Driven("automatic")
    loop.give(e.Paused(at=loop.now, by="ann", reason="release day"))
    plan = loop.proposal()
    assert loop.kinds()[-1] == "would-propose"
    loop.give(e.Approved(at=loop.now, plan=plan, by="ann"))
    assert loop.kinds()[-1] == "refused"
    loop.give(e.Resumed(at=loop.now, by="ann"))
    assert loop.asked(c.Deploy).running.plan == plan


def test_setting_the_mode_to_observe_withdraws_what_waits() -> None:
    loop = Driven("propose")
    loop.proposal()
    loop.give(e.ModeSet(at=loop.now, mode="observe", by="ann"))
    assert loop.state.proposal is None
    assert loop.kinds()[-2:] == ["mode", "withdrawn"]


def test_an_answer_to_a_question_that_was_not_asked_is_a_fault() -> None:
    loop = Driven()
    window = Window(id="w", start=0.0, end=10.0, publications=5)
    with pytest.raises(IllegalEvent, match="ticket 99"):
        loop.give(e.Measured(at=loop.now, ticket=99, window=window))
    with pytest.raises(IllegalEvent, match="while waiting"):
        loop.give(e.Measured(at=loop.now, ticket=loop.state.ticket, window=window))
