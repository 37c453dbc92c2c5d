"""The state of the loop for people: one word, one sentence, and the numbers behind it."""

from regraft.loop.budget import used
from regraft.loop.goals import goal_name
from regraft.loop.maintenance import is_open
from regraft.loop.proposing import is_only_shown
from regraft.loop.state import State
from regraft.loop.values import Candidate, Proposal, Trouble
from regraft.serve import views as v

DOING: dict[str, str] = {
    "waiting": "waits for the end of the window",
    "measuring": "measures the last window on Spark",
    "judging": "judges the topology by the last window",
    "designing": "looks for a better topology",
    "planning": "plans the way to a better topology",
    "deploying": "carries out a plan",
}


def state_view(
    state: State, operation: v.OperationView | None, overlay: str, started_at: float, at: float
) -> v.StateView:
    actions, runs = used(state.spent, at)
    policy = state.policy
    under_way = operation if operation is not None and operation.ended is None else None
    return v.StateView(
        overlay=overlay,
        standing=standing(state, at),
        sentence=sentence(state, at),
        mode=state.mode,
        effective_mode=state.effective_mode,
        phase=state.phase.value,
        since=state.since,
        paused=state.paused,
        troubles=tuple(map(_trouble, state.troubles.values())),
        window_seconds=policy.window_seconds,
        next_window_at=state.due,
        cooling_until=state.cooling_until if state.cooling_until > at else None,
        proposal=None if is_only_shown(state) else _plan(state.proposal),
        would_propose=_plan(state.proposal) if is_only_shown(state) else None,
        candidate=_candidate(state),
        run=under_way.run if under_way else None,
        operation=under_way.id if under_way else None,
        epoch=state.epoch,
        topology=state.topology,
        budget=v.BudgetView(
            actions_used=actions,
            actions_limit=policy.actions_per_hour,
            transformations_used=runs,
            transformations_limit=policy.transformations_per_hour,
        ),
        maintenance=is_open(policy.maintenance, at),
        started_at=started_at,
        at=at,
    )


def _plan(proposal: Proposal | None) -> str | None:
    return proposal.planned.plan if proposal is not None else None


def _candidate(state: State) -> v.CandidateView | None:
    found = state.candidate
    if found is None:
        return None
    return v.CandidateView(
        gain=found.comparison.gain,
        improves=found.comparison.improves,
        windows=found.windows,
        windows_needed=state.policy.confirm,
    )


def _trouble(trouble: Trouble) -> v.Trouble:
    return v.Trouble(
        part=trouble.part,
        reason=trouble.reason,
        since=trouble.since,
        failures=trouble.failures,
        retry_at=trouble.retry_at,
    )


def standing(state: State, at: float) -> v.Standing:
    """What matters most now."""
    matters: list[tuple[bool, v.Standing]] = [
        (bool(state.repairing or state.wanted), "healing"),
        (state.phase == "deploying", "deploying"),
        (bool(state.failing), "degraded"),
        (state.paused is not None, "paused"),
        (is_only_shown(state), "would-propose"),
        (state.proposal is not None, "proposed"),
        (state.expected is not None, "verifying"),
        (at < state.cooling_until, "cooling"),
    ]
    return next((word for holds, word in matters if holds), "watching")


def sentence(state: State, at: float) -> str:
    back = state.running is not None and state.running.back
    parts = "; ".join(f"{each.part}: {each.reason}" for each in state.failing)
    sentences: dict[v.Standing, str] = {
        "healing": "Healing changes the overlay; everything else waits.",
        "deploying": ("The last change is being taken back" if back else "A plan is being carried out")
        + "; the traffic goes on.",
        "degraded": f"The loop only observes: {parts}. The traffic is untouched.",
        "paused": f"The loop is paused ({state.paused}) and only observes.",
        "proposed": _proposed(state),
        "would-propose": _would_propose(state),
        "verifying": "A change was made; the next whole window shows what it gained.",
        "cooling": f"A change was made or refused; nothing new for {state.cooling_until - at:.0f} s.",
        "watching": f"The loop {'only observes: it ' * (state.mode == 'observe')}{DOING[state.phase]}.",
    }
    return sentences[standing(state, at)]


def _proposed(state: State) -> str:
    proposal = state.proposal
    if proposal is None:
        return ""
    what = f"A change that saves {_gain(proposal.candidate)}" if proposal.candidate else "A repair"
    return f"{what} waits: {proposal.needs_approval or 'it begins at once'}."


def _would_propose(state: State) -> str:
    if state.proposal is None or state.proposal.candidate is None:
        return ""
    saved = _gain(state.proposal.candidate)
    return f"The loop only observes: a change that would save {saved} is shown, and nothing is carried out."


def _gain(candidate: Candidate) -> str:
    return f"{candidate.comparison.gain:.0%} of the {goal_name(candidate.comparison.improves)}"
