"""What is minimised, as a key that orders plans: the smaller tuple is the better plan.

The estimated execution time of a plan is the sum over its steps of one unit of coordination plus the
duration of its slowest action, which is its cost C_a: actions of a step run at once (IPITT §IV-C).
"""

from collections.abc import Callable, Sequence
from functools import cache

from regraft.model import Action, Limits
from regraft.plan.problem import Problem, Shift

Steps = Sequence[Sequence[Shift]]
Key = tuple[int, ...]
COORDINATION = 1


def cost_of(problem: Problem, limits: Limits) -> Callable[[Shift], int]:
    """C_a of an action in numbers."""
    costs = limits.costs
    if not costs.by_action and not costs.by_operation:
        return lambda act: 1

    @cache
    def cost(act: Shift) -> int:
        return costs.of(Action("shift", tuple(problem.ids[broker] for broker in act)))

    return cost


def key_of(problem: Problem, limits: Limits) -> Callable[[Steps], Key]:
    """The order of plans that the user asked for."""
    cost = cost_of(problem, limits)

    def actions(steps: Steps) -> int:
        return sum(map(len, steps))

    def by_steps(steps: Steps) -> Key:
        return len(steps), actions(steps)

    def by_actions(steps: Steps) -> Key:
        return actions(steps), len(steps)

    def by_cost(steps: Steps) -> Key:
        return sum(cost(act) for step in steps for act in step), len(steps), actions(steps)

    def by_time(steps: Steps) -> Key:
        return sum(COORDINATION + max(map(cost, step)) for step in steps), actions(steps), len(steps)

    return {"steps": by_steps, "actions": by_actions, "cost": by_cost, "time": by_time}[limits.minimise]
