"""How good a plan is, in numbers and in one sentence: its size, what is proven, and the gap that is left."""

from regraft.model import Limits, Plan
from regraft.model.phrases import counted

COORDINATION = 1
"""What a step adds to the estimated time beside its slowest action: starting and ending it."""


def total_cost(plan: Plan, limits: Limits) -> int:
    """C_a over all actions (IPITT §V)."""
    return sum(limits.costs.of(action) for step in plan.steps for action in step)


def estimated_time(plan: Plan, limits: Limits) -> int:
    """The objective `time`: a step takes as long as its slowest action. The unit is one shift of cost 1."""
    return sum(COORDINATION + max(map(limits.costs.of, step)) for step in plan.steps)


def optimal(plan: Plan, limits: Limits) -> bool:
    """Whether steps, actions and the minimised quantity all meet their lower bounds.

    The bounds are on steps and actions; a lower bound on cost or time follows from the cheapest action.
    """
    cheapest = _cheapest(plan, limits)
    if limits.minimise == "cost" and total_cost(plan, limits) > plan.bounds.actions * cheapest:
        return False
    least = plan.bounds.steps * (COORDINATION + cheapest)
    if limits.minimise == "time" and estimated_time(plan, limits) > least:
        return False
    return plan.optimal


def _cheapest(plan: Plan, limits: Limits) -> int:
    """The least cost of an action of any plan for this task. Every plan appends and detaches the same
    brokers, so shifts are the only operation that other plans may have and this one not."""
    costs = limits.costs
    used = {action.operation for step in plan.steps for action in step}
    possible = used | (limits.operations & {"shift"} if plan.kind == "tree" else set())
    of_operations = [costs.by_operation.get(operation, 1) for operation in possible]
    return min([*of_operations, *costs.by_action.values()], default=1)


def summary(plan: Plan, limits: Limits, seconds: float) -> str:
    """`5 steps, 12 actions; no plan has fewer than 5 steps, … (proven): optimal; 0.80 s, planner fast`."""
    size = f"{counted(len(plan.steps), 'step')}, {counted(plan.actions, 'action')}"
    if limits.minimise == "cost":
        size += f", cost {total_cost(plan, limits):,}"
    if limits.minimise == "time":
        size += f", estimated time {estimated_time(plan, limits):,}"
    told = [size, f"{seconds:.2f} s, planner {plan.planner}"]
    if plan.steps:
        told.insert(1, f"{least(plan, limits)} (proven): {verdict(plan, limits)}")
    if plan.proof and not plan.optimal:
        fewest = f"{counted(plan.proof.steps, 'step')}, {counted(plan.proof.actions, 'action')}"
        told.insert(2, f"at least {fewest} with the actions of {plan.proof.over}")
    return "; ".join(told)


def least(plan: Plan, limits: Limits) -> str:
    """The bounds in words. The second one holds among plans that are as good in the first objective."""
    sizes = {"step": (len(plan.steps), plan.bounds.steps), "action": (plan.actions, plan.bounds.actions)}
    first, second = ("action", "step") if limits.minimise == "actions" else ("step", "action")
    bound, other = counted(sizes[first][1], first), counted(sizes[second][1], second)
    if limits.minimise in ("cost", "time"):
        return f"no plan has fewer than {bound} or {other}"
    return f"no plan has fewer than {bound}, none with {counted(sizes[first][0], first)} fewer than {other}"


def verdict(plan: Plan, limits: Limits) -> str:
    if optimal(plan, limits):
        return "optimal"
    gaps = [(len(plan.steps) - plan.bounds.steps, "step"), (plan.actions - plan.bounds.actions, "action")]
    open_ = ", ".join(counted(gap, name) for gap, name in gaps if gap > 0)
    return f"gap {open_}" if open_ else f"the least {limits.minimise} is not proven"
