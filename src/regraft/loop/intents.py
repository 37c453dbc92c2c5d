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
from regraft.loop.step_draft import StepDraft
from regraft.loop.troubles import blocks, mark_working
from regraft.loop.values import Proposal, Wanted
from regraft.model.intents import describe


def raised(draft: StepDraft, event: events.IntentRaised) -> None:
    proposal = draft.state.proposal
    known = (*draft.state.wanted, *draft.state.repairing, *(proposal.wanted if proposal else ()))
    if any(each.id == event.id for each in known):
        return
    draft.set(wanted=(*draft.state.wanted, Wanted(id=event.id, intent=event.intent, at=event.at)))
    if _only_observes(draft.state) is None:
        draft.log("healing", f"{describe(event.intent)}: taken up", acted=True)
        _stop_run_for_traffic(draft)
    # After every event `step` plans what is wanted, or gives it up: `repair_if_wanted`.


def _only_observes(state: State) -> str | None:
    """Healing continues while a part fails, unlike work on the traffic (`State.only_observes`)."""
    if state.paused is not None:
        return "the loop is paused"
    return "the loop only observes" if state.mode == "observe" else None


def _give_up(draft: StepDraft, why: str) -> None:
    """Give up the Intents that wait or are being planned; a repair that is being carried out continues."""
    state = draft.state
    planned = state.repairing if state.phase == Phase.PLANNING else ()
    left = (*planned, *state.wanted)
    if not left:
        return
    draft.set(wanted=())
    if planned:
        draft.set(repairing=())
        draft.enter(Phase.WAITING)
    for each in left:
        draft.log("healing", f"{describe(each.intent)}: not done, {why}")
    draft.do(AnswerIntents(intents=tuple(each.id for each in left), done=False, reason=why))


def _stop_run_for_traffic(draft: StepDraft) -> None:
    running = draft.state.running
    if running is not None and running.cause != "healing" and running.stopping is None:
        reason = "healing goes first"
        draft.set(running=msgspec.structs.replace(running, stopping=reason))
        draft.do(StopRun(reason=reason))


def repair_if_wanted(draft: StepDraft) -> None:
    """Make one plan for all Intents that wait, as soon as no run is under way."""
    if (why := _only_observes(draft.state)) is not None:
        _give_up(draft, why)
    state = draft.state
    if not state.wanted or state.repairing or state.phase == Phase.DEPLOYING or blocks(draft, "coordination"):
        return
    draft.withdraw("healing changes the topology")
    draft.set(repairing=draft.state.wanted, wanted=(), candidate=None)
    draft.do(Repair(ticket=draft.enter(Phase.PLANNING), wanted=draft.state.repairing))


def repair_planned(draft: StepDraft, event: events.PlanMade) -> None:
    mark_working(draft, "plan")
    repairing = draft.state.repairing
    ids = tuple(each.id for each in repairing)
    if event.planned is None:
        draft.log("healing", f"not done: {event.reason}")
        draft.set(repairing=())
        draft.enter(Phase.WAITING)
        draft.do(AnswerIntents(intents=ids, done=False, reason=event.reason))
        return
    reason = None if draft.policy.heal else "repairs need approval"
    proposal = Proposal(
        planned=event.planned, cause="healing", made_at=draft.at, needs_approval=reason, wanted=repairing
    )
    draft.do(Propose(proposal=proposal))
    if reason is None:
        deploy(draft, proposal, by="healing")
        return
    text = "; ".join(describe(each.intent) for each in repairing)
    draft.log("proposed", f"healing: {text}", acted=True, plan=event.planned.plan)
    draft.set(proposal=proposal, repairing=())
    draft.enter(Phase.WAITING)
