"""From the end of a window to a plan: measure, judge, verify, design, confirm, plan (OCBR §3)."""

import msgspec

from regraft.loop import events
from regraft.loop.commands import Assess, Design, MakePlan, Measure, Settle
from regraft.loop.goals import goal_name
from regraft.loop.hysteresis import costs_too_much, required_gain, still_remembered, undone
from regraft.loop.judging import Comparison
from regraft.loop.phases import Phase
from regraft.loop.proposing import propose
from regraft.loop.state import next_end
from regraft.loop.step_draft import StepDraft
from regraft.loop.troubles import blocks, mark_working
from regraft.loop.values import Candidate, ProposalState
from regraft.model.phrases import counted


def measure_if_due(draft: StepDraft) -> None:
    """Measure the last window that has ended; windows before it that were missed stay unmeasured."""
    state = draft.state
    width, settle = draft.policy.window_seconds, draft.policy.settle_seconds
    # `due` is never this far ahead unless the clock was set back; without this the loop would wait for hours.
    # (While a part fails, a retry may set `due` as far ahead.)
    if not state.troubles and state.due > draft.at + 2 * width + settle:
        draft.set(due=next_end(draft.at, draft.policy) + settle)
        return
    if state.phase != Phase.WAITING or draft.at < state.due or blocks(draft, "measure", "disk"):
        return
    end = (draft.at - settle) // width * width
    draft.set(due=end + width + settle)
    draft.do(Measure(ticket=draft.enter(Phase.MEASURING), start=end - width, end=end))


def measured(draft: StepDraft, event: events.Measured) -> None:
    mark_working(draft, "measure")
    draft.set(window=event.window)
    window = event.window
    if window.publications < draft.policy.least_publications:
        least = draft.policy.least_publications
        few = counted(window.publications, "publication")
        draft.log("quiet", f"{few} in the window: too few to judge by, at least {least:,} are needed")
        draft.enter(Phase.WAITING)
        return
    state = draft.state
    ticket = draft.enter(Phase.JUDGING)
    draft.do(Assess(ticket=ticket, window=window, candidate=state.candidate, proposal=state.proposal))


def judged(draft: StepDraft, event: events.Judged) -> None:
    draft.set(cost=event.cost)
    broken = [verdict for verdict in event.current.now if verdict.hard and verdict.kept is False]
    said = (
        "; ".join(f"{goal_name(verdict.goal)}: {verdict.reason}" for verdict in broken)
        or "all hard goals are kept"
    )
    numbers: dict[str, float | None] = {verdict.goal: verdict.number for verdict in event.current.now}
    draft.log("judged", said, numbers={**numbers, "publications": float(event.window.publications)})
    _verify(draft, event)
    if draft.state.proposal is not None and _proposal_stands(draft, event.proposal):
        draft.enter(Phase.WAITING)
    elif draft.state.candidate is not None and _candidate_stands(draft, event):
        _plan_if_confirmed(draft)
    elif not broken and draft.at < draft.state.cooling_until:
        left = draft.state.cooling_until - draft.at
        draft.log("cooling", f"the last change is too recent, {left:.0f} s are left")
        draft.enter(Phase.WAITING)
    elif blocks(draft, "design"):
        draft.enter(Phase.WAITING)
    else:
        windows = draft.policy.confirm
        most = draft.policy.max_actions if draft.state.mode == "automatic" else None
        draft.do(
            Design(
                ticket=draft.enter(Phase.DESIGNING), window=event.window, windows=windows, max_actions=most
            )
        )


def _verify(draft: StepDraft, event: events.Judged) -> None:
    """Did the last change gain what it should have? The first whole window on the new topology shows it.

    Costs are compared per publication, because two windows never have the same traffic.
    """
    expected, window = draft.state.expected, event.window
    if expected is None or window.start < expected.after or not window.publications:
        return
    draft.set(expected=None)
    if event.cost is None or draft.state.topology != expected.goal or not expected.cost_before:
        return
    cost = event.cost / window.publications
    gained = 1 - cost / expected.cost_before
    numbers: dict[str, float | None] = {
        "expected_gain": expected.gain,
        "gain": gained,
        "cost_before": expected.cost_before,
        "cost_after": cost,
    }
    kind = "verified" if gained > 0 else "disappointed"
    text = f"a publication costs {cost:.4g} instead of {expected.cost_before:.4g}: {gained:.1%} saved"
    draft.log(kind, f"{text}, {expected.gain:.1%} were expected", plan=expected.plan, numbers=numbers)
    draft.do(Settle(plan=expected.plan, state=ProposalState.DONE, reason="carried out", measured_gain=gained))


def _proposal_stands(draft: StepDraft, seen: Comparison | None) -> bool:
    """A proposal waits while it gains. Half the least gain is enough, so that it does not come and go."""
    proposal = draft.state.proposal
    assert proposal is not None
    if proposal.cause != "traffic" or seen is None:
        return True
    if seen.against is None and (seen.mends or seen.gain >= draft.policy.least_gain / 2):
        waits = "and is only shown" if proposal.observed else "and waits"
        text = f"the plan {proposal.planned.plan[:12]} would still save {seen.gain:.1%}, {waits}"
        draft.log("kept", text, plan=proposal.planned.plan, numbers=seen.gain_numbers)
        return True
    reason = seen.against or f"it would save {seen.gain:.1%} of the {goal_name(seen.improves)} now"
    draft.withdraw(reason)
    return False


def _candidate_stands(draft: StepDraft, event: events.Judged) -> bool:
    """Whether the candidate found in earlier windows gains in this one as well."""
    candidate, seen = draft.state.candidate, event.candidate
    assert candidate is not None
    if seen is None:
        draft.set(candidate=None)
        return False
    again = _seen_again(candidate, seen, event.candidate_saved)
    reason = _why_not_worth_it(draft, again)
    if reason is None:
        draft.set(candidate=again)
        return True
    text = f"what was found in {counted(candidate.windows, 'window')} is given up: {reason}"
    draft.log("unconfirmed", text, numbers=seen.gain_numbers)
    draft.set(candidate=None)
    return False


def _seen_again(candidate: Candidate, seen: Comparison, saved: float) -> Candidate:
    return msgspec.structs.replace(candidate, windows=candidate.windows + 1, comparison=seen, saved=saved)


def designed(draft: StepDraft, event: events.Designed) -> None:
    mark_working(draft, "design")
    candidate = event.candidate
    if draft.state.candidate is not None:
        _refined(draft, draft.state.candidate, candidate)
    elif candidate is None:
        draft.log("kept", f"nothing better was found: {event.reason}")
        draft.enter(Phase.WAITING)
    elif reason := _why_not_worth_it(draft, candidate):
        draft.log("kept", reason, numbers=_numbers(candidate))
        draft.enter(Phase.WAITING)
    else:
        draft.set(candidate=candidate)
        _plan_if_confirmed(draft)


def _why_not_worth_it(draft: StepDraft, candidate: Candidate) -> str | None:
    """Why the candidate is not worth a change, by the last window that it was judged in."""
    seen = candidate.comparison
    if seen.against is not None:
        return f"the best that was found cannot be used: {seen.against}"
    if seen.mends:
        return None
    memory = still_remembered(draft.state.memory, draft.at, draft.policy)
    needed = required_gain(memory, candidate, draft.policy)
    if seen.gain >= needed:
        return None
    times = undone(memory, candidate)
    because = f", because it undoes {counted(times, 'recent change')}" if times else ""
    saves = f"the best that was found saves {seen.gain:.1%} of the {goal_name(seen.improves)}"
    return f"{saves}, at least {needed:.1%} is needed{because}"


def _plan_if_confirmed(draft: StepDraft) -> None:
    """Plan the candidate if it has gained in enough windows; otherwise wait for the next window."""
    candidate = draft.state.candidate
    assert candidate is not None
    if candidate.windows < draft.policy.confirm:
        saves = f"{candidate.comparison.gain:.1%} of the {goal_name(candidate.comparison.improves)}"
        seen = f"seen in {candidate.windows} of {counted(draft.policy.confirm, 'window')}"
        draft.log("unconfirmed", f"{saves} could be saved; {seen}", numbers=_numbers(candidate))
        draft.enter(Phase.WAITING)
    elif blocks(draft, "plan"):
        draft.enter(Phase.WAITING)
    elif candidate.windows > 1:
        _refine(draft, candidate)
    else:
        draft.do(MakePlan(ticket=draft.enter(Phase.PLANNING), candidate=candidate))


def _refine(draft: StepDraft, candidate: Candidate) -> None:
    """Design once more, for exactly the windows in which the candidate was confirmed.

    The design that found the candidate also looked at the traffic of earlier windows.
    """
    window = draft.state.window
    assert window is not None
    most = draft.policy.max_actions if draft.state.mode == "automatic" else None
    draft.do(
        Design(
            ticket=draft.enter(Phase.DESIGNING), window=window, windows=candidate.windows, max_actions=most
        )
    )


def _refined(draft: StepDraft, known: Candidate, new: Candidate | None) -> None:
    """Plan the refined candidate if it gains more than the confirmed one, otherwise the confirmed one."""
    if new is not None and new.comparison.gain > known.comparison.gain and not _why_not_worth_it(draft, new):
        known = msgspec.structs.replace(new, windows=known.windows)
        draft.set(candidate=known)
    draft.do(MakePlan(ticket=draft.enter(Phase.PLANNING), candidate=known))


def planned(draft: StepDraft, event: events.PlanMade) -> None:
    """A plan for a candidate was made, or cannot be; `intents` handles plans for Intents."""
    mark_working(draft, "plan")
    candidate, window = draft.state.candidate, draft.state.window
    assert candidate is not None
    assert window is not None
    made = event.planned
    if made is None:
        draft.log(
            "kept", f"there is no way to the better topology: {event.reason}", numbers=_numbers(candidate)
        )
        draft.set(candidate=None)
        draft.enter(Phase.WAITING)
    elif reason := costs_too_much(made, candidate, window, draft.policy):
        draft.log(
            "kept", f"the change is not worth it: {reason}", numbers=_numbers(candidate), plan=made.plan
        )
        draft.set(candidate=None)
        draft.enter(Phase.WAITING)
    else:
        memory = still_remembered(draft.state.memory, draft.at, draft.policy)
        propose(draft, made, candidate, required_gain(memory, candidate, draft.policy))


def _numbers(candidate: Candidate) -> dict[str, float | None]:
    then = {verdict.goal: verdict.number for verdict in candidate.comparison.then}
    return {**then, **candidate.comparison.gain_numbers, "windows": float(candidate.windows)}
