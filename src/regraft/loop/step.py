"""`step(state, event) -> (state, commands)`: the entry point. It chooses the handler for each event."""

from regraft.loop import cycle, deploying, events, intents, proposing, troubles
from regraft.loop.commands import AnswerIntents, Command
from regraft.loop.phases import ANSWERED_IN, Phase
from regraft.loop.state import State, next_end
from regraft.loop.step_draft import StepDraft
from regraft.loop.values import ProposalState, Running
from regraft.model import RegraftError


class IllegalEvent(RegraftError):
    """An answer with the current ticket that does not belong to the phase: a fault of the runtime."""


def step(state: State, event: events.Event) -> tuple[State, tuple[Command, ...]]:
    """The state after an event, and what is to be done."""
    if _is_late(state, event):
        return state, ()
    draft = StepDraft(state, event.at)
    _handle(draft, event)
    # Any event can make one of these possible. Healing comes first: it withdraws the proposal that waits.
    intents.repair_if_wanted(draft)
    proposing.propose_what_was_shown(draft)
    proposing.deploy_if_allowed(draft)
    return draft.end()


def _handle(draft: StepDraft, event: events.Event) -> None:  # noqa: PLR0912 — a table
    match event:
        case events.Started():
            _started(draft, event)
        case events.Tick():
            troubles.try_again(draft)
            intents.repair_if_wanted(draft)
            cycle.measure_if_due(draft)
        case events.Measured():
            cycle.measured(draft, event)
        case events.Judged():
            cycle.judged(draft, event)
        case events.Designed():
            cycle.designed(draft, event)
        case events.PlanMade():
            (intents.repair_planned if draft.state.repairing else cycle.planned)(draft, event)
        case events.Approved():
            proposing.approved(draft, event)
        case events.Rejected():
            proposing.rejected(draft, event)
        case events.BackAsked():
            deploying.back_asked(draft, event)
        case events.RunAsked():
            deploying.run_asked(draft, event)
        case events.Deployed():
            deploying.deployed(draft, event)
        case events.Failed():
            _failed(draft, event)
        case events.Recovered():
            _recovered(draft, event)
        case events.IntentRaised():
            intents.raised(draft, event)
        case events.TopologyChanged():
            _topology_changed(draft, event)
        case events.Paused() | events.Resumed() | events.ModeSet():
            _set_by_person(draft, event)
        case _:
            raise IllegalEvent(f"{type(event).__name__} is not an event of the loop")


def _is_late(state: State, event: events.Event) -> bool:
    """Whether the event answers a command that was given up.

    Raises `IllegalEvent` if it answers a command that was never given.
    """
    ticket = getattr(event, "ticket", None)
    if ticket is None:
        return False
    if ticket > state.ticket:
        raise IllegalEvent(f"{type(event).__name__} with ticket {ticket}, and the last was {state.ticket}")
    if ticket < state.ticket:
        return True
    wanted = ANSWERED_IN.get(type(event))
    if wanted is not None and wanted != state.phase:
        raise IllegalEvent(f"{type(event).__name__} while {state.phase}")
    return False


def _started(draft: StepDraft, event: events.Started) -> None:
    """Work that the previous process had under way begins again; a run continues where its journal ends."""
    state, policy = draft.state, draft.policy
    draft.log("started", f"in mode {state.mode}, windows of {policy.window_seconds:g} s", acted=True)
    draft.set(due=min(state.due, next_end(draft.at, policy) + policy.settle_seconds), troubles={})
    if state.running is not None:
        deploying.resume(draft, state.running)
        return
    draft.begin(Phase.WAITING)
    draft.set(wanted=(*state.repairing, *state.wanted), repairing=())
    if event.interrupted is not None:
        draft.withdraw("a run in the journal is finished first", ProposalState.STALE)
        draft.set(candidate=None)
        found = Running(plan=event.interrupted, cause="person", by="journal", began=draft.at)
        deploying.resume(draft, found)


def _failed(draft: StepDraft, event: events.Failed) -> None:
    if event.ticket is None:
        troubles.mark_failing(draft, event.part, event.reason)
        return
    if draft.state.phase == Phase.DEPLOYING:
        deploying.deployment_failed(draft, event.part, event.reason)
        return
    if repairing := draft.state.repairing:
        draft.set(repairing=())
        draft.do(AnswerIntents(intents=tuple(each.id for each in repairing), done=False, reason=event.reason))
    draft.enter(Phase.WAITING)
    draft.set(candidate=None if event.part == "plan" else draft.state.candidate)
    troubles.mark_failing(draft, event.part, event.reason)
    if event.part == "measure":  # try the same window again
        draft.set(due=draft.state.troubles["measure"].retry_at)


def _recovered(draft: StepDraft, event: events.Recovered) -> None:
    troubles.mark_working(draft, event.part)
    running = draft.state.running
    if event.part == "coordination" and running is not None and running.interrupted:
        deploying.resume(draft, running)


def _topology_changed(draft: StepDraft, event: events.TopologyChanged) -> None:
    """What was judged or planned for another topology is void. (Our own runs report theirs when they end.)"""
    state = draft.state
    if (event.epoch, event.sha256) == (state.epoch, state.topology):
        return
    if state.phase == Phase.DEPLOYING:  # our own run changed it, or somebody else did: then our run will fail
        draft.set(epoch=event.epoch, topology=event.sha256)
        return
    first = state.topology is None
    draft.set(epoch=event.epoch, topology=event.sha256, candidate=None, expected=None)
    if first:
        return
    draft.withdraw(f"the topology has changed, it is at epoch {event.epoch} now", ProposalState.STALE)
    draft.log("topology", f"somebody else has changed the topology: epoch {event.epoch}, {event.sha256[:12]}")
    if state.repairing:  # they are planned again, for the new topology
        draft.set(wanted=(*state.repairing, *state.wanted), repairing=())
    if state.phase in (Phase.JUDGING, Phase.DESIGNING, Phase.PLANNING):
        draft.enter(Phase.WAITING)


def _set_by_person(draft: StepDraft, event: events.Paused | events.Resumed | events.ModeSet) -> None:
    match event:
        case events.Paused(by=by, reason=reason):
            draft.set(paused=reason or "no reason was given")
            draft.log("paused", reason or "no reason was given", by=by, acted=True)
        case events.Resumed(by=by):
            draft.set(paused=None)
            draft.log("resumed", "the loop continues", by=by, acted=True)
        case events.ModeSet(by=by, mode=mode):
            draft.log("mode", f"{draft.state.mode} becomes {mode}", by=by, acted=True)
            draft.set(mode=mode)
            if mode == "observe" and not proposing.is_only_shown(draft.state):
                draft.withdraw("the loop only observes now")
