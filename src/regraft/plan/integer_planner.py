"""Algorithm 1 of IPITT §IV-B: the shortest plan length T for which the paper's program has a solution.

IPITT starts at T = 1, or at a value recorded from earlier plans (`STARTING_T`). A recorded value may be too
high for the task at hand, and then the first T tried already has a plan; so the search continues downwards
until it meets a T without a plan. Since steps may be empty, a plan of T steps is also one of T + 1: both
directions end at the same, proven, fewest steps.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from regraft.model import Action, Bounds, Infeasible, Limits, Proof
from regraft.plan.action_sets import ACTION_SETS
from regraft.plan.bounds import lower_bounds
from regraft.plan.linear import Ints
from regraft.plan.planning_task import planning_task
from regraft.plan.problem import Found, Problem, Shift
from regraft.plan.program import build, chosen
from regraft.plan.solvers import Solved, Status, solve
from regraft.plan.watch import Progress, Watch

OBJECTIVES = ("steps", "cost")
STARTING_T: dict[int, dict[int, int]] = {
    20: {10: 3, 20: 3, 30: 3},
    30: {10: 3, 20: 4, 30: 5},
    40: {5: 3, 10: 4, 20: 6},
}
"""The table of IPITT §IV-B: brokers -> percent of the links changed -> the plan length T to try first.

An entry is the fewest steps that any of IPITT's twelve trees of that size and change ratio needed with the
each-path action set. A task that is not listed starts at 1.
"""


@dataclass
class LengthSearch:
    """What is known so far: no plan over the action set has fewer than `fewest` steps; T is tried next."""

    fewest: int
    T: int
    best: list[list[Shift]] | None = None
    solved: Solved | None = None

    @property
    def steps_proven(self) -> bool:
        return self.best is not None and len(self.best) <= self.fewest


def integer_plan(
    problem: Problem, limits: Limits, watch: Watch, *, over: str = "naive", solver: str = "highs"
) -> Found | Infeasible:
    """Fewest steps, then fewest actions (minimising cost: least Σ C_a), with the shifts of the set `over`."""
    refused = refusal(problem, limits, f"ip-{over}")
    if refused is not None:
        return refused
    bounds = lower_bounds(problem, limits, thorough=False)
    if not problem.missing:
        return Found((), bounds, Proof(over, 0, 0))
    shifts = ACTION_SETS[over](problem)
    task = planning_task(problem, shifts)
    costs = action_costs(problem, shifts, limits)
    # This is the reference, Algorithm 1 as published: our own bounds are reported, but do not shorten it.
    search = LengthSearch(fewest=1, T=max(1, starting_length(problem.size, len(problem.missing))))
    while not search.steps_proven and not watch.expired:
        if trees(problem.size) < search.T:
            return never(limits, over)
        program = build(task, search.T, costs, limits.max_degree, limits.exclusive)
        solved = solve(program, solver, watch, limits.threads, limits.seed)
        if solved.status is Status.INFEASIBLE:
            search.fewest = search.T = search.T + 1
        elif solved.solution is not None:
            steps = [[shifts[a] for a in step] for step in chosen(task, search.T, solved.solution)]
            search.best, search.solved = [step for step in steps if step], solved
            search.T = len(search.best) - 1
        tell(watch, search, bounds)
        if solved.status in (Status.FEASIBLE, Status.UNKNOWN):
            break
    return answer(search, limits, bounds, over)


ip_naive = partial(integer_plan, over="naive")
ip_all_paths = partial(integer_plan, over="all-paths")
ip_each_path = partial(integer_plan, over="each-path")


def refusal(problem: Problem, limits: Limits, planner: str) -> Infeasible | None:
    """Why there is no need to search: this planner cannot do what is asked, or no planner can."""
    if limits.minimise not in OBJECTIVES:
        reason = f"planner {planner} minimises steps, then actions or cost"
        return Infeasible(f"{reason}; it cannot minimise {limits.minimise}", limit="minimise")
    if problem.missing and "shift" not in limits.operations:
        return Infeasible(f"planner {planner} plans with shifts, which are not allowed", limit="operations")
    if limits.max_degree is None or not problem.missing:
        return None
    for name, links in (("initial", problem.initial), ("goal", problem.goal)):
        degrees = Counter(broker for link in links for broker in link)
        broker, degree = max(degrees.items(), key=lambda item: item[1])
        if degree > limits.max_degree:
            reason = f"broker {problem.ids[broker]!r} has {degree} links in the {name} topology"
            return Infeasible(
                f"{reason}, more than {limits.max_degree}", "max-degree", problem.ids[broker], proven=True
            )
    return None


def action_costs(problem: Problem, shifts: Sequence[Shift], limits: Limits) -> Ints | None:
    """C_a of §V, if the user minimises cost."""
    if limits.minimise != "cost":
        return None
    named = (Action("shift", (problem.ids[i], problem.ids[j], problem.ids[k])) for i, j, k in shifts)
    return np.array([limits.costs.of(action) for action in named], dtype=np.int64)


def starting_length(brokers: int, changed: int) -> int:
    """The T of the largest listed task that is not larger than this one in brokers or change ratio."""
    percent = 100 * changed / max(1, brokers - 1)
    known = (
        T
        for size, by_ratio in STARTING_T.items()
        for ratio, T in by_ratio.items()
        if size <= brokers and ratio <= percent
    )
    return max(known, default=1)


def trees(size: int) -> int:
    """The number of trees on `size` brokers (Cayley). A plan with more steps would meet a tree twice."""
    return int(size ** max(0, size - 2))


def never(limits: Limits, over: str) -> Infeasible:
    """Without a degree limit there always is a plan (§IV-B), so that limit is in the way."""
    reason = f"no order of shifts keeps every broker within {limits.max_degree} links"
    return Infeasible(reason, limit="max-degree", proven=over == "naive")


def answer(search: LengthSearch, limits: Limits, bounds: Bounds, over: str) -> Found | Infeasible:
    """The best plan with what is proven about it, or how far the search got."""
    if search.best is None or search.solved is None:
        reason = f"time ran out at T = {search.T}; with the {over} shifts no plan has fewer than"
        return Infeasible(f"{reason} {search.fewest} steps", limit="time-limit")
    optimal = search.steps_proven and search.solved.status is Status.OPTIMAL
    counts_actions = limits.minimise == "steps"
    if over == "naive":
        actions = max(bounds.actions, search.solved.bound) if counts_actions else bounds.actions
        bounds = Bounds(max(bounds.steps, search.fewest), actions)
    size = sum(len(step) for step in search.best)
    proof = Proof(over, len(search.best), size) if optimal and counts_actions else None
    return Found(search.best, bounds, proof)


def tell(watch: Watch, search: LengthSearch, bounds: Bounds) -> None:
    best = search.best
    actions = None if best is None else sum(len(step) for step in best)
    steps = None if best is None else len(best)
    watch.tell(Progress(steps, actions, bounds.steps, bounds.actions, note=f"next T = {search.T}"))
