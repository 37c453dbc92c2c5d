"""The entry: two topologies in, a verified plan out, or the reason why there is none."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from regraft.model import Action, BadInput, Bounds, Infeasible, Limits, Plan, Topology
from regraft.plan.best_first import best_first
from regraft.plan.exact import exact
from regraft.plan.fast import fast
from regraft.plan.frame import frame, over_degree
from regraft.plan.integer_planner import integer_plan, ip_all_paths, ip_each_path, ip_naive
from regraft.plan.problem import Found, Problem
from regraft.plan.schedule import as_early_as_possible
from regraft.plan.verify import verify
from regraft.plan.watch import Watch

Planner = Callable[[Problem, Limits, Watch], Found | Infeasible]

PLANNERS: dict[str, Planner] = {
    "fast": fast,
    "exact": exact,
    "exact-all-paths": partial(exact, over="all-paths"),
    "exact-each-path": partial(exact, over="each-path"),
    "ip-naive": ip_naive,
    "ip-all-paths": ip_all_paths,
    "ip-each-path": ip_each_path,
    "ip-naive-cp-sat": partial(integer_plan, over="naive", solver="cp-sat"),
    "ip-all-paths-cp-sat": partial(integer_plan, over="all-paths", solver="cp-sat"),
    "ip-each-path-cp-sat": partial(integer_plan, over="each-path", solver="cp-sat"),
    "best-first": best_first,
}


def make_plan(
    current: Topology,
    goal: Topology,
    limits: Limits = Limits(),
    planner: str = "fast",
    watch: Watch | None = None,
) -> Plan | Infeasible:
    """Plan the change from one broker tree to another. Every plan has passed `verify` when it is returned."""
    if planner not in PLANNERS:
        raise BadInput("planner", f"unknown planner {planner!r}, choose one of {', '.join(PLANNERS)}")
    problem = admit(current, goal, limits)
    if isinstance(problem, Infeasible):
        return problem
    found = PLANNERS[planner](problem, limits, watch or Watch(limits.time_limit))
    if isinstance(found, Infeasible):
        return found
    plan = framed(problem, current, goal, found, planner)
    verify(plan, current, goal, limits)
    return plan


def admit(current: Topology, goal: Topology, limits: Limits) -> Problem | Infeasible:
    """The task in numbers, unless the limits already rule out every plan."""
    for topology in (current, goal):
        if topology.kind != "tree":
            raise BadInput("kind", "make_plan changes trees; make_mesh_plan changes meshes")
    problem = frame(current, goal, limits)
    if isinstance(problem, Infeasible):
        return problem
    if problem.missing and "shift" not in limits.operations:
        # A move is carried out as shifts, so allowing moves does not help.
        return Infeasible("links must change, but shift is not allowed", "operations", proven=True)
    return over_degree(problem, limits) or problem


def framed(problem: Problem, current: Topology, goal: Topology, found: Found, planner: str) -> Plan:
    """The plan on broker ids, appends before and detaches after what the planner found."""
    steps = (*problem.appends, *problem.named(found.steps), *problem.detaches)
    bounds, proof = found.bounds, found.proof
    if problem.appends or problem.detaches:
        bounds, proof = _framed_bounds(current, goal), None
    return Plan("tree", current.sha256, goal.sha256, steps, planner, bounds, proof)


def _framed_bounds(current: Topology, goal: Topology) -> Bounds:
    """With brokers that join or leave: no action adds or removes more than one link.

    Where a broker is appended, and when, is open, so what the planner proved between the appends and the
    detaches does not bound other plans.
    """
    added, removed = (
        goal.by_ends.keys() - current.by_ends.keys(),
        current.by_ends.keys() - goal.by_ends.keys(),
    )
    joining, leaving = set(goal.ids) - set(current.ids), set(current.ids) - set(goal.ids)
    return Bounds(1, max(len(added) + len(leaving), len(removed) + len(joining)))


def plan_within(
    topology: Topology,
    goal: Topology,
    limits: Limits,
    planner: str,
    most: int | None,
    shifts: Sequence[Action] = (),
) -> Plan | Infeasible:
    """A plan with at most `most` actions, if one is found; otherwise the plan with the fewest actions found.

    A planner in a hurry, or one for fewest steps, may take more actions than `most`. Then `shifts` are made
    a plan, if it is known that they lead from the topology to the goal; otherwise actions are minimised.
    """
    made = make_plan(topology, goal, limits, planner)
    if isinstance(made, Infeasible) or most is None or made.actions <= most:
        return made
    if 0 < len(shifts) <= most:
        return _plan_of(shifts, made, topology, goal, limits)
    shorter = make_plan(topology, goal, replace(limits, minimise="actions"), planner)
    return made if isinstance(shorter, Infeasible) or shorter.actions >= made.actions else shorter


def _plan_of(
    shifts: Sequence[Action], made: Plan, topology: Topology, goal: Topology, limits: Limits
) -> Plan:
    """A plan of these shifts for the same change as `made`; each shift is as early as its links allow."""
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
