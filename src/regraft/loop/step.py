"""`step(state, event) -> (state, commands)`: the entry point. It chooses the handler for each event."""

from regraft.loop import cycle, deploying, events, intents, proposing, troubles
from regraft.loop.commands import AnswerIntents, Command
from regraft.loop.phases import ANSWERED_IN, Phase
from regraft.loop.state import State, next_end
from regraft.loop.turn import Turn
from regraft.loop.values import ProposalState, Running
from regraft.model import RegraftError


class IllegalEvent(RegraftError):
    """An answer with the current ticket that does not belong to the phase: a fault of the runtime."""


def step(state: State, event: events.Event) -> tuple[State, tuple[Command, ...]]:
    """The state after an event, and what is to be done."""
    if _is_late(state, event):
        return state, ()
    turn = Turn(state, event.at)
    _handle(turn, event)
    # Any event can make one of these possible. Healing comes first: it withdraws the proposal that waits.
    intents.repair_if_wanted(turn)
    proposing.propose_what_was_shown(turn)
    proposing.deploy_if_allowed(turn)
    return turn.end()


def _handle(turn: Turn, event: events.Event) -> None:  # noqa: PLR0912 — a table
    match event:
        case events.Started():
            _started(turn, event)
        case events.Tick():
            troubles.try_again(turn)
            intents.repair_if_wanted(turn)
            cycle.measure_if_due(turn)
        case events.Measured():
            cycle.measured(turn, event)
        case events.Judged():
            cycle.judged(turn, event)
        case events.Designed():
            cycle.designed(turn, event)
        case events.PlanMade():
            (intents.repair_planned if turn.state.repairing else cycle.planned)(turn, event)
        case events.Approved():
            proposing.approved(turn, event)
        case events.Rejected():
            proposing.rejected(turn, event)
        case events.BackAsked():
            deploying.back_asked(turn, event)
        case events.RunAsked():
            deploying.run_asked(turn, event)
        case events.Deployed():
            deploying.deployed(turn, event)
        case events.Failed():
            _failed(turn, event)
        case events.Recovered():
            _recovered(turn, event)
        case events.IntentRaised():
            intents.raised(turn, event)
        case events.TopologyChanged():
            _topology_changed(turn, event)
        case events.Paused() | events.Resumed() | events.ModeSet():
            _set_by_person(turn, event)
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


def _started(turn: Turn, event: events.Started) -> None:
    """Work that the previous process had under way begins again; a run continues where its journal ends."""
    state, policy = turn.state, turn.policy
    turn.log("started", f"in mode {state.mode}, windows of {policy.window_seconds:g} s", acted=True)
    turn.set(due=min(state.due, next_end(turn.at, policy) + policy.settle_seconds), troubles={})
    if state.phase == Phase.DEPLOYING and state.running is not None:
        deploying.resume(turn, state.running)
        return
    turn.begin(Phase.WAITING)
    turn.set(wanted=(*state.repairing, *state.wanted), repairing=(), running=None)
    if event.interrupted is not None:
        turn.withdraw("a run in the journal is finished first", ProposalState.STALE)
        turn.set(candidate=None)
        found = Running(plan=event.interrupted, cause="person", by="journal", began=turn.at)
        deploying.resume(turn, found)


def _failed(turn: Turn, event: events.Failed) -> None:
    if event.ticket is None:
        troubles.mark_failing(turn, event.part, event.reason)
        return
    if turn.state.phase == Phase.DEPLOYING:
        deploying.deployment_failed(turn, event.part, event.reason)
        return
    if repairing := turn.state.repairing:
        turn.set(repairing=())
        turn.do(AnswerIntents(intents=tuple(each.id for each in repairing), done=False, reason=event.reason))
    turn.go(Phase.WAITING)
    turn.set(candidate=None if event.part == "plan" else turn.state.candidate)
    troubles.mark_failing(turn, event.part, event.reason)
    if event.part == "measure":  # try the same window again
        turn.set(due=turn.state.troubles["measure"].retry_at)


def _recovered(turn: Turn, event: events.Recovered) -> None:
    troubles.mark_working(turn, event.part)
    running = turn.state.running
    if event.part == "coordination" and running is not None and running.interrupted:
        deploying.resume(turn, running)


def _topology_changed(turn: Turn, event: events.TopologyChanged) -> None:
    """What was judged or planned for another topology is void. (Our own runs report theirs when they end.)"""
    state = turn.state
    if (event.epoch, event.sha256) == (state.epoch, state.topology):
        return
    if state.phase == Phase.DEPLOYING:  # our own run changed it, or somebody else did: then our run will fail
        turn.set(epoch=event.epoch, topology=event.sha256)
        return
    first = state.topology is None
    turn.set(epoch=event.epoch, topology=event.sha256, candidate=None, expected=None)
    if first:
        return
    turn.withdraw(f"the topology has changed, it is at epoch {event.epoch} now", ProposalState.STALE)
    turn.log("topology", f"somebody else has changed the topology: epoch {event.epoch}, {event.sha256[:12]}")
    if state.repairing:  # they are planned again, for the new topology
        turn.set(wanted=(*state.repairing, *state.wanted), repairing=())
    if state.phase in (Phase.JUDGING, Phase.DESIGNING, Phase.PLANNING):
        turn.go(Phase.WAITING)


def _set_by_person(turn: Turn, event: events.Paused | events.Resumed | events.ModeSet) -> None:
    match event:
        case events.Paused(by=by, reason=reason):
            turn.set(paused=reason or "no reason was given")
            turn.log("paused", reason or "no reason was given", by=by, acted=True)
        case events.Resumed(by=by):
            turn.set(paused=None)
            turn.log("resumed", "the loop continues", by=by, acted=True)
        case events.ModeSet(by=by, mode=mode):
            turn.log("mode", f"{turn.state.mode} becomes {mode}", by=by, acted=True)
            turn.set(mode=mode)
            if mode == "observe" and not proposing.is_only_shown(turn.state):
                turn.withdraw("the loop only observes now")
