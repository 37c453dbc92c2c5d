"""Rounds of sampling and merging, until time is up or nothing is left to improve."""

from regraft.plan.search import WHOLE, Search

SLICE = {"steps": 0.3, "time": 0.3, "actions": 0.9, "cost": 0.9}
"""Seconds of sampling before the first merge: sampling saves actions, merging saves steps."""
REPLANNING = 3.0
"""How many times longer sampling lasts where it is a local search, which saves more actions than merging."""
GROWTH = 1.5
"""Both get longer by this factor each time that a merge finds nothing."""


def improve(search: Search, share: float = 1.0) -> None:
    """Sample and merge until the plan meets the bounds or this share of the time left is used."""
    watch = search.watch
    until, slice_ = watch.elapsed + share * watch.left, SLICE[search.limits.minimise]
    while watch.elapsed < until and not watch.expired and not meets(search):
        seconds = slice_ * REPLANNING if search.replans else slice_
        search.sample(min(seconds, until - watch.elapsed))
        slice_ = merge_all(search, slice_ * GROWTH)


def merge_all(search: Search, seconds: float) -> float:
    """Merge as long as that helps; return the length of the next slice, which starts again if it did."""
    while search.best is not None and not search.watch.expired and search.merge(seconds):
        seconds = SLICE[search.limits.minimise]
    return seconds


def meets(search: Search) -> bool:
    """Whether steps and actions are at their bounds, so that nothing is left to improve."""
    if search.best is None or search.limits.minimise in ("cost", "time"):
        return False
    return search.bounds == (len(search.best), sum(map(len, search.best)))


def small(search: Search) -> bool:
    """Whether the model of all actions, at the best plan's length, is small enough to be solved at once."""
    if search.best is None or search.problem.size > 200:
        return False
    return len(search.ground.every_shift(len(search.best), WHOLE)) <= WHOLE
