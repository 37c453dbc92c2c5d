"""The trade-off between steps and actions: for each number of steps worth having, the fewest actions found.

Half of the time goes to the fewest steps, a third to the fewest actions, the rest to the lengths between
them. With the exact planner the model of its action set is solved at each length.
"""

from dataclasses import replace

from regraft.model import BadInput, Bounds, Infeasible, Limits, Plan, Topology
from regraft.plan.bounds import lower_bounds
from regraft.plan.compact import Aim
from regraft.plan.fast import TRIES
from regraft.plan.improve import improve, small
from regraft.plan.make import admit, framed
from regraft.plan.objective import Key
from regraft.plan.problem import Found, Problem, Shift
from regraft.plan.prove import ExactSolver, prove
from regraft.plan.search import Search
from regraft.plan.verify import verify
from regraft.plan.watch import Watch

SETS = {"fast": None, "exact": "naive", "exact-all-paths": "all-paths", "exact-each-path": "each-path"}
Steps = list[list[Shift]]


def pareto(
    current: Topology,
    goal: Topology,
    limits: Limits = Limits(),
    planner: str = "fast",
    watch: Watch | None = None,
) -> list[Plan] | Infeasible:
    """Plans of which no one beats another in both steps and actions, fewest steps first; all are verified."""
    if planner not in SETS:
        raise BadInput("planner", f"the trade-off is found by {', '.join(SETS)}, not by {planner!r}")
    problem = admit(current, goal, limits)
    if isinstance(problem, Infeasible):
        return problem
    front = _front(problem, limits, SETS[planner], watch or Watch(limits.time_limit))
    plans = [framed(problem, current, goal, found, planner) for found in front]
    for plan in plans:
        verify(plan, current, goal, limits)
    return plans or Infeasible("no plan was found within the limits", "time-limit")


def _front(problem: Problem, limits: Limits, over: str | None, watch: Watch) -> list[Found]:
    if not problem.missing:
        return [Found((), Bounds(0, 0))]
    bounds = lower_bounds(problem, limits)
    short = Search(problem, replace(limits, minimise="steps"), watch, bounds)
    few = Search(problem, replace(limits, minimise="actions"), watch, bounds)
    for search, share in ((short, 0.5), (few, 0.7)):
        search.first(TRIES)
        if small(search):
            _settle(search, share)
        else:
            improve(search, share)
    plans = [*short.archive, *few.archive]
    if short.best is not None and few.best is not None:
        plans += _between(short, few, over)
    front: list[Steps] = []
    for _, steps in sorted(plans, key=lambda entry: short.key(entry[1])):
        if not front or sum(map(len, steps)) < sum(map(len, front[-1])):
            front.append(steps)
    general = Bounds(short.bounds.steps, bounds.actions)
    # The bound on the actions of the shortest plans does not hold for longer ones, nor for any plan if
    # something other than steps is minimised first.
    shortest = short.bounds if limits.minimise == "steps" else general
    return [Found(steps, general if at else shortest) for at, steps in enumerate(front)]


def _settle(search: Search, share: float) -> None:
    """Where the model of all actions is small: the optimum, by a proof that takes at most this share of the
    time left. Sampling would use up its time, because the ends of a trade-off do not meet both bounds."""
    whole = search.watch
    search.watch = Watch(share * whole.left, whole.clock, whole.report)
    with whole.on_stop(search.watch.stop):
        found = prove(search)
    search.watch = whole
    if isinstance(found, Found):
        search.bounds = found.bounds


def _between(short: Search, few: Search, over: str | None) -> list[tuple[Key, Steps]]:
    """Fewest actions at every length from the shortest plan to the one with the fewest actions."""
    assert short.best is not None
    assert few.best is not None
    few.archive += [(few.key(steps), steps) for _, steps in short.archive]
    solver = None if over is None else ExactSolver(short.problem, few.limits, few.watch, over)
    found: list[tuple[Key, Steps]] = []
    for length in range(len(short.best), len(few.best) + 1):
        if few.watch.expired:
            break
        aim = Aim(lambda act: 1)
        if solver is None:
            answer, whole = few.solve_at(length, aim)
        else:
            answer, whole = solver.at(length, aim), solver.everything
        if answer.steps is None:
            continue
        steps = [step for step in answer.steps if step]
        found.append((few.key(steps), steps))
        if whole and answer.proven and length == len(short.best):
            short.bounds = Bounds(short.bounds.steps, sum(map(len, steps)))
    return found
