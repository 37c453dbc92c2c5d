"""What the loop may do by itself. People are not bound by these limits: they may approve any valid plan."""

from regraft.loop.maintenance import is_open
from regraft.loop.policy import Policy
from regraft.loop.values import Planned, Spent
from regraft.model.phrases import counted

HOUR = 3600.0


def used(spent: tuple[Spent, ...], at: float) -> tuple[int, int]:
    """Actions and transformations of the last hour."""
    last = still_counted(spent, at)
    return sum(each.actions for each in last), len(last)


def still_counted(spent: tuple[Spent, ...], at: float) -> tuple[Spent, ...]:
    return tuple(each for each in spent if each.at > at - HOUR)


def outside_limits_reason(
    planned: Planned, spent: tuple[Spent, ...], policy: Policy, at: float
) -> str | None:
    """Why the loop may not carry the plan out by itself now; None if it may."""
    actions, runs = used(spent, at)
    size = counted(planned.actions, "action")
    if policy.max_actions is not None and planned.actions > policy.max_actions:
        return f"it has {size}, and at most {policy.max_actions} are allowed without asking"
    if policy.actions_per_hour is not None and actions + planned.actions > policy.actions_per_hour:
        left = max(0, policy.actions_per_hour - actions)
        return f"it has {size}, and the budget of this hour has {left} left"
    if policy.transformations_per_hour is not None and runs >= policy.transformations_per_hour:
        return f"the limit of {counted(runs, 'transformation')} in an hour is reached"
    if not is_open(policy.maintenance, at):
        return "it is outside the maintenance windows (" + ", ".join(map(str, policy.maintenance)) + " UTC)"
    return None
