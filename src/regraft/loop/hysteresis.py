"""Whether a change is worth it: the gain that it has to bring, and its price against what it saves.

Memory keeps the loop from oscillating: a candidate needs twice the gain for each remembered change that it
undoes. A change counts as undone by a candidate if at least half of its links, those added and those removed,
would be as they were before it. So traffic that swings between two patterns ends in one topology: every
second swing has to gain twice as much as those before, and no gain is above 100 %.

Prices are in units of routing cost: one message over one link or through one broker.
"""

from collections.abc import Mapping

from regraft.loop.policy import Policy
from regraft.loop.values import Candidate, Planned, RememberedChange, Window
from regraft.model import Ends, Plan, ends
from regraft.model.phrases import counted


def undone(memory: tuple[RememberedChange, ...], candidate: Candidate) -> int:
    """How many of the remembered changes the candidate would undo."""
    added, removed = set(candidate.added), set(candidate.removed)
    return sum(_undoes(added, removed, change) for change in memory)


def _undoes(added: set[Ends], removed: set[Ends], change: RememberedChange) -> bool:
    back = len(removed.intersection(change.added)) + len(added.intersection(change.removed))
    return 2 * back >= len(change.added) + len(change.removed) > 0


def required_gain(memory: tuple[RememberedChange, ...], candidate: Candidate, policy: Policy) -> float:
    return policy.least_gain * float(2 ** undone(memory, candidate))


def still_remembered(
    memory: tuple[RememberedChange, ...], at: float, policy: Policy
) -> tuple[RememberedChange, ...]:
    return tuple(change for change in memory if change.at > at - policy.memory_seconds)


def buffered(plan: Plan, rates: Mapping[Ends, float], policy: Policy) -> float:
    """How many messages wait: what flows over each link that an action removes, while the action lasts.

    A link that the plan itself has added has no measured rate; it counts as an average one.
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
    """How many seconds it takes until the change has saved its price; None if it never does."""
    if candidate.saved <= 0:
        return None
    return price(planned, policy) / candidate.saved * window.seconds


def costs_too_much(planned: Planned, candidate: Candidate, window: Window, policy: Policy) -> str | None:
    """Why the change is not worth it. A mesh has no routing cost to save: only the least gain counts."""
    if candidate.comparison.mends or candidate.comparison.improves != "routing_cost" or not candidate.saved:
        return None
    worth = candidate.saved * policy.payback_windows
    cost = price(planned, policy)
    if cost <= worth:
        return None
    what = f"{counted(planned.actions, 'action')}, {planned.buffered:.4g} messages that wait"
    return f"it costs {cost:.4g} ({what}), and saves {worth:.4g} in {policy.payback_windows:g} windows"
