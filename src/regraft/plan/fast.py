"""The default planner: a valid plan for any two trees at once, then better ones until time is up.

First the plain greedy plan (milliseconds at a thousand brokers). Then rounds of sampling and merging
(`search`): a slice of greedy plans in many styles, then exact searches over what they contain, for as
long as those succeed. It ends early when the plan meets the proven bounds.
"""

from regraft.model import Bounds, Infeasible, Limits
from regraft.plan.bounds import lower_bounds
from regraft.plan.problem import Found, Problem
from regraft.plan.search import Search
from regraft.plan.watch import Watch

SLICE = 0.3
"""Seconds of sampling between merges."""
TRIES = 200
"""Greedy styles that are tried when limits are in the way of the first plan."""


def fast(problem: Problem, limits: Limits, watch: Watch) -> Found | Infeasible:
    """Always finds a plan if no limit is in the way; improves it until the watch expires."""
    if not problem.missing:
        return Found((), Bounds(0, 0))
    search = Search(problem, limits, watch, lower_bounds(problem, limits, thorough=False))
    search.first(TRIES)
    if not watch.expired:
        search.bounds = lower_bounds(problem, limits)
        improve(search)
    if search.best is None:
        return nothing_found(limits)
    return Found(search.best, search.bounds)


def improve(search: Search, share: float = 1.0) -> None:
    """Sample and merge until the plan meets the bounds or this share of the time left is used."""
    watch = search.watch
    until = watch.elapsed + share * watch.left
    while not watch.expired and watch.elapsed < until and not meets(search):
        search.sample(min(SLICE, until - watch.elapsed))
        while search.best is not None and not watch.expired and search.merge():
            pass


def meets(search: Search) -> bool:
    """Nothing is left to improve: steps and actions are at their bounds."""
    if search.best is None or search.limits.minimise in ("cost", "time"):
        return False
    return (len(search.best), sum(map(len, search.best))) == search.bounds


def nothing_found(limits: Limits) -> Infeasible:
    """Which limit is in the way, when no plan was found although one exists without limits."""
    if limits.max_degree is not None:
        return Infeasible(
            f"no plan found that keeps every broker at {limits.max_degree} links or fewer", "max-degree"
        )
    if "shift" not in limits.operations:
        return Infeasible("no plan found with the allowed operations", "operations")
    return Infeasible("no plan found within the time limit", "time-limit")
