"""A plan between trees with a bound on its actions.

A planner in a hurry, or one for fewest steps, may take more actions than are allowed, and more than the goal
was designed for. Then the shifts that the design is made of are a plan, or one is made for fewest actions.
"""

from collections.abc import Sequence
from dataclasses import replace

from regraft.model import Action, Infeasible, Limits, Plan, Topology
from regraft.plan.make import make_plan
from regraft.plan.schedule import as_early_as_possible
from regraft.plan.verify import verify


def plan_within(
    topology: Topology,
    goal: Topology,
    limits: Limits,
    planner: str,
    most: int | None,
    shifts: Sequence[Action] = (),
) -> Plan | Infeasible:
    """With at most `most` actions if one is found. `shifts`: from one to the other, if such are known."""
    made = make_plan(topology, goal, limits, planner)
    if isinstance(made, Infeasible) or most is None or made.actions <= most:
        return made
    if 0 < len(shifts) <= most:
        return along(shifts, made, topology, goal, limits)
    shorter = make_plan(topology, goal, replace(limits, minimise="actions"), planner)
    return made if isinstance(shorter, Infeasible) or shorter.actions >= made.actions else shorter


def along(shifts: Sequence[Action], made: Plan, topology: Topology, goal: Topology, limits: Limits) -> Plan:
    """The same change as the plan that was made, by these shifts, each as early as its links allow."""
    number = {id: place for place, id in enumerate(topology.ids)}
    one_by_one = []
    for each in shifts:
        i, j, k = (number[id] for id in each.brokers)
        one_by_one.append([(i, j, k)])
    steps = tuple(
        tuple(Action("shift", tuple(topology.ids[place] for place in shift)) for shift in step)
        for step in as_early_as_possible(one_by_one)
    )
    plan = Plan("tree", made.initial, made.goal, steps, "design", made.bounds)
    verify(plan, topology, goal, limits)
    return plan
