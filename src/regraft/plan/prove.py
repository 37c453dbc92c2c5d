"""Proof: the fewest steps, then the fewest actions, over a set of actions, by the compact model.

`reach` refutes most lengths T without any search; for the rest the compact model is solved at T = bound,
bound + 1, … until there is a plan: its length is the least. Then actions are minimised at that length.
Over all actions ("naive") the result bounds every plan; over a smaller set it is recorded as a `Proof`
for that set.

A table that falls into *regions* that share no link is solved region by region: the longest one decides the
steps, and each region then minimises its own actions with that many steps.

When actions (or cost) come first, every length up to (best - 1) / least cost has to be refuted: a plan with
fewer actions cannot have more steps than actions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regraft.model import Bounds, Infeasible, Limits, Proof
from regraft.plan.action_sets import ACTION_SETS
from regraft.plan.compact import Aim, CompactAnswer, solve
from regraft.plan.improve import improve, meets
from regraft.plan.kernel_tree import Ints
from regraft.plan.objective import COORDINATION, cost_of
from regraft.plan.problem import Found, Problem, Shift
from regraft.plan.reach import Ground, regions, windows
from regraft.plan.search import Search, nothing_found
from regraft.plan.watch import Progress, Watch

PATIENCE = 0.5
"""Share of the time left that one length may take; if it fails, the rest is used for improvement."""
TABLE = 1_000_000
"""The most shifts of a model: a larger one would not be solved in time anyway."""
LARGEST = 1500
"""The most brokers: with more, the pairs of brokers alone take too much memory."""
LONGEST = 4
"""Within limits there may be no plan at all: lengths up to this many steps per broker are tried."""
Steps = list[list[Shift]]


@dataclass
class ExactSolver:
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
        self.everything = self.over == "naive"

    def shifts(self, steps: int) -> Ints:
        if self._set is not None:
            return self._set
        return self.ground.every_shift(steps, TABLE)

    def at(self, steps: int, aim: Aim, hint: Sequence[Sequence[Shift]] = ()) -> CompactAnswer:
        """The best plan of at most `steps` steps over the action set."""
        if self.watch.expired or (self._set is None and self.problem.size > LARGEST):
            return CompactAnswer(None, 0, False)
        shifts = self.shifts(steps)
        if len(shifts) > TABLE:
            return CompactAnswer(None, 0, False)
        table = windows(self.ground, steps, shifts)
        if table is None:
            return CompactAnswer(None, 0, True)
        coupled = self.limits.max_degree is not None or self.limits.exclusive or aim.slowest
        parts = [table] if coupled or aim.at_most is not None else regions(table)
        answers = [solve(self.problem, part, self.limits, aim, self.watch, hint) for part in parts]
        if any(answer.steps is None for answer in answers):
            return CompactAnswer(None, 0, any(answer.steps is None and answer.proven for answer in answers))
        merged = [[act for answer in answers for act in (answer.steps or [])[step]] for step in range(steps)]
        return CompactAnswer(merged, sum(a.bound for a in answers), all(a.proven for a in answers))


def steps_first(solver: ExactSolver, search: Search) -> Found | Infeasible:
    """Refute lengths upward until one has a plan, then minimise actions at that length."""
    everything, bound = solver.everything, search.bounds.steps
    plan: Steps | None = None
    while plan is None:
        if bound > LONGEST * solver.problem.size:
            return nothing_found(solver.problem, solver.limits)
        if everything and search.best is not None and len(search.best) == bound:
            plan = search.best
            break
        answer = solver.at(bound, Aim(seconds=solver.watch.left * PATIENCE))
        if answer.steps is None and not answer.proven:
            return _best(search, bound if everything else search.bounds.steps)
        if answer.steps is None:
            bound += 1
            search.watch.tell(Progress(None, None, bound, search.bounds.actions, solver.over))
        else:
            plan = _dense(answer.steps)
            search.offer(plan)
    answer = solver.at(bound, Aim(lambda act: 1), plan)
    if answer.steps is not None:
        plan = _dense(answer.steps)
        search.offer(plan)
    actions = sum(map(len, plan)) if answer.proven else answer.bound
    if everything:
        bounds = Bounds(bound, max(actions, search.bounds.actions))
        return Found(search.best or plan, bounds)
    return Found(plan, search.bounds, Proof(solver.over, bound, actions))


def total_first(solver: ExactSolver, search: Search) -> Found | Infeasible:
    """Actions, cost or time first: lower the total at each length until no length can do better."""
    limits = solver.limits
    counted, timed = limits.minimise == "actions", limits.minimise == "time"
    cost: Callable[[Shift], int] = (lambda act: 1) if counted else solver.cost
    per_step = _least_per_step(limits)
    plan = search.best if solver.everything else None
    steps, proven = search.bounds.steps, per_step > 0
    while plan is None or steps <= max((search.key(plan)[0] - 1) // max(per_step, 1), len(plan) - 1):
        if solver.watch.expired or steps > LONGEST * solver.problem.size:
            return _best(search, search.bounds.steps)
        at_most = None if plan is None else _to_beat(search, plan, steps)
        answer = solver.at(steps, Aim(cost, timed, at_most, solver.watch.left * PATIENCE))
        proven = proven and answer.proven
        if answer.steps is not None:
            plan = _dense(answer.steps)
            search.offer(plan)
        elif answer.proven:
            steps += 1
        else:
            break
    if plan is None or not proven:
        return _best(search, search.bounds.steps)
    size = len(plan), sum(map(len, plan))
    if not solver.everything:
        return Found(plan, search.bounds, Proof(solver.over, *size) if counted else None)
    return Found(plan, Bounds(*size) if counted else search.bounds)


def _least_per_step(limits: Limits) -> int:
    """The least that a step adds to the total: its cheapest action, and coordination if time is counted."""
    coordination = COORDINATION if limits.minimise == "time" else 0
    if limits.minimise == "actions":
        return 1
    return coordination + min([1, *limits.costs.by_action.values(), *limits.costs.by_operation.values()])


def _to_beat(search: Search, plan: Steps, steps: int) -> int:
    """The highest total of a better plan of `steps` steps; an equal total will do if it is shorter."""
    total = search.key(plan)[0]
    if search.limits.minimise == "time":
        return total - COORDINATION * steps - 1
    return total if steps < len(plan) else total - 1


def _best(search: Search, bound: int) -> Found | Infeasible:
    """There was no proof in time: use the rest to improve the best plan, and return it with its bounds."""
    improve(search)
    if search.best is None:
        return nothing_found(search.problem, search.limits)
    return Found(search.best, Bounds(max(bound, search.bounds.steps), search.bounds.actions))


def _dense(steps: Sequence[Sequence[Shift]]) -> Steps:
    return [list(step) for step in steps if step]


def prove(search: Search, over: str = "naive") -> Found | Infeasible:
    """The optimum over the action set if time allows; else the best plan found, with the bounds reached."""
    if over == "naive" and search.best is not None and meets(search):
        return Found(search.best, search.bounds)
    general = search.bounds
    solver = ExactSolver(search.problem, search.limits, search.watch, over)
    found = (steps_first if search.limits.minimise == "steps" else total_first)(solver, search)
    if solver.everything or isinstance(found, Infeasible):
        return found
    # A bound on actions that was raised meanwhile holds only for plans as short as `search.best`; plans over
    # this set may need more steps.
    return replace(found, bounds=Bounds(search.bounds.steps, general.actions))
