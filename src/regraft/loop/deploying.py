"""Runs: they begin, end, are taken back or found interrupted. Only one is under way at a time."""

import msgspec

from regraft.loop import events
from regraft.loop.budget import still_counted
from regraft.loop.commands import AnswerIntents, Deploy, Resume, StopRun
from regraft.loop.hysteresis import still_remembered
from regraft.loop.phases import Phase
from regraft.loop.state import State
from regraft.loop.step_draft import StepDraft
from regraft.loop.troubles import mark_failing, mark_working
from regraft.loop.values import Ended, Expected, Proposal, ProposalState, RememberedChange, Running, Spent
from regraft.model.phrases import counted


def deploy(draft: StepDraft, proposal: Proposal, by: str) -> None:
    planned = proposal.planned
    running = Running(
        plan=planned.plan,
        cause=proposal.cause,
        by=by,
        began=draft.at,
        actions=planned.actions,
        proposal=proposal,
    )
    draft.settle(planned.plan, ProposalState.DEPLOYING, f"approved by {by}")
    draft.set(proposal=None, running=running, repairing=proposal.wanted)
    draft.do(Deploy(ticket=draft.enter(Phase.DEPLOYING), running=running))
    what = f"{counted(planned.steps, 'step')}, {counted(planned.actions, 'action')}"
    draft.log("deploying", f"{planned.plan[:12]}: {what}", by=by, plan=planned.plan, acted=True)


def back_refusal(state: State) -> tuple[str, str] | None:
    """Why the last run cannot be taken back now: a code and a reason.

    Whether there is a last run is not known here: the journal has it.
    """
    running = state.running
    if "coordination" in state.troubles:
        return "away", f"coordination fails: {state.troubles['coordination'].reason}"
    if state.wanted or state.repairing:
        return "busy", "healing goes first"
    if running is not None and running.back:
        return "again", "it is being taken back already"
    return None


def back_asked(draft: StepDraft, event: events.BackAsked) -> None:
    running = draft.state.running
    if (no := back_refusal(draft.state)) is not None:
        draft.log("refused", f"the last run cannot be taken back: {no[1]}", by=event.by)
    elif running is not None:
        draft.set(running=msgspec.structs.replace(running, back=True, stopping=f"taken back by {event.by}"))
        draft.do(StopRun(reason=f"{event.by} wants it taken back", back=True))
        draft.log("deploying", "the run under way is taken back", by=event.by, acted=True)
    else:
        draft.withdraw("the last run is taken back")
        running = Running(plan=None, cause="person", by=event.by, began=draft.at, back=True)
        draft.set(running=running, candidate=None)
        draft.do(Deploy(ticket=draft.enter(Phase.DEPLOYING), running=running))
        draft.log("deploying", "the last run is taken back", by=event.by, acted=True)


def run_asked(draft: StepDraft, event: events.RunAsked) -> None:
    running = draft.state.running
    if running is None:
        return
    if event.wanted != "pause":
        stopping = f"stopped by {event.by}" if event.wanted == "stop" else None
        draft.set(running=msgspec.structs.replace(running, stopping=stopping))
    said = {"stop": "is to stop", "pause": "pauses", "run": "continues"}[event.wanted]
    text = f"the run under way {said}, after the actions that have begun"
    draft.log("deploying", text, by=event.by, plan=running.plan, acted=True)


def deployed(draft: StepDraft, event: events.Deployed) -> None:
    """The run is at rest: count it, remember it, cool down, and check later what it gained."""
    running, ended = draft.state.running, event.ended
    assert running is not None
    mark_working(draft, "coordination")
    draft.set(running=None)
    if ended.epoch >= (draft.state.epoch or 0):  # otherwise somebody else has changed the topology since
        draft.set(epoch=ended.epoch, topology=ended.topology)
    draft.enter(Phase.WAITING)
    _account(draft, running, ended)
    numbers: dict[str, float | None] = {
        "seconds": ended.seconds,
        "actions": float(ended.actions),
        "lost": ended.lost,
        "duplicated": ended.duplicated,
        "reordered": ended.reordered,
    }
    if ended.reached:
        mark_working(draft, "deploy")
        what = "taken back" if ended.back else "carried out"
        text = f"{what} in {ended.seconds:.1f} s, {counted(ended.actions, 'action')}"
        draft.log("deployed", text, by=running.by, plan=running.plan, acted=True, numbers=numbers)
        _expect(draft, running, ended)
    else:
        text = f"the run is {ended.state}: {ended.reason or running.stopping or 'no reason is known'}"
        draft.log("failed", text, by=running.by, plan=running.plan, acted=True, numbers=numbers)
        if ended.state == "failed":
            mark_failing(draft, "deploy", ended.reason)
    if running.plan is not None:
        _settle(draft, running, ended)
    _answer(draft, ended.reached, ended.reason or ended.state)


def _settle(draft: StepDraft, running: Running, ended: Ended) -> None:
    assert running.plan is not None
    if ended.reached and not ended.back:
        draft.settle(running.plan, ProposalState.DONE, "carried out")
    elif ended.back:
        draft.settle(running.plan, ProposalState.STOPPED, "taken back")
    elif ended.state == "failed":
        draft.settle(running.plan, ProposalState.FAILED, ended.reason)
    else:
        draft.settle(running.plan, ProposalState.STOPPED, running.stopping or ended.reason)


def _account(draft: StepDraft, running: Running, ended: Ended) -> None:
    state, policy = draft.state, draft.policy
    memory = still_remembered(state.memory, draft.at, policy)
    if ended.added or ended.removed:
        memory = (*memory, RememberedChange(at=draft.at, added=ended.added, removed=ended.removed))
    spent = still_counted(state.spent, draft.at)
    if running.cause != "healing":
        spent = (*spent, Spent(at=draft.at, actions=ended.actions))
    draft.set(memory=memory, spent=spent, cooling_until=draft.at + policy.cool_down_seconds, expected=None)


def _expect(draft: StepDraft, running: Running, ended: Ended) -> None:
    proposal, window, cost = running.proposal, draft.state.window, draft.state.cost
    if proposal is None or proposal.candidate is None or ended.back or cost is None or window is None:
        return
    if window.publications and proposal.candidate.comparison.improves == "routing_cost":
        expected = Expected(
            plan=proposal.planned.plan,
            goal=ended.topology,
            gain=proposal.candidate.comparison.gain,
            cost_before=cost / window.publications,
            after=draft.at,
        )
        draft.set(expected=expected)


def _answer(draft: StepDraft, done: bool, reason: str) -> None:
    """Answer the Intents that the run was for."""
    repairing = draft.state.repairing
    if not repairing:
        return
    draft.set(repairing=())
    draft.do(
        AnswerIntents(intents=tuple(each.id for each in repairing), done=done, reason="" if done else reason)
    )


def deployment_failed(draft: StepDraft, part: str, reason: str) -> None:
    """The run could not begin; or coordination failed, and the run continues when it works again."""
    running = draft.state.running
    assert running is not None
    if part == "coordination":
        draft.set(running=msgspec.structs.replace(running, interrupted=True))
        mark_failing(draft, part, reason)
        return
    draft.set(running=None)
    draft.enter(Phase.WAITING)
    draft.log("failed", f"the run could not be carried out: {reason}", plan=running.plan, acted=True)
    if running.plan is not None:
        draft.settle(running.plan, ProposalState.FAILED, reason)
    mark_failing(draft, part, reason)
    draft.set(cooling_until=draft.at + draft.policy.cool_down_seconds)
    _answer(draft, done=False, reason=reason)


def resume(draft: StepDraft, running: Running) -> None:
    """After a restart, or when coordination works again: carry the run to its end, as it was approved."""
    running = msgspec.structs.replace(running, interrupted=False)
    draft.set(running=running)
    draft.do(Resume(ticket=draft.enter(Phase.DEPLOYING), running=running))
    name = running.plan[:12] if running.plan else "the last plan, backwards"
    draft.log("deploying", f"the interrupted run of {name} continues", plan=running.plan, acted=True)
