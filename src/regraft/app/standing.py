"""The state of the loop for people: one word, one sentence, and the numbers behind it."""

from regraft.app import views as v
from regraft.loop.budget import used
from regraft.loop.maintenance import is_open
from regraft.loop.state import State
from regraft.loop.values import Trouble


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
        phase=state.phase,
        since=state.since,
        paused=state.paused,
        troubles=tuple(map(_trouble, state.troubles.values())),
        window_seconds=policy.window_seconds,
        next_window_at=state.due,
        cooling_until=state.cooling_until if state.cooling_until > at else None,
        proposal=state.proposal.planned.plan if state.proposal else None,
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
        (state.proposal is not None, "proposed"),
        (state.expected is not None, "verifying"),
        (at < state.cooling_until, "cooling"),
    ]
    return next((word for holds, word in matters if holds), "watching")


def sentence(state: State, at: float) -> str:
    back = state.running is not None and state.running.back
    parts = "; ".join(f"{each.part}: {each.reason}" for each in state.failing)
    doing = {"waiting": "waits for the end of the window", "measuring": "measures the last window on Spark"}
    sentences: dict[v.Standing, str] = {
        "healing": "Healing changes the overlay; everything else waits.",
        "deploying": ("The last change is being taken back" if back else "A plan is being carried out")
        + "; the traffic goes on.",
        "degraded": f"The loop only observes: {parts}. The traffic is untouched.",
        "paused": f"The loop is paused ({state.paused}) and only observes.",
        "proposed": _proposed(state),
        "verifying": "A change was made; the next whole window shows what it gained.",
        "cooling": f"A change was made or refused; nothing new for {state.cooling_until - at:.0f} s.",
        "watching": f"The loop {doing.get(state.phase, f'is {state.phase}')}.",
    }
    return sentences[standing(state, at)]


def _proposed(state: State) -> str:
    proposal = state.proposal
    if proposal is None:
        return ""
    gain = proposal.candidate.comparison.gain if proposal.candidate else 0.0
    return f"A change that saves {gain:.0%} waits: {proposal.needs_approval or 'it begins at once'}."
