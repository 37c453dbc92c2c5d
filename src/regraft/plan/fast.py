"""The default planner: a valid plan for any two trees at once, then better ones until time is up.

First the plain greedy plan (milliseconds at a thousand brokers). Then rounds of sampling and merging
(`search`): a slice of greedy plans in many styles, then exact searches over what they contain, for as
long as those succeed. It ends early when the plan meets the proven bounds. Where the model of all actions
is small, the optimum is proven instead.
"""

from regraft.model import Bounds, Infeasible, Limits
from regraft.plan.bounds import lower_bounds
from regraft.plan.frame import over_degree
from regraft.plan.improve import improve, small
from regraft.plan.problem import Found, Problem
from regraft.plan.prove import prove
from regraft.plan.search import Search, nothing_found
from regraft.plan.watch import Watch

TRIES = 200
"""Greedy styles to try when limits are in the way of the first plan."""


def fast(problem: Problem, limits: Limits, watch: Watch) -> Found | Infeasible:
    """Always finds a plan if no limit is in the way; improves it until the watch expires."""
    if not problem.missing:
        return Found((), Bounds(0, 0))
    crowded = over_degree(problem, limits)
    if crowded is not None:
        return crowded
    search = Search(problem, limits, watch, lower_bounds(problem, limits, thorough=False))
    search.first(TRIES)
    if not watch.expired:
        search.bounds = lower_bounds(problem, limits)
        if small(search):
            return prove(search)
        improve(search)
    if search.best is None:
        return nothing_found(problem, limits)
    return Found(search.best, search.bounds)
