"""The exact planner: a first plan from the greedy search, then the proof."""

from regraft.model import Bounds, Infeasible, Limits
from regraft.plan.bounds import lower_bounds
from regraft.plan.frame import over_degree
from regraft.plan.improve import improve, small
from regraft.plan.problem import Found, Problem
from regraft.plan.prove import prove
from regraft.plan.search import Search
from regraft.plan.watch import Watch

WARM_UP = 0.1
"""Share of the time in which the first plan is improved before the proof, unless the model is small."""
WARM_UP_SECONDS = 1.0


def exact(problem: Problem, limits: Limits, watch: Watch, over: str = "naive") -> Found | Infeasible:
    """Prove the optimum over the action set if time allows; else return the best plan found, with bounds."""
    if not problem.missing:
        return Found((), Bounds(0, 0))
    crowded = over_degree(problem, limits)
    if crowded is not None:
        return crowded
    search = Search(problem, limits, watch, lower_bounds(problem, limits))
    search.first(tries=20)
    if over == "naive" and not watch.expired and not small(search):
        improve(search, min(WARM_UP, WARM_UP_SECONDS / watch.left))
    return prove(search, over)
