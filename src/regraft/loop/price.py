"""What a change costs against what it saves, in units of routing cost (a message over a link or broker)."""

from collections.abc import Mapping

from regraft.loop.policy import Policy
from regraft.loop.values import Candidate, Planned, Window
from regraft.model import Ends, Plan, ends
from regraft.model.phrases import counted


def buffered(plan: Plan, rates: Mapping[Ends, float], policy: Policy) -> float:
    """Messages that wait: what flows over each link that an action takes away, for as long as it lasts.

    A link that the plan itself has added before is taken for an average one.
    """
    average = sum(rates.values()) / len(rates) if rates else 0.0
    total = 0.0
    for step in plan.steps:
        for action in step:
            if action.operation in ("shift", "unlink", "detach"):
                total += rates.get(ends(*action.brokers[:2]), average)
    return total * policy.action_seconds


def price(planned: Planned, policy: Policy) -> float:
    return policy.action_price * planned.actions + policy.buffered_price * planned.buffered


def pays_back_after(planned: Planned, candidate: Candidate, window: Window, policy: Policy) -> float | None:
    """Seconds; None if it never does."""
    if candidate.saved <= 0:
        return None
    return price(planned, policy) / candidate.saved * window.seconds


def too_dear(planned: Planned, candidate: Candidate, window: Window, policy: Policy) -> str | None:
    """Why the change is not worth it. A mesh has no routing cost to save: only the least gain holds there."""
    if candidate.comparison.mends or candidate.comparison.improves != "routing_cost" or not candidate.saved:
        return None
    worth = candidate.saved * policy.payback_windows
    cost = price(planned, policy)
    if cost <= worth:
        return None
    what = f"{counted(planned.actions, 'action')}, {planned.buffered:.4g} messages that wait"
    return f"it costs {cost:.4g} ({what}), and saves {worth:.4g} in {policy.payback_windows:g} windows"
