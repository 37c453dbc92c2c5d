"""Intents of healing pre-empt everything: work on the traffic is given up, a run for it is asked to stop.

They need no approval (`Policy.heal`), no gain and no budget; in observe mode nothing is done, and healing is
told.
"""

import msgspec

from regraft.loop import events
from regraft.loop.commands import Answer, Propose, Repair, StopRun
from regraft.loop.deploying import deploy
from regraft.loop.troubles import blocks, works
from regraft.loop.turn import Turn
from regraft.loop.values import Proposal, Wanted
from regraft.model.intents import said


def raised(turn: Turn, event: events.IntentRaised) -> None:
    proposal = turn.state.proposal
    known = (*turn.state.wanted, *turn.state.repairing, *(proposal.wanted if proposal else ()))
    if any(each.id == event.id for each in known):
        return
    if turn.state.mode == "observe" or turn.state.paused is not None:
        why = "the loop is paused" if turn.state.paused is not None else "the loop only observes"
        turn.log("healing", f"{said(event.intent)}: not done, {why}")
        turn.do(Answer(intents=(event.id,), done=False, reason=why))
        return
    turn.log("healing", f"{said(event.intent)}: taken up", acted=True)
    turn.set(wanted=(*turn.state.wanted, Wanted(id=event.id, intent=event.intent, at=event.at)))
    _make_way(turn)
    repair_if_wanted(turn)


def _make_way(turn: Turn) -> None:
    running = turn.state.running
    if running is not None and running.cause != "healing" and running.stopping is None:
        reason = "healing goes first"
        turn.set(running=msgspec.structs.replace(running, stopping=reason))
        turn.do(StopRun(reason=reason))


def repair_if_wanted(turn: Turn) -> None:
    """All that waits, in one plan, as soon as nothing is being carried out."""
    state = turn.state
    if not state.wanted or state.repairing or state.phase == "deploying" or blocks(turn, "coordination"):
        return
    turn.withdraw("healing changes the topology")
    turn.set(repairing=turn.state.wanted, wanted=(), candidate=None)
    turn.do(Repair(ticket=turn.go("planning"), wanted=turn.state.repairing))


def repair_planned(turn: Turn, event: events.PlanMade) -> None:
    works(turn, "plan")
    repairing = turn.state.repairing
    ids = tuple(each.id for each in repairing)
    if event.planned is None:
        turn.log("healing", f"not done: {event.reason}")
        turn.set(repairing=())
        turn.go("waiting")
        turn.do(Answer(intents=ids, done=False, reason=event.reason))
        return
    reason = None if turn.policy.heal else "healing is to be approved"
    proposal = Proposal(
        planned=event.planned, cause="healing", made_at=turn.at, needs_approval=reason, wanted=repairing
    )
    turn.do(Propose(proposal=proposal))
    if reason is None:
        deploy(turn, proposal, by="healing")
        return
    text = "; ".join(said(each.intent) for each in repairing)
    turn.log("proposed", f"healing: {text}", acted=True, plan=event.planned.plan)
    turn.set(proposal=proposal, repairing=())
    turn.go("waiting")
