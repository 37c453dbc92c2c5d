"""Single events whose effect hangs on one comparison: times, epochs, causes, states."""

from typing import Any

import msgspec
import pytest
from tests.loop.driving import Driven

from regraft.loop import commands as c
from regraft.loop import events as e
from regraft.loop.deploying import back_refusal
from regraft.loop.proposing import busy, refusal
from regraft.loop.state import first_state, next_end
from regraft.loop.step import IllegalEvent, step
from regraft.loop.values import ProposalState, Running
from regraft.model.intents import Delete
from regraft.testing.loop_world import compared


def settled(loop: Driven) -> list[tuple[str, str, str]]:
    return [(each.plan, each.state, each.reason) for each in loop.last if isinstance(each, c.Settle)]


def numbers(loop: Driven, kind: str) -> dict[str, float | None]:
    found = [each.decision for each in loop.last if isinstance(each, c.Log) and each.decision.kind == kind]
    return found[-1].numbers


def test_the_first_window_is_the_first_whole_one() -> None:
    policy = Driven(window_seconds=10.0, settle_seconds=2.0).policy
    assert [next_end(at, policy) for at in (1000.0, 1000.1, 1009.9, 1010.0)] == [
        1010.0,
        1020.0,
        1020.0,
        1020.0,
    ]
    assert first_state(policy, "propose", 1000.0).due == 1012.0


def test_a_window_is_measured_when_its_telemetry_has_settled() -> None:
    loop = Driven(settle_seconds=2.0)
    assert loop.wait(11.9) == ()
    loop.wait(0.1)
    asked = loop.asked(c.Measure)
    assert (asked.start, asked.end, loop.state.due) == (1000.0, 1010.0, 1022.0)
    late = Driven(settle_seconds=2.0)
    late.wait(21.9)  # the window to 1020 has ended, and has not settled
    assert (late.asked(c.Measure).end, late.state.due) == (1010.0, 1022.0)


def test_only_a_clock_that_was_set_back_makes_the_next_window_come_sooner() -> None:
    loop = Driven(settle_seconds=2.0)
    far = loop.now + 2 * 10.0 + 2.0
    loop.state = msgspec.structs.replace(loop.state, due=far)
    loop.wait(0)
    assert loop.state.due == far
    loop.state = msgspec.structs.replace(loop.state, due=far + 0.5)
    assert loop.wait(0) == ()
    assert loop.state.due == 1012.0


@pytest.mark.parametrize("part", ["measure", "disk"])
def test_nothing_is_measured_while_that_fails_or_the_disk_does(part: str) -> None:
    loop = Driven(back_off_seconds=60.0)
    loop.give(e.Failed(at=loop.now, part=part, reason="no"))
    loop.now = loop.state.due
    assert not any(isinstance(each, c.Measure) for each in loop.wait(0))


@pytest.mark.parametrize("part", ["measure", "design", "plan", "coordination", "deploy"])
def test_a_part_that_answers_works_again(part: str) -> None:
    """Each kind of answer ends the trouble of the part that gave it, and of no other."""
    loop = Driven("automatic")
    if part == "measure":
        _trouble(loop, part, "other")
    loop.window()
    if part == "design":
        _trouble(loop, part, "other")
    elif part != "measure":
        loop.design(0.3)
        if part == "plan":
            _trouble(loop, part, "other")
    if part in ("design", "plan"):
        answer = {"design": e.Designed, "plan": e.PlanMade}[part]
        loop.give(answer(at=loop.now, ticket=loop.state.ticket, reason="none"))
    elif part != "measure":
        loop.plan()
        _trouble(loop, part, "other")
        loop.deployed()
    assert list(loop.state.troubles) == ["other"]


def _trouble(loop: Driven, *parts: str) -> None:
    for part in parts:
        loop.give(e.Failed(at=loop.now, part=part, reason="no"))


def test_a_part_is_tried_ever_more_rarely_up_to_a_limit() -> None:
    loop = Driven(back_off_seconds=3.0, longest_back_off_seconds=20.0)
    waits = []
    for _ in range(5):
        loop.give(e.Failed(at=loop.now, part="deploy", reason="no"))
        trouble = loop.state.troubles["deploy"]
        waits.append(trouble.retry_at - loop.now)
        assert trouble.since == 1000.0
        loop.now += 1
    assert waits == [3.0, 6.0, 12.0, 20.0, 20.0]
    assert trouble.failures == 5


def test_what_is_probed_is_probed_again_only_if_the_answer_is_lost() -> None:
    loop = Driven(back_off_seconds=5.0, longest_back_off_seconds=50.0)
    loop.give(e.Failed(at=loop.now, part="coordination", reason="no"))
    assert [each for each in loop.wait(5) if isinstance(each, c.Probe)] == [c.Probe(part="coordination")]
    assert not any(isinstance(each, c.Probe) for each in loop.wait(49))
    assert loop.state.only_observes == "a part fails"
    assert any(isinstance(each, c.Probe) for each in loop.wait(1))


def test_only_what_can_be_tried_by_using_it_is_lifted() -> None:
    loop = Driven(back_off_seconds=5.0)
    _trouble(loop, "plan", "measure", "disk")
    loop.wait(5)
    assert {part: each.lifted for part, each in loop.state.troubles.items()} == {
        "plan": True,
        "measure": False,
        "disk": False,
    }
    assert [each.part for each in loop.state.failing] == ["measure", "disk"]


def test_while_no_plan_can_be_made_windows_are_measured_and_nothing_is_planned() -> None:
    loop = Driven(back_off_seconds=500.0)
    _trouble(loop, "plan")
    loop.window()
    loop.design(0.3)
    loop.window(candidate=compared(0.3), candidate_saved=1500.0)
    loop.window(candidate=compared(0.3), candidate_saved=1500.0)
    assert loop.to_plan is None


def test_what_a_change_gained_is_told_by_the_first_whole_window_after_it() -> None:
    loop = Driven("automatic", cool_down_seconds=30.0)
    loop.proposal(gain=0.3)
    loop.now += 4
    loop.deployed()
    loop.window(cost=1.0)  # began before the change had ended
    assert "verified" not in loop.kinds()
    loop.window(cost=4000.0)
    assert numbers(loop, "verified") == {
        "expected_gain": 0.3,
        "gain": pytest.approx(0.2),
        "cost_before": 5.0,
        "cost_after": 4.0,
    }
    settle = loop.asked(c.Settle)
    assert (settle.plan, settle.state) == ("plan1", ProposalState.DONE)
    assert settle.measured_gain == pytest.approx(0.2)
    assert loop.state.expected is None
    loop.window(cost=3000.0)
    assert loop.kinds().count("verified") == 1


def test_a_change_that_saved_just_nothing_disappoints() -> None:
    loop = Driven("automatic", cool_down_seconds=30.0)
    loop.proposal()
    loop.deployed()
    loop.window(cost=5000.0)
    assert "disappointed" in loop.kinds()


@pytest.mark.parametrize("why", ["no cost", "another topology"])
def test_a_gain_that_cannot_be_told_is_not(why: str) -> None:
    loop = Driven("automatic", cool_down_seconds=30.0)
    loop.proposal()
    loop.deployed()
    if why == "another topology":
        loop.state = msgspec.structs.replace(loop.state, topology="t99")
    loop.window(cost=None if why == "no cost" else 4000.0)
    assert not {"verified", "disappointed"} & set(loop.kinds())
    assert loop.state.expected is None


def test_only_a_change_for_the_traffic_is_expected_to_gain() -> None:
    loop = Driven("automatic", cool_down_seconds=0.0)
    loop.proposal()
    loop.deployed(back=True)
    assert loop.state.expected is None
    loop.give(e.IntentRaised(at=loop.now, id="i", intent=Delete(broker="b")))
    loop.plan()
    loop.deployed()
    assert loop.state.expected is None
    assert loop.state.spent == (loop.state.spent[0],)  # healing uses no budget


def test_a_proposal_stands_while_it_gains_half_of_the_least_gain() -> None:
    loop = Driven("propose", least_gain=0.1)
    loop.proposal()
    loop.window(proposal=compared(0.05))
    assert loop.said[-1][0] == "kept"
    loop.window(proposal=compared(0.0499))
    assert "withdrawn" in loop.kinds()


def test_a_proposal_that_mends_stands_whatever_it_gains() -> None:
    loop = Driven("propose", least_gain=0.1)
    plan = loop.proposal()
    loop.window(proposal=msgspec.structs.replace(compared(0.01), mends=True))
    assert loop.said[-1] == ("kept", f"the plan {plan} would still save 1.0%, and waits")
    loop.window(proposal=msgspec.structs.replace(compared(0.3), mends=True, against="too many links"))
    assert ("withdrawn", f"the proposal {plan} is withdrawn: too many links") in loop.said


def test_a_candidate_needs_just_the_least_gain() -> None:
    loop = Driven("propose", least_gain=0.3)
    loop.window()
    loop.design(0.3)
    loop.asked(c.MakePlan)


@pytest.mark.parametrize(("gain", "taken"), [(0.4, True), (0.3, False)])
def test_a_refined_candidate_is_taken_if_it_gains_more(gain: float, taken: bool) -> None:
    loop = Driven("automatic", confirm=2, max_actions=4)
    loop.window()
    assert loop.asked(c.Design).max_actions == 4
    loop.design(0.35, added=("x", "y"))
    loop.window(candidate=compared(0.3), candidate_saved=1000.0)
    assert (loop.asked(c.Design).windows, loop.asked(c.Design).max_actions) == (2, 4)
    loop.design(gain, added=("x", "z"))
    candidate = loop.asked(c.MakePlan).candidate
    assert candidate.added == ((("x", "z") if taken else ("x", "y")),)
    assert candidate.windows == 2


def test_a_mode_that_asks_has_no_limit_of_actions() -> None:
    loop = Driven("propose", max_actions=4)
    loop.window()
    assert loop.asked(c.Design).max_actions is None


def test_cooling_ends_when_its_time_is_over() -> None:
    loop = Driven("propose", cool_down_seconds=20.0)
    plan = loop.proposal()
    loop.give(e.Rejected(at=loop.now, plan=plan, by="ann", reason="no"))
    assert loop.state.cooling_until == loop.now + 20.0
    loop.window()
    assert loop.said[-1] == ("cooling", "the last change is too recent, 10 s are left")
    loop.window()
    loop.asked(c.Design)


def test_our_own_run_ends_at_an_epoch_that_may_be_known_already() -> None:
    loop = Driven("automatic")
    loop.proposal()
    loop.give(e.TopologyChanged(at=loop.now, epoch=4, sha256="t4"))
    assert "topology" not in loop.kinds()
    loop.deployed(epoch=4, topology="ours")
    assert (loop.state.epoch, loop.state.topology) == (4, "ours")


@pytest.mark.parametrize(
    ("ended", "state", "reason"),
    [
        ({}, ProposalState.DONE, "carried out"),
        ({"back": True}, ProposalState.STOPPED, "taken back"),
        ({"state": "failed"}, ProposalState.FAILED, "it broke"),
        ({"state": "stopped", "reason": "a person"}, ProposalState.STOPPED, "a person"),
        ({"state": "failed", "back": True}, ProposalState.STOPPED, "taken back"),
    ],
)
def test_a_proposal_ends_as_its_run_does(ended: dict[str, Any], state: ProposalState, reason: str) -> None:
    loop = Driven("automatic")
    plan = loop.proposal()
    loop.deployed(**ended)
    assert settled(loop) == [(plan, state, reason)]
    assert loop.state.settled[-1] == (plan, state)
    fails = ended.get("state") == "failed"
    assert ("deploy" in loop.state.troubles) is fails
    assert loop.state.phase == "waiting"
    assert numbers(loop, "failed" if "state" in ended else "deployed")["actions"] == 3.0


def test_a_run_that_changed_nothing_is_not_remembered() -> None:
    loop = Driven("automatic", cool_down_seconds=7.0)
    loop.proposal()
    loop.deployed("failed", added=(), removed=())
    assert loop.state.memory == ()
    assert loop.state.cooling_until == loop.now + 7.0
    assert [each.actions for each in loop.state.spent] == [3]
    loop.now += 100
    loop.state = msgspec.structs.replace(loop.state, troubles={})
    loop.proposal()
    loop.deployed(added=(), removed=(("y", "z"),))
    assert [each.removed for each in loop.state.memory] == [(("y", "z"),)]


def test_a_run_that_pauses_is_not_about_to_stop() -> None:
    loop = Driven("automatic")
    loop.give(e.RunAsked(at=loop.now, wanted="stop", by="eve"))
    assert loop.last == ()  # there is none
    loop.proposal()
    stopping = []
    for wanted in ("pause", "stop", "pause", "run"):
        loop.give(e.RunAsked(at=loop.now, wanted=wanted, by="eve"))
        assert loop.state.running is not None
        stopping.append(loop.state.running.stopping)
    assert stopping == [None, "stopped by eve", "stopped by eve", None]
    assert loop.said[-1][1] == "the run under way continues, after the actions that have begun"


@pytest.mark.parametrize("why", ["coordination", "wanted", "back"])
def test_a_run_is_not_taken_back_while(why: str) -> None:
    loop = Driven("propose")
    if why == "coordination":
        _trouble(loop, "coordination")
    elif why == "wanted":
        loop.give(e.IntentRaised(at=loop.now, id="i", intent=Delete(broker="b")))
    else:
        loop.give(e.BackAsked(at=loop.now, by="ann"))
    loop.give(e.BackAsked(at=loop.now, by="ann"))
    said = {
        "coordination": "coordination fails: no",
        "wanted": "healing goes first",
        "back": "it is being taken back already",
    }
    assert loop.said[-1] == ("refused", f"the last run cannot be taken back: {said[why]}")


def test_a_proposal_gives_way_to_a_run_that_is_taken_back() -> None:
    loop = Driven("propose")
    plan = loop.proposal()
    loop.give(e.BackAsked(at=loop.now, by="ann"))
    assert settled(loop) == [(plan, "withdrawn", "the last run is taken back")]
    assert (loop.state.proposal, loop.state.candidate) == (None, None)
    assert loop.state.running == Running(plan=None, cause="person", by="ann", began=loop.now, back=True)


@pytest.mark.parametrize("why", ["observe", "busy", "healing", "away"])
def test_a_plan_is_not_approved_while(why: str) -> None:
    loop = Driven("propose")
    plan = loop.proposal()
    state = loop.state
    if why == "observe":
        state = msgspec.structs.replace(state, mode="observe")
        said = "the mode is observe: nothing is changed"
    elif why == "busy":
        state = msgspec.structs.replace(state, phase="deploying")
        said = "another plan is being carried out"
    elif why == "healing":
        loop.give(e.IntentRaised(at=loop.now, id="i", intent=Delete(broker="b")))
        state = msgspec.structs.replace(loop.state, proposal=state.proposal)
        said = "healing goes first"
    else:
        _trouble(loop, "coordination")
        state, said = loop.state, "coordination fails: no"
    _, commands = step(state, e.Approved(at=loop.now, plan=plan, by="ann"))
    texts = [each.decision.text for each in commands if isinstance(each, c.Log)]
    assert f"{plan} cannot be approved: {said}" in texts
    assert not any(isinstance(each, c.Deploy) for each in commands)


def test_a_plan_for_another_epoch_or_topology_is_stale() -> None:
    for field in ({"epoch": 9}, {"topology": "t9"}):
        loop = Driven("propose")
        plan = loop.proposal()
        other = msgspec.structs.replace(loop.state, **field)  # as if the news had been lost
        assert refusal(loop.state, plan) is None
        code, reason = refusal(other, plan) or ("", "")
        assert (code, reason) == ("stale", f"it starts from epoch 1, and the topology is at {other.epoch}")
    loop.give(e.Approved(at=loop.now, plan="nobody's", by="ann"))
    assert loop.said[-1] == ("refused", "nobody's cannot be approved: there is no proposal nobody's")


def test_what_is_known_of_the_topology_changes_nothing_if_it_is_told_again() -> None:
    loop = Driven("propose")
    plan = loop.proposal()
    assert loop.give(e.TopologyChanged(at=loop.now, epoch=1, sha256="t1")) == ()
    loop.give(e.TopologyChanged(at=loop.now, epoch=1, sha256="t9"))
    assert settled(loop) == [(plan, "stale", "the topology has changed, it is at epoch 1 now")]


def test_a_repair_is_planned_again_for_another_topology() -> None:
    loop = Driven("propose")
    loop.give(e.IntentRaised(at=loop.now, id="i", intent=Delete(broker="b")))
    before = loop.asked(c.Repair)
    loop.give(e.TopologyChanged(at=loop.now, epoch=2, sha256="t2"))
    again = loop.asked(c.Repair)
    assert again.wanted == before.wanted
    assert again.ticket > before.ticket


def test_an_intent_is_taken_up_once() -> None:
    loop = Driven("propose", heal=False)
    for _ in range(2):  # while it is planned, and while its plan waits
        loop.give(e.IntentRaised(at=loop.now, id="i", intent=Delete(broker="b")))
        if loop.to_plan:
            loop.plan()
    assert loop.last == ()
    assert loop.kinds().count("healing") == 1


def test_after_a_restart_what_failed_is_tried_at_once_and_what_healing_wants_is_planned_again() -> None:
    loop = Driven("propose", back_off_seconds=500.0)
    _trouble(loop, "plan")
    loop.give(e.IntentRaised(at=loop.now, id="i", intent=Delete(broker="b")))
    loop.give(e.IntentRaised(at=loop.now, id="j", intent=Delete(broker="c")))
    loop.give(e.Started(at=loop.now))
    assert loop.state.troubles == {}
    assert [each.id for each in loop.asked(c.Repair).wanted] == ["i", "j"]
    assert loop.said[-1] == ("started", "in mode propose, windows of 10 s")


def test_after_a_restart_the_next_window_is_the_first_whole_one_or_the_one_that_was_due() -> None:
    loop = Driven()
    loop.state = msgspec.structs.replace(loop.state, due=5000.0)
    loop.give(e.Started(at=1001.0))
    assert loop.state.due == 1020.0
    loop.give(e.Started(at=1002.0))
    assert loop.state.due == 1020.0
    loop.state = msgspec.structs.replace(loop.state, due=1003.0)
    loop.give(e.Started(at=1002.0))
    assert loop.state.due == 1003.0


def test_a_measurement_that_fails_is_tried_again_for_the_same_window() -> None:
    loop = Driven(back_off_seconds=1.0)
    loop.now = loop.state.due
    loop.wait(0)
    loop.give(e.Failed(at=loop.now, part="measure", reason="no", ticket=loop.asked(c.Measure).ticket))
    assert (loop.state.phase, loop.state.due) == ("waiting", loop.now + 1.0)
    loop.wait(1)
    assert loop.asked(c.Measure).end == 1010.0


def test_a_failed_design_leaves_the_candidate_and_a_failed_plan_does_not() -> None:
    for part, left in (("design", True), ("plan", False)):
        loop = Driven("propose", confirm=2)
        loop.window()
        loop.design(0.3)
        loop.window(candidate=compared(0.3), candidate_saved=1000.0)
        if part == "plan":
            loop.design(0.3)
        loop.give(e.Failed(at=loop.now, part=part, reason="no", ticket=loop.state.ticket))
        assert (loop.state.candidate is not None) is left
        assert loop.state.phase == "waiting"


def test_a_run_that_coordination_interrupts_continues_only_if_it_has_one() -> None:
    loop = Driven("automatic")
    assert not loop.give(e.Recovered(at=loop.now, part="coordination"))
    loop.proposal()
    loop.give(e.Recovered(at=loop.now, part="coordination"))
    assert not any(isinstance(each, c.Resume) for each in loop.last)
    loop.give(e.Failed(at=loop.now, part="coordination", reason="no", ticket=loop.state.ticket))
    assert loop.state.running is not None
    assert loop.state.running.interrupted
    loop.give(e.Recovered(at=loop.now, part="disk"))
    assert not any(isinstance(each, c.Resume) for each in loop.last)
    loop.give(e.Recovered(at=loop.now, part="coordination"))
    assert loop.asked(c.Resume).running.interrupted is False
    assert loop.said[-1] == ("deploying", "the interrupted run of plan1 continues")


def test_modes_and_pauses_say_who_set_them() -> None:
    loop = Driven("propose")
    loop.give(e.Paused(at=loop.now, by="ann", reason=""))
    assert loop.state.paused == "no reason was given"
    loop.give(e.Paused(at=loop.now, by="ann", reason="lunch"))
    assert (loop.state.paused, loop.said[-1]) == ("lunch", ("paused", "lunch"))
    assert loop.state.only_observes == "it is paused"
    loop.give(e.Resumed(at=loop.now, by="bob"))
    assert loop.said[-1] == ("resumed", "the loop continues")
    loop.give(e.ModeSet(at=loop.now, mode="automatic", by="bob"))
    assert loop.said[-1] == ("mode", "propose becomes automatic")
    decision = loop.asked(c.Log).decision
    assert (decision.by, decision.acted) == ("bob", True)


def test_what_is_only_shown_stays_when_the_mode_is_set_to_observe() -> None:
    loop = Driven("propose")
    loop.give(e.Paused(at=loop.now, by="ann", reason=""))
    plan = loop.proposal()
    loop.give(e.ModeSet(at=loop.now, mode="observe", by="ann"))
    assert loop.state.proposal is not None
    assert loop.state.proposal.planned.plan == plan


def test_an_answer_in_another_phase_is_a_fault_and_a_late_one_is_passed_over() -> None:
    loop = Driven()
    loop.window()
    ticket = loop.asked(c.Design).ticket
    with pytest.raises(IllegalEvent, match="PlanMade while designing"):
        loop.give(e.PlanMade(at=loop.now, ticket=ticket, reason="no"))
    assert loop.give(e.Designed(at=loop.now, ticket=ticket - 1, reason="none")) == ()
    assert loop.state.phase == "designing"


def test_the_last_fifty_proposals_are_remembered() -> None:
    loop = Driven("propose", cool_down_seconds=0.0)
    for _ in range(52):
        plan = loop.proposal()
        loop.give(e.Rejected(at=loop.now, plan=plan, by="ann", reason="no"))
    assert [plan for plan, _ in loop.state.settled] == [f"plan{number}" for number in range(3, 53)]


def test_how_a_plan_that_was_proposed_twice_ended_is_remembered_once() -> None:
    loop = Driven("propose", cool_down_seconds=0.0)
    for reason in ("no", "yes"):
        loop.plans = 0
        plan = loop.proposal()
        if reason == "no":
            loop.give(e.Rejected(at=loop.now, plan=plan, by="ann", reason=reason))
        else:
            loop.give(e.TopologyChanged(at=loop.now, epoch=2, sha256="t2"))
    assert loop.state.settled == (("plan1", ProposalState.STALE),)


def test_healing_is_told_how_its_run_ended_if_nobody_said_why() -> None:
    for reason, said in (("", "stopped"), ("no agent", "no agent")):
        loop = Driven("propose")
        loop.give(e.IntentRaised(at=loop.now, id="i", intent=Delete(broker="b")))
        loop.plan()
        loop.deployed("stopped", reason=reason)
        assert loop.asked(c.AnswerIntents) == c.AnswerIntents(intents=("i",), done=False, reason=said)


def code(loop: Driven, plan: str) -> str | None:
    found = refusal(loop.state, plan)
    return found[0] if found else None


def test_every_refusal_has_a_code_for_programs() -> None:
    loop = Driven("propose", cool_down_seconds=0.0)
    first = loop.proposal()
    assert (code(loop, first), code(loop, "none")) == (None, "unknown")
    loop.give(e.Rejected(at=loop.now, plan=first, by="ann", reason="no"))
    second = loop.proposal()
    loop.give(e.TopologyChanged(at=loop.now, epoch=2, sha256="t2"))
    assert (code(loop, first), code(loop, second)) == ("again", "stale")
    third = loop.proposal()
    loop.give(e.Approved(at=loop.now, plan=third, by="ann"))
    assert (code(loop, third), busy(loop.state)) == ("again", ("busy", "another plan is being carried out"))
    assert back_refusal(loop.state) is None
    loop.give(e.BackAsked(at=loop.now, by="ann"))
    assert back_refusal(loop.state) == ("again", "it is being taken back already")
    _trouble(loop, "coordination")
    assert back_refusal(loop.state) == ("away", "coordination fails: no")
    observing = Driven("observe")
    assert code(observing, observing.proposal()) == "mode"
    assert busy(observing.state) == ("mode", "the mode is observe: nothing is changed")
    healing = Driven("propose")
    assert busy(healing.state) is None
    healing.give(e.IntentRaised(at=healing.now, id="i", intent=Delete(broker="b")))
    assert busy(healing.state) == back_refusal(healing.state) == ("busy", "healing goes first")
    away = Driven("propose")
    _trouble(away, "coordination")
    assert busy(away.state) == ("away", "coordination fails: no")
