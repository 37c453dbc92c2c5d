"""Plans of moves (link exchange, IPITT §V), as the shifts that carry them out.

A move turns a removable link into a missing goal link at once, however far away that is. Brokers know
shifts only, so the link slides there along the path between the ends of the goal link, one shift after the
other: first its near end, then its far end. A plan holds these shifts and nothing else; what is verified,
bounded, estimated and shown is what will be carried out.

Moves are made one after the other, each within the degree limit at every shift. That costs more shifts than
the greedy search, which shares detours between links. But it finds plans where the limit leaves so little
room that the greedy search gets stuck.
"""

import numpy as np

from regraft.model import Limits
from regraft.plan.action_sets import neighbours, path_between, rooted
from regraft.plan.problem import Pair, Problem, Shift, pair
from regraft.plan.schedule import within_limits
from regraft.plan.watch import Watch

CHOICE = 8
"""Goal links that are looked at together: the one with the shortest path is made first."""


class Mover:
    """Plans of moves for one task, within its limits."""

    def __init__(self, problem: Problem, limits: Limits, watch: Watch) -> None:
        self.problem, self.limits, self.watch = problem, limits, watch

    def run(self, rng: np.random.Generator) -> list[list[Shift]] | None:
        """A plan; None if a link is missing for which no move fits the degree limit, or if time is up."""
        around = neighbours(self.problem.initial, self.problem.size)
        missing, shifts = list(self.problem.missing), list[Shift]()
        while missing and not self.watch.expired:
            made = self._move(missing, around, rng)
            if not made:
                return None
            shifts += made
        return None if missing else within_limits(shifts, self.problem, self.limits)

    def _move(self, missing: list[Pair], around: list[set[int]], rng: np.random.Generator) -> list[Shift]:
        """Make one of the missing links and take it off the list; its shifts, or [] if nothing fits."""
        parent, depth = rooted(around)
        rng.shuffle(missing)
        for start in range(0, len(missing), CHOICE):
            some = missing[start : start + CHOICE]
            paths = sorted((path_between(*goal, parent, depth) for goal in some), key=len)
            for path in paths:
                shifts = self._slide(path, around, rng)
                if shifts:
                    missing.remove(pair(path[0], path[-1]))
                    _apply(shifts, around)
                    return shifts
        return []

    def _slide(self, path: tuple[int, ...], around: list[set[int]], rng: np.random.Generator) -> list[Shift]:
        """The shifts of a move along the path, from either end, if limits and goal allow one."""
        for way in (path, path[::-1]) if rng.random() < 0.5 else (path[::-1], path):
            for at in rng.permutation(len(way) - 1).tolist():
                shifts = slide(way, at)
                if self._allowed(shifts, around):
                    return shifts
        return []

    def _allowed(self, shifts: list[Shift], around: list[set[int]]) -> bool:
        """Whether the shifts remove no goal link, not even one made on the way, and keep the degree limit."""
        if any(pair(i, j) in self.problem.goal for i, j, _ in shifts):
            return False
        return self.limits.max_degree is None or _most(shifts, around) <= self.limits.max_degree


def slide(path: tuple[int, ...], at: int) -> list[Shift]:
    """The link from path[at] to path[at + 1] becomes one between the ends of the path."""
    near = [(path[at + 1], path[place], path[place - 1]) for place in range(at, 0, -1)]
    far = [(path[0], path[place], path[place + 1]) for place in range(at + 1, len(path) - 1)]
    return near + far


def _most(shifts: list[Shift], around: list[set[int]]) -> int:
    """The highest degree on the way: a shift makes its new link before it breaks the old one."""
    degree = {broker: len(around[broker]) for shift in shifts for broker in shift}
    most = 0
    for i, j, k in shifts:
        degree[k] += 1
        most = max(most, degree[i] + 1, degree[k])
        degree[j] -= 1
    return most


def _apply(shifts: list[Shift], around: list[set[int]]) -> None:
    for i, j, k in shifts:
        around[i].remove(j)
        around[j].remove(i)
        around[i].add(k)
        around[k].add(i)
