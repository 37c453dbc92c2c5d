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
from regraft.loop.troubles import blocks, mark_working
from regraft.loop.turn import Turn
from regraft.loop.values import Candidate, ProposalState
from regraft.model.phrases import counted


def measure_if_due(turn: Turn) -> None:
    """Measure the last window that has ended; windows before it that were missed stay unmeasured."""
    state = turn.state
    width, settle = turn.policy.window_seconds, turn.policy.settle_seconds
    # `due` is never this far ahead unless the clock was set back; without this the loop would wait for hours.
    # (While a part fails, a retry may set `due` as far ahead.)
    if not state.troubles and state.due > turn.at + 2 * width + settle:
        turn.set(due=next_end(turn.at, turn.policy) + settle)
        return
    if state.phase != Phase.WAITING or turn.at < state.due or blocks(turn, "measure", "disk"):
        return
    end = (turn.at - settle) // width * width
    turn.set(due=end + width + settle)
    turn.do(Measure(ticket=turn.go(Phase.MEASURING), start=end - width, end=end))


def measured(turn: Turn, event: events.Measured) -> None:
    mark_working(turn, "measure")
    turn.set(window=event.window)
    window = event.window
    if window.publications < turn.policy.least_publications:
        least = turn.policy.least_publications
        few = counted(window.publications, "publication")
        turn.log("quiet", f"{few} in the window: too few to judge by, at least {least:,} are needed")
        turn.go(Phase.WAITING)
        return
    state = turn.state
    ticket = turn.go(Phase.JUDGING)
    turn.do(Assess(ticket=ticket, window=window, candidate=state.candidate, proposal=state.proposal))


def judged(turn: Turn, event: events.Judged) -> None:
    turn.set(cost=event.cost)
    broken = [verdict for verdict in event.current.now if verdict.hard and verdict.kept is False]
    said = (
        "; ".join(f"{goal_name(verdict.goal)}: {verdict.reason}" for verdict in broken)
        or "all hard goals are kept"
    )
    numbers: dict[str, float | None] = {verdict.goal: verdict.number for verdict in event.current.now}
    turn.log("judged", said, numbers={**numbers, "publications": float(event.window.publications)})
    _verify(turn, event)
    if turn.state.proposal is not None and _proposal_stands(turn, event.proposal):
        turn.go(Phase.WAITING)
    elif turn.state.candidate is not None and _candidate_stands(turn, event):
        _plan_if_confirmed(turn)
    elif not broken and turn.at < turn.state.cooling_until:
        left = turn.state.cooling_until - turn.at
        turn.log("cooling", f"the last change is too recent, {left:.0f} s are left")
        turn.go(Phase.WAITING)
    elif blocks(turn, "design"):
        turn.go(Phase.WAITING)
    else:
        windows = turn.policy.confirm
        most = turn.policy.max_actions if turn.state.mode == "automatic" else None
        turn.do(
            Design(ticket=turn.go(Phase.DESIGNING), window=event.window, windows=windows, max_actions=most)
        )


def _verify(turn: Turn, event: events.Judged) -> None:
    """Did the last change gain what it should have? The first whole window on the new topology shows it.

    Costs are compared per publication, because two windows never have the same traffic.
    """
    expected, window = turn.state.expected, event.window
    if expected is None or window.start < expected.after or not window.publications:
        return
    turn.set(expected=None)
    if event.cost is None or turn.state.topology != expected.goal or not expected.cost_before:
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
    turn.log(kind, f"{text}, {expected.gain:.1%} were expected", plan=expected.plan, numbers=numbers)
    turn.do(Settle(plan=expected.plan, state=ProposalState.DONE, reason="carried out", measured_gain=gained))


def _proposal_stands(turn: Turn, seen: Comparison | None) -> bool:
    """A proposal waits while it gains. Half the least gain is enough, so that it does not come and go."""
    proposal = turn.state.proposal
    assert proposal is not None
    if proposal.cause != "traffic" or seen is None:
        return True
    if seen.against is None and (seen.mends or seen.gain >= turn.policy.least_gain / 2):
        waits = "and is only shown" if proposal.observed else "and waits"
        text = f"the plan {proposal.planned.plan[:12]} would still save {seen.gain:.1%}, {waits}"
        turn.log("kept", text, plan=proposal.planned.plan, numbers={"gain": seen.gain})
        return True
    reason = seen.against or f"it would save {seen.gain:.1%} of the {goal_name(seen.improves)} now"
    turn.withdraw(reason)
    turn.set(candidate=None)
    return False


def _candidate_stands(turn: Turn, event: events.Judged) -> bool:
    """Whether the candidate found in earlier windows gains in this one as well."""
    candidate, seen = turn.state.candidate, event.candidate
    assert candidate is not None
    if seen is None:
        turn.set(candidate=None)
        return False
    again = _seen_again(candidate, seen, event.candidate_saved)
    reason = _why_not_worth_it(turn, again)
    if reason is None:
        turn.set(candidate=again)
        return True
    text = f"what was found in {counted(candidate.windows, 'window')} is given up: {reason}"
    turn.log("unconfirmed", text, numbers={"gain": seen.gain})
    turn.set(candidate=None)
    return False


def _seen_again(candidate: Candidate, seen: Comparison, saved: float) -> Candidate:
    return msgspec.structs.replace(candidate, windows=candidate.windows + 1, comparison=seen, saved=saved)


def designed(turn: Turn, event: events.Designed) -> None:
    mark_working(turn, "design")
    candidate = event.candidate
    if turn.state.candidate is not None:
        _refined(turn, turn.state.candidate, candidate)
    elif candidate is None:
        turn.log("kept", f"nothing better was found: {event.reason}")
        turn.go(Phase.WAITING)
    elif reason := _why_not_worth_it(turn, candidate):
        turn.log("kept", reason, numbers=_numbers(candidate))
        turn.go(Phase.WAITING)
    else:
        turn.set(candidate=candidate)
        _plan_if_confirmed(turn)


def _why_not_worth_it(turn: Turn, candidate: Candidate) -> str | None:
    """Why the candidate is not worth a change, by the last window that it was judged in."""
    seen = candidate.comparison
    if seen.against is not None:
        return f"the best that was found cannot be used: {seen.against}"
    if seen.mends:
        return None
    memory = still_remembered(turn.state.memory, turn.at, turn.policy)
    needed = required_gain(memory, candidate, turn.policy)
    if seen.gain >= needed:
        return None
    times = undone(memory, candidate)
    because = f", because it undoes {counted(times, 'recent change')}" if times else ""
    saves = f"the best that was found saves {seen.gain:.1%} of the {goal_name(seen.improves)}"
    return f"{saves}, at least {needed:.1%} is needed{because}"


def _plan_if_confirmed(turn: Turn) -> None:
    """Plan the candidate if it has gained in enough windows; otherwise wait for the next window."""
    candidate = turn.state.candidate
    assert candidate is not None
    if candidate.windows < turn.policy.confirm:
        saves = f"{candidate.comparison.gain:.1%} of the {goal_name(candidate.comparison.improves)}"
        seen = f"seen in {candidate.windows} of {counted(turn.policy.confirm, 'window')}"
        turn.log("unconfirmed", f"{saves} could be saved; {seen}", numbers=_numbers(candidate))
        turn.go(Phase.WAITING)
    elif blocks(turn, "plan"):
        turn.go(Phase.WAITING)
    elif candidate.windows > 1:
        _refine(turn, candidate)
    else:
        turn.do(MakePlan(ticket=turn.go(Phase.PLANNING), candidate=candidate))


def _refine(turn: Turn, candidate: Candidate) -> None:
    """Design once more, for exactly the windows in which the candidate was confirmed.

    The design that found the candidate also looked at the traffic of earlier windows.
    """
    window = turn.state.window
    assert window is not None
    most = turn.policy.max_actions if turn.state.mode == "automatic" else None
    turn.do(
        Design(ticket=turn.go(Phase.DESIGNING), window=window, windows=candidate.windows, max_actions=most)
    )


def _refined(turn: Turn, known: Candidate, new: Candidate | None) -> None:
    """Plan the refined candidate if it gains more than the confirmed one, otherwise the confirmed one."""
    if new is not None and new.comparison.gain > known.comparison.gain and not _why_not_worth_it(turn, new):
        known = msgspec.structs.replace(new, windows=known.windows)
        turn.set(candidate=known)
    turn.do(MakePlan(ticket=turn.go(Phase.PLANNING), candidate=known))


def planned(turn: Turn, event: events.PlanMade) -> None:
    """A plan for a candidate was made, or cannot be; `intents` handles plans for Intents."""
    mark_working(turn, "plan")
    candidate, window = turn.state.candidate, turn.state.window
    assert candidate is not None
    assert window is not None
    made = event.planned
    if made is None:
        turn.log(
            "kept", f"there is no way to the better topology: {event.reason}", numbers=_numbers(candidate)
        )
        turn.set(candidate=None)
        turn.go(Phase.WAITING)
    elif reason := costs_too_much(made, candidate, window, turn.policy):
        turn.log("kept", f"the change is not worth it: {reason}", numbers=_numbers(candidate), plan=made.plan)
        turn.set(candidate=None)
        turn.go(Phase.WAITING)
    else:
        memory = still_remembered(turn.state.memory, turn.at, turn.policy)
        propose(turn, made, candidate, required_gain(memory, candidate, turn.policy))


def _numbers(candidate: Candidate) -> dict[str, float | None]:
    then = {verdict.goal: verdict.number for verdict in candidate.comparison.then}
    return {**then, "gain": candidate.comparison.gain, "windows": float(candidate.windows)}
