"""Intents of healing pre-empt everything: work on the traffic is given up, a run for it is asked to stop.

They need no approval (`Policy.heal`), no gain and no budget. In observe mode, or paused, the loop refuses
them and tells healing why.

No command raises Intents yet: nodes carry out their repairs themselves.
"""

import msgspec

from regraft.loop import events
from regraft.loop.commands import AnswerIntents, Propose, Repair, StopRun
from regraft.loop.deploying import deploy
from regraft.loop.phases import Phase
from regraft.loop.state import State
from regraft.loop.troubles import blocks, mark_working
from regraft.loop.turn import Turn
from regraft.loop.values import Proposal, Wanted
from regraft.model.intents import describe


def raised(turn: Turn, event: events.IntentRaised) -> None:
    proposal = turn.state.proposal
    known = (*turn.state.wanted, *turn.state.repairing, *(proposal.wanted if proposal else ()))
    if any(each.id == event.id for each in known):
        return
    turn.set(wanted=(*turn.state.wanted, Wanted(id=event.id, intent=event.intent, at=event.at)))
    if (why := _only_observes(turn.state)) is not None:
        _give_up(turn, why)
        return
    turn.log("healing", f"{describe(event.intent)}: taken up", acted=True)
    _stop_run_for_traffic(turn)
    repair_if_wanted(turn)


def _only_observes(state: State) -> str | None:
    """Healing continues while a part fails, unlike work on the traffic (`State.only_observes`)."""
    if state.paused is not None:
        return "the loop is paused"
    return "the loop only observes" if state.mode == "observe" else None


def _give_up(turn: Turn, why: str) -> None:
    """Give up the Intents that wait or are being planned; a repair that is being carried out continues."""
    state = turn.state
    planned = state.repairing if state.phase == Phase.PLANNING else ()
    left = (*planned, *state.wanted)
    if not left:
        return
    turn.set(wanted=())
    if planned:
        turn.set(repairing=())
        turn.go(Phase.WAITING)
    for each in left:
        turn.log("healing", f"{describe(each.intent)}: not done, {why}")
    turn.do(AnswerIntents(intents=tuple(each.id for each in left), done=False, reason=why))


def _stop_run_for_traffic(turn: Turn) -> None:
    running = turn.state.running
    if running is not None and running.cause != "healing" and running.stopping is None:
        reason = "healing goes first"
        turn.set(running=msgspec.structs.replace(running, stopping=reason))
        turn.do(StopRun(reason=reason))


def repair_if_wanted(turn: Turn) -> None:
    """Make one plan for all Intents that wait, as soon as no run is under way."""
    if (why := _only_observes(turn.state)) is not None:
        _give_up(turn, why)
    state = turn.state
    if not state.wanted or state.repairing or state.phase == Phase.DEPLOYING or blocks(turn, "coordination"):
        return
    turn.withdraw("healing changes the topology")
    turn.set(repairing=turn.state.wanted, wanted=(), candidate=None)
    turn.do(Repair(ticket=turn.go(Phase.PLANNING), wanted=turn.state.repairing))


def repair_planned(turn: Turn, event: events.PlanMade) -> None:
    mark_working(turn, "plan")
    repairing = turn.state.repairing
    ids = tuple(each.id for each in repairing)
    if event.planned is None:
        turn.log("healing", f"not done: {event.reason}")
        turn.set(repairing=())
        turn.go(Phase.WAITING)
        turn.do(AnswerIntents(intents=ids, done=False, reason=event.reason))
        return
    reason = None if turn.policy.heal else "repairs need approval"
    proposal = Proposal(
        planned=event.planned, cause="healing", made_at=turn.at, needs_approval=reason, wanted=repairing
    )
    turn.do(Propose(proposal=proposal))
    if reason is None:
        deploy(turn, proposal, by="healing")
        return
    text = "; ".join(describe(each.intent) for each in repairing)
    turn.log("proposed", f"healing: {text}", acted=True, plan=event.planned.plan)
    turn.set(proposal=proposal, repairing=())
    turn.go(Phase.WAITING)
