"""Runs: they begin, end, are taken back or found interrupted. Only one is under way at a time."""

import msgspec

from regraft.loop import events
from regraft.loop.budget import still_counted
from regraft.loop.commands import AnswerIntents, Deploy, Resume, StopRun
from regraft.loop.hysteresis import still_remembered
from regraft.loop.phases import Phase
from regraft.loop.state import State
from regraft.loop.troubles import mark_failing, mark_working
from regraft.loop.turn import Turn
from regraft.loop.values import Ended, Expected, Proposal, ProposalState, RememberedChange, Running, Spent
from regraft.model.phrases import counted


def deploy(turn: Turn, proposal: Proposal, by: str) -> None:
    planned = proposal.planned
    running = Running(
        plan=planned.plan,
        cause=proposal.cause,
        by=by,
        began=turn.at,
        actions=planned.actions,
        proposal=proposal,
    )
    turn.settle(planned.plan, ProposalState.DEPLOYING, f"approved by {by}")
    turn.set(proposal=None, candidate=None, running=running, repairing=proposal.wanted)
    turn.do(Deploy(ticket=turn.go(Phase.DEPLOYING), running=running))
    what = f"{counted(planned.steps, 'step')}, {counted(planned.actions, 'action')}"
    turn.log("deploying", f"{planned.plan[:12]}: {what}", by=by, plan=planned.plan, acted=True)


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


def back_asked(turn: Turn, event: events.BackAsked) -> None:
    running = turn.state.running
    if (no := back_refusal(turn.state)) is not None:
        turn.log("refused", f"the last run cannot be taken back: {no[1]}", by=event.by)
    elif running is not None:
        turn.set(running=msgspec.structs.replace(running, back=True, stopping=f"taken back by {event.by}"))
        turn.do(StopRun(reason=f"{event.by} wants it taken back", back=True))
        turn.log("deploying", "the run under way is taken back", by=event.by, acted=True)
    else:
        turn.withdraw("the last run is taken back")
        running = Running(plan=None, cause="person", by=event.by, began=turn.at, back=True)
        turn.set(running=running, candidate=None)
        turn.do(Deploy(ticket=turn.go(Phase.DEPLOYING), running=running))
        turn.log("deploying", "the last run is taken back", by=event.by, acted=True)


def run_asked(turn: Turn, event: events.RunAsked) -> None:
    running = turn.state.running
    if running is None:
        return
    if event.wanted != "pause":
        stopping = f"stopped by {event.by}" if event.wanted == "stop" else None
        turn.set(running=msgspec.structs.replace(running, stopping=stopping))
    said = {"stop": "is to stop", "pause": "pauses", "run": "continues"}[event.wanted]
    text = f"the run under way {said}, after the actions that have begun"
    turn.log("deploying", text, by=event.by, plan=running.plan, acted=True)


def deployed(turn: Turn, event: events.Deployed) -> None:
    """The run is at rest: count it, remember it, cool down, and check later what it gained."""
    running, ended = turn.state.running, event.ended
    assert running is not None
    mark_working(turn, "coordination")
    turn.set(running=None)
    if ended.epoch >= (turn.state.epoch or 0):  # otherwise somebody else has changed the topology since
        turn.set(epoch=ended.epoch, topology=ended.topology)
    turn.go(Phase.WAITING)
    _account(turn, running, ended)
    numbers: dict[str, float | None] = {
        "seconds": ended.seconds,
        "actions": float(ended.actions),
        "lost": ended.lost,
        "duplicated": ended.duplicated,
        "reordered": ended.reordered,
    }
    if ended.reached:
        mark_working(turn, "deploy")
        what = "taken back" if ended.back else "carried out"
        text = f"{what} in {ended.seconds:.1f} s, {counted(ended.actions, 'action')}"
        turn.log("deployed", text, by=running.by, plan=running.plan, acted=True, numbers=numbers)
        _expect(turn, running, ended)
    else:
        text = f"the run is {ended.state}: {ended.reason or running.stopping or 'no reason is known'}"
        turn.log("failed", text, by=running.by, plan=running.plan, acted=True, numbers=numbers)
        if ended.state == "failed":
            mark_failing(turn, "deploy", ended.reason)
    if running.plan is not None:
        _settle(turn, running, ended)
    _answer(turn, ended.reached, ended.reason or ended.state)


def _settle(turn: Turn, running: Running, ended: Ended) -> None:
    assert running.plan is not None
    if ended.reached and not ended.back:
        turn.settle(running.plan, ProposalState.DONE, "carried out")
    elif ended.back:
        turn.settle(running.plan, ProposalState.STOPPED, "taken back")
    elif ended.state == "failed":
        turn.settle(running.plan, ProposalState.FAILED, ended.reason)
    else:
        turn.settle(running.plan, ProposalState.STOPPED, running.stopping or ended.reason)


def _account(turn: Turn, running: Running, ended: Ended) -> None:
    state, policy = turn.state, turn.policy
    memory = still_remembered(state.memory, turn.at, policy)
    if ended.added or ended.removed:
        memory = (*memory, RememberedChange(at=turn.at, added=ended.added, removed=ended.removed))
    spent = still_counted(state.spent, turn.at)
    if running.cause != "healing":
        spent = (*spent, Spent(at=turn.at, actions=ended.actions))
    turn.set(memory=memory, spent=spent, cooling_until=turn.at + policy.cool_down_seconds, expected=None)


def _expect(turn: Turn, running: Running, ended: Ended) -> None:
    proposal, window, cost = running.proposal, turn.state.window, turn.state.cost
    if proposal is None or proposal.candidate is None or ended.back or cost is None or window is None:
        return
    if window.publications and proposal.candidate.comparison.improves == "routing_cost":
        expected = Expected(
            plan=proposal.planned.plan,
            goal=ended.topology,
            gain=proposal.candidate.comparison.gain,
            cost_before=cost / window.publications,
            after=turn.at,
        )
        turn.set(expected=expected)


def _answer(turn: Turn, done: bool, reason: str) -> None:
    """Answer the Intents that the run was for."""
    repairing = turn.state.repairing
    if not repairing:
        return
    turn.set(repairing=())
    turn.do(
        AnswerIntents(intents=tuple(each.id for each in repairing), done=done, reason="" if done else reason)
    )


def deployment_failed(turn: Turn, part: str, reason: str) -> None:
    """The run could not begin; or coordination failed, and the run continues when it works again."""
    running = turn.state.running
    assert running is not None
    if part == "coordination":
        turn.set(running=msgspec.structs.replace(running, interrupted=True))
        mark_failing(turn, part, reason)
        return
    turn.set(running=None)
    turn.go(Phase.WAITING)
    turn.log("failed", f"the run could not be carried out: {reason}", plan=running.plan, acted=True)
    if running.plan is not None:
        turn.settle(running.plan, ProposalState.FAILED, reason)
    mark_failing(turn, part, reason)
    turn.set(cooling_until=turn.at + turn.policy.cool_down_seconds)
    _answer(turn, done=False, reason=reason)


def resume(turn: Turn, running: Running) -> None:
    """After a restart, or when coordination works again: carry the run to its end, as it was approved."""
    running = msgspec.structs.replace(running, interrupted=False)
    turn.set(running=running)
    turn.do(Resume(ticket=turn.go(Phase.DEPLOYING), running=running))
    name = running.plan[:12] if running.plan else "the last plan, backwards"
    turn.log("deploying", f"the interrupted run of {name} continues", plan=running.plan, acted=True)
