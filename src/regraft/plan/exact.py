"""The exact planner: the fewest steps, then the fewest actions, proven, over a set of actions.

The fast planner gives a first plan, so an upper bound; `reach` refutes most lengths T without any search;
for the rest the compact model is solved at T = bound, bound + 1, … until there is a plan: its length is
the least. Then actions are minimised at that length. Over all shifts ("naive") the result is a bound for
every plan; over a smaller set it is recorded as a `Proof` for that set.

A set that falls into *regions* that share no link is solved region by region: the longest one decides the
steps, and each region then minimises its own actions with that many steps.

When actions (or cost) come first, every length up to (best - 1) / least cost has to be refuted: a plan with
fewer actions can not have more steps than actions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regraft.model import Bounds, Infeasible, Limits, Proof
from regraft.plan.action_sets import ACTION_SETS
from regraft.plan.bounds import lower_bounds
from regraft.plan.compact import FEASIBLE, Aim, Answer, solve
from regraft.plan.fast import improve, nothing_found
from regraft.plan.kernel import Ints
from regraft.plan.objective import COORDINATION, cost_of
from regraft.plan.problem import Act, Found, Problem
from regraft.plan.reach import Ground, regions, windows
from regraft.plan.search import Search
from regraft.plan.watch import Progress, Watch

WARM_UP = 0.1
"""Share of the time for the first plan and its improvement."""
WARM_UP_SECONDS = 1.0
Steps = list[list[Act]]


@dataclass
class Exact:
    """One exact search: the task, the actions allowed, and what is known so far."""

    problem: Problem
    limits: Limits
    watch: Watch
    over: str

    def __post_init__(self) -> None:
        self.ground = Ground(self.problem)
        self.cost = cost_of(self.problem, self.limits)
        self._set: Ints | None = None
        if self.over != "naive":
            self._set = np.array(ACTION_SETS[self.over](self.problem), np.int64).reshape(-1, 3)

    def shifts(self, steps: int) -> Ints:
        return self.ground.every_shift(steps) if self._set is None else self._set

    def at(self, steps: int, aim: Aim, hint: Sequence[Sequence[Act]] = ()) -> Answer:
        """The best plan of at most so many steps over the action set."""
        table = windows(self.ground, steps, self.shifts(steps))
        if table is None:
            return Answer(None, 0, True)
        coupled = self.limits.max_degree is not None or self.limits.exclusive or aim.slowest
        parts = [table] if coupled or aim.at_most is not None else regions(table)
        answers = [solve(self.problem, part, self.limits, aim, self.watch, hint) for part in parts]
        if any(answer.steps is None for answer in answers):
            return Answer(None, 0, any(answer.steps is None and answer.proven for answer in answers))
        merged = [[act for answer in answers for act in (answer.steps or [])[step]] for step in range(steps)]
        return Answer(merged, sum(a.bound for a in answers), all(a.proven for a in answers))


def exact(problem: Problem, limits: Limits, watch: Watch, over: str = "naive") -> Found | Infeasible:
    """Proves the optimum over the action set if time allows; else returns the best plan found, with bounds."""
    if not problem.missing:
        return Found((), Bounds(0, 0))
    if "shift" not in limits.operations:
        return Infeasible("the exact planner plans shifts; allow them, or use the fast planner", "operations")
    general = lower_bounds(problem, limits)
    search = Search(problem, limits, watch, general)
    search.first(tries=50)
    warm_up = min(WARM_UP, WARM_UP_SECONDS / watch.left) if watch.left > 0 else 0.0
    if over == "naive":
        improve(search, warm_up)
    solver = Exact(problem, limits, watch, over)
    found = _steps_first(solver, search) if limits.minimise == "steps" else _total_first(solver, search)
    if over == "naive" or isinstance(found, Infeasible):
        return found
    # What was proven for plans with fewer steps than this set allows says nothing about its actions.
    return replace(found, bounds=Bounds(search.bounds.steps, general.actions))


def _steps_first(solver: Exact, search: Search) -> Found | Infeasible:
    """Refute lengths upward until one has a plan, then minimise actions at that length."""
    everything, bound = solver.over == "naive", search.bounds.steps
    inside: Steps | None = None
    while inside is None:
        if everything and search.best is not None and len(search.best) == bound:
            inside = search.best
            break
        answer = solver.at(bound, FEASIBLE)
        if answer.steps is None and not answer.proven:
            return _best(search, bound if everything else search.bounds.steps)
        if answer.steps is None:
            bound += 1
            search.watch.tell(Progress(None, None, bound, search.bounds.actions, solver.over))
        else:
            inside = _dense(answer.steps)
            search.offer(inside)
    answer = solver.at(bound, Aim(lambda act: 1), inside)
    if answer.steps is not None:
        inside = _dense(answer.steps)
        search.offer(inside)
    actions = sum(map(len, inside)) if answer.proven else answer.bound
    if everything:
        bounds = Bounds(bound, max(actions, search.bounds.actions))
        return Found(search.best or inside, bounds)
    return Found(inside, search.bounds, Proof(solver.over, bound, actions))


def _total_first(solver: Exact, search: Search) -> Found | Infeasible:
    """Actions, cost or time first: lower the total at each length until no length can do better."""
    limits = solver.limits
    counted, timed = limits.minimise == "actions", limits.minimise == "time"
    cost: Callable[[Act], int] = (lambda act: 1) if counted else solver.cost
    per_step = (COORDINATION if timed else 0) + min(
        [1, *limits.costs.by_action.values(), *limits.costs.by_operation.values()]
    )
    inside = search.best if solver.over == "naive" else None
    steps, proven = search.bounds.steps, per_step > 0
    while not solver.watch.expired:
        total = None if inside is None else search.key(inside)[0]
        if (
            inside is not None
            and total is not None
            and steps > max((total - 1) // max(per_step, 1), len(inside) - 1)
        ):
            break
        at_most = None
        if inside is not None and total is not None:
            at_most = (
                total
                - (COORDINATION * steps if timed else 0)
                - (0 if steps < len(inside) and not timed else 1)
            )
        answer = solver.at(steps, Aim(cost, timed, at_most))
        proven = proven and answer.proven
        if answer.steps is not None:
            inside = _dense(answer.steps)
            search.offer(inside)
            continue
        if not answer.proven:
            break
        steps += 1
    else:
        proven = False
    if inside is None:
        return _best(search, search.bounds.steps)
    size = len(inside), sum(map(len, inside))
    if solver.over != "naive":
        return Found(inside, search.bounds, Proof(solver.over, *size) if proven and counted else None)
    if proven and counted:
        search.bounds = Bounds(*size)
    return Found(inside, search.bounds)


def _best(search: Search, bound: int) -> Found | Infeasible:
    """Time is up: the best plan so far, with the bound on steps that was reached."""
    if search.best is None:
        return nothing_found(search.limits)
    return Found(search.best, Bounds(max(bound, search.bounds.steps), search.bounds.actions))


def _dense(steps: Sequence[Sequence[Act]]) -> Steps:
    return [list(step) for step in steps if step]
