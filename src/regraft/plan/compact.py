"""Our own exact model: only links and actions, on CP-SAT.

    c[e, t]  link e is there after step t            x[a, t]  action a happens in step t

    c[e, t] = c[e, t-1] + Σ x[a, t] (a adds e) - Σ x[a, t] (a removes e)
    Σ x[a, t] (a removes e) <= c[e, t-1]             no link is removed twice
    Σ x[a, t] (a adds e)    <= 1 - c[e, t-1]         nor added twice, nor while it is there
    x[a, t] <= c[g, t-1], c[g, t]                    a guard is there and stays; it may be shared

`reach.windows` has already struck out every (link, step) and (action, step) that cannot be part of a
plan; links in both trees need no variable at all. Limits of IPITT §V: degree before the step plus links
added in it at most D_max, and at most one action per broker and step if asked.

CP-SAT is imported when the first model is made: it takes longer to load than most plans take to make.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regraft.model import Limits
from regraft.plan.problem import Problem, Shift
from regraft.plan.reach import Windows
from regraft.plan.watch import Watch

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    Links = list[dict[int, cp_model.IntVar | int]]
    Chosen = list[dict[int, cp_model.IntVar]]

SMALL = 600
"""Up to this number of action variables one worker is faster than several."""


@dataclass(frozen=True)
class CompactAnswer:
    """The best plan found, if any, and the bound proven for the objective.

    `proven`: the plan is optimal, or (without a plan) there is none.
    """

    steps: list[list[Shift]] | None
    bound: int
    proven: bool


@dataclass(frozen=True)
class Aim:
    """What to minimise: the sum of action costs, or (`slowest`) the sum over steps of the dearest action.

    The sum must be at most `at_most`; the solver stops after `seconds`.
    """

    cost: Callable[[Shift], int] | None = None
    slowest: bool = False
    at_most: int | None = None
    seconds: float = math.inf


FEASIBLE = Aim()


def solve(
    problem: Problem,
    table: Windows,
    limits: Limits,
    aim: Aim,
    watch: Watch,
    hint: Sequence[Iterable[Shift]] = (),
) -> CompactAnswer:
    """Find the best plan of `table.steps` steps (empty ones allowed), or prove that there is none."""
    from ortools.sat.python import cp_model  # noqa: PLC0415

    model = cp_model.CpModel()
    links = _link_variables(model, problem, table)
    chosen: Chosen = []
    for step, acts in enumerate(table.possible):
        if watch.expired:
            return CompactAnswer(None, 0, False)
        actions = {act: model.new_bool_var("") for act in acts}
        chosen.append(actions)
        _state_change(model, table, links, step, actions)
    if limits.max_degree is not None:
        _degree(model, problem, table, links, chosen, limits.max_degree)
    if limits.exclusive:
        _exclusive(model, table, chosen)
    _objective(model, table, chosen, aim)
    for actions, hinted in zip(chosen, [*hint, *([()] * (table.steps - len(hint)))], strict=True):
        wanted = set(hinted)
        for act, variable in actions.items() if hint else ():
            model.add_hint(variable, table.acts[act] in wanted)
    return _run(model, table, chosen, limits, aim, watch)


def _link_variables(model: "cp_model.CpModel", problem: Problem, table: Windows) -> "Links":
    """c[e, t], a variable where it is open; at t = 0 and t = T the trees are given."""
    states: Links = []
    for step, live in enumerate(table.live):
        fixed = 1 if step in (0, table.steps) else None
        states.append({e: fixed or model.new_bool_var("") for e in live.nonzero()[0].tolist()})
    return states


def _state_change(
    model: "cp_model.CpModel",
    table: Windows,
    links: "Links",
    step: int,
    actions: "dict[int, cp_model.IntVar]",
) -> None:
    adding, removing = defaultdict(list), defaultdict(list)
    for act, variable in actions.items():
        removing[int(table.removed[act])].append(variable)
        adding[int(table.added[act])].append(variable)
    before, after = links[step], links[step + 1]
    for e in before.keys() | after.keys():
        was, becomes = before.get(e, 0), after.get(e, 0)
        if adding[e] or removing[e]:
            model.add(sum(adding[e]) - sum(removing[e]) == becomes - was)
        elif was is not becomes:
            model.add(was == becomes)
        if removing[e]:
            model.add(sum(removing[e]) <= was)
        if adding[e]:
            model.add(sum(adding[e]) + was <= 1)
    for act, variable in actions.items():
        guard = int(table.guards[act])
        for state in (before, after) if guard >= 0 else ():
            there = state.get(guard, 0)
            if isinstance(there, int):
                if not there:
                    model.add(variable == 0)
            else:
                model.add_implication(variable, there)


def _degree(
    model: "cp_model.CpModel", problem: Problem, table: Windows, links: "Links", chosen: "Chosen", most: int
) -> None:
    """Degree before the step + links added in the step <= D_max, for every broker and step."""
    staying = [0] * problem.size
    for one, other in problem.initial & problem.goal:
        staying[one] += 1
        staying[other] += 1
    for before, actions in zip(links, chosen, strict=False):
        terms = defaultdict(list)
        for e, there in before.items():
            for broker in table.links[e].tolist():
                terms[broker].append(there)
        for act, variable in actions.items():
            for broker in table.links[table.added[act]].tolist():
                terms[broker].append(variable)
        for broker, some in terms.items():
            if staying[broker] + len(some) > most:
                model.add(sum(some) <= most - staying[broker])


def _exclusive(model: "cp_model.CpModel", table: Windows, chosen: "Chosen") -> None:
    for actions in chosen:
        taking_part = defaultdict(list)
        for act, variable in actions.items():
            for broker in set(table.acts[act]):
                taking_part[broker].append(variable)
        for variables in taking_part.values():
            model.add_at_most_one(variables)


def _objective(model: "cp_model.CpModel", table: Windows, chosen: "Chosen", aim: Aim) -> None:
    if aim.cost is None:
        return
    from ortools.sat.python import cp_model  # noqa: PLC0415

    if aim.slowest:
        most = max((aim.cost(act) for act in table.acts), default=0)
        times = []
        for actions in chosen:
            time = model.new_int_var(0, most, "")
            for act, variable in actions.items():
                model.add(time >= aim.cost(table.acts[act]) * variable)
            times.append(time)
        total = cp_model.LinearExpr.sum(times)
    else:
        terms = [(v, aim.cost(table.acts[act])) for actions in chosen for act, v in actions.items()]
        total = cp_model.LinearExpr.weighted_sum([v for v, _ in terms], [cost for _, cost in terms])
    if aim.at_most is not None:
        model.add(total <= aim.at_most)
    model.minimize(total)


def _run(
    model: "cp_model.CpModel", table: Windows, chosen: "Chosen", limits: Limits, aim: Aim, watch: Watch
) -> CompactAnswer:
    from ortools.sat.python import cp_model  # noqa: PLC0415

    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(min(watch.left, aim.seconds), 0.01)
    solver.parameters.num_workers = limits.threads if table.choices > SMALL else 1
    solver.parameters.random_seed = limits.seed % (1 << 31)
    solver.parameters.catch_sigint_signal = False
    with watch.on_stop(solver.stop_search):
        status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        steps = [
            [table.acts[act] for act, v in actions.items() if solver.boolean_value(v)] for actions in chosen
        ]
        bound = int(solver.best_objective_bound + 0.999) if aim.cost else 0
        return CompactAnswer(steps, bound, status == cp_model.OPTIMAL)
    return CompactAnswer(None, 0, status == cp_model.INFEASIBLE)
