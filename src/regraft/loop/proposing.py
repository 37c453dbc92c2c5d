"""Proposals are made, shown, approved or rejected. Exactly the plan that was approved is carried out."""

import msgspec

from regraft.loop import events
from regraft.loop.budget import outside_limits_reason
from regraft.loop.commands import AnswerIntents, Propose
from regraft.loop.deploying import deploy
from regraft.loop.goals import goal_name
from regraft.loop.hysteresis import pays_back_after, price
from regraft.loop.phases import Phase
from regraft.loop.state import State
from regraft.loop.step_draft import StepDraft
from regraft.loop.values import Candidate, Planned, Proposal, ProposalState
from regraft.model.phrases import counted

WITHIN_LIMITS = "within the limits of automatic mode"


def propose(draft: StepDraft, made: Planned, candidate: Candidate, needed_gain: float) -> None:
    """Carry the plan out at once if the loop may; otherwise it waits for a person, or until the loop may.

    While the loop only observes, the plan is only shown.
    """
    window = draft.state.window
    assert window is not None
    reason = _needs_approval(draft.state, made, draft.at)
    proposal = Proposal(
        planned=made,
        cause="traffic",
        made_at=draft.at,
        candidate=candidate,
        price=price(made, draft.policy),
        pays_back_after=pays_back_after(made, candidate, window, draft.policy),
        needed_gain=needed_gain,
        needs_approval=reason,
        outside_limits=outside_limits_reason(made, draft.state.spent, draft.policy, draft.at),
        observed=draft.state.only_observes is not None,
    )
    draft.do(Propose(proposal=proposal))
    _say(draft, proposal, candidate)
    draft.set(proposal=proposal, candidate=None)
    draft.enter(Phase.WAITING)
    if reason is None:
        deploy_if_allowed(draft)
    elif draft.state.effective_mode == "automatic":
        draft.log("waiting", f"the plan {made.plan[:12]} waits: {reason}", plan=made.plan)


def _say(draft: StepDraft, proposal: Proposal, candidate: Candidate) -> None:
    made, seen = proposal.planned, candidate.comparison
    size = f"{counted(made.steps, 'step')}, {counted(made.actions, 'action')}"
    saved = f"{seen.gain:.1%} of the {goal_name(seen.improves)}"
    if seen.error:
        saved += f" (standard error {seen.error:.1%})"
    if candidate.comparison.expects:
        saved += f" in the traffic of {candidate.comparison.expects}"
    numbers: dict[str, float | None] = {
        **seen.gain_numbers,
        "needed_gain": proposal.needed_gain,
        "windows": float(candidate.windows),
        "steps": float(made.steps),
        "actions": float(made.actions),
        "price": proposal.price,
        "pays_back_after": proposal.pays_back_after,
    }
    if (why := draft.state.only_observes) is not None:
        text = f"{size} would save {saved}; the loop only observes ({why})"
        draft.log("would-propose", text, plan=made.plan, numbers=numbers)
    else:
        draft.log("proposed", f"{size} to save {saved}", acted=True, plan=made.plan, numbers=numbers)


def is_only_shown(state: State) -> bool:
    return state.proposal is not None and state.proposal.observed


def propose_what_was_shown(draft: StepDraft) -> None:
    """Propose a plan that was only shown, as soon as the loop does more than observe."""
    proposal = draft.state.proposal
    if proposal is None or not proposal.observed or draft.state.only_observes is not None:
        return
    plan = proposal.planned.plan
    reason = _needs_approval(draft.state, proposal.planned, draft.at)
    draft.set(proposal=msgspec.structs.replace(proposal, observed=False, needs_approval=reason))
    draft.settle(plan, ProposalState.WAITING, reason or WITHIN_LIMITS)
    text = f"the plan {plan[:12]}, which was only shown, is proposed now"
    draft.log("proposed", text, plan=plan, acted=True)


def deploy_if_allowed(draft: StepDraft) -> None:
    """In automatic mode: carry out the proposal that waits, as soon as nothing is in the way."""
    state, proposal = draft.state, draft.state.proposal
    if proposal is None or state.phase != Phase.WAITING or state.wanted or proposal.cause != "traffic":
        return
    if _needs_approval(state, proposal.planned, draft.at) is None:
        plan = proposal.planned.plan
        draft.log("approved", f"the plan {plan[:12]} is {WITHIN_LIMITS}", plan=plan, acted=True)
        deploy(draft, proposal, by="loop")


def _needs_approval(state: State, made: Planned, at: float) -> str | None:
    if (why := state.only_observes) is not None:
        return f"the loop only observes ({why})"
    if state.mode != "automatic":
        return f"the mode is {state.mode}"
    return outside_limits_reason(made, state.spent, state.policy, at)


def refusal(state: State, plan: str) -> tuple[str, str] | None:
    """Why a plan cannot be approved or rejected: a code and a reason; None if it can."""
    proposal = state.proposal
    if state.running is not None and state.running.plan == plan:
        return "again", "it is being carried out already"
    if proposal is None or proposal.planned.plan != plan:
        for sha256, became in reversed(state.settled):
            if sha256 == plan:
                return ("stale" if became == "stale" else "again"), f"it is {became} already"
        return "unknown", f"there is no proposal {plan[:12]}"
    if proposal.observed:
        why = state.only_observes
        return "mode", f"the loop only observes ({why}): the plan is shown, and nothing can be approved"
    if proposal.planned.epoch != state.epoch or proposal.planned.initial != state.topology:
        return "stale", f"it starts from epoch {proposal.planned.epoch}, and the topology is at {state.epoch}"
    return None


def busy(state: State) -> tuple[str, str] | None:
    """Why nothing can be carried out now: a code and a reason; None if a plan can be."""
    if state.mode == "observe":
        return "mode", "the mode is observe: nothing is changed"
    if state.phase == Phase.DEPLOYING:
        return "busy", "another plan is being carried out"
    if state.wanted or state.repairing:
        return "busy", "healing goes first"
    if (trouble := state.troubles.get("coordination")) is not None:
        return "away", f"coordination fails: {trouble.reason}"
    return None


def approved(draft: StepDraft, event: events.Approved) -> None:
    no = refusal(draft.state, event.plan) or busy(draft.state)
    if no is not None:
        draft.log("refused", f"{event.plan[:12]} cannot be approved: {no[1]}", by=event.by, plan=event.plan)
        return
    proposal = draft.state.proposal
    assert proposal is not None
    draft.log("approved", f"the plan {event.plan[:12]} is approved", by=event.by, plan=event.plan, acted=True)
    deploy(draft, proposal, by=event.by)


def rejected(draft: StepDraft, event: events.Rejected) -> None:
    no = refusal(draft.state, event.plan)
    if no is not None:
        draft.log("refused", f"{event.plan[:12]} cannot be rejected: {no[1]}", by=event.by, plan=event.plan)
        return
    proposal = draft.state.proposal
    assert proposal is not None
    draft.set(proposal=None, cooling_until=draft.at + draft.policy.cool_down_seconds)
    draft.settle(event.plan, ProposalState.REJECTED, f"{event.by}: {event.reason}")
    if proposal.wanted:
        ids = tuple(each.id for each in proposal.wanted)
        draft.do(AnswerIntents(intents=ids, done=False, reason=f"rejected by {event.by}: {event.reason}"))
    text = f"the plan {event.plan[:12]} is rejected: {event.reason}"
    draft.log("rejected", text, by=event.by, plan=event.plan, acted=True)
