"""Plans of moves (link exchange, IPITT §V): each missing goal link replaces a removable link in one action.

A move is free to jump, but it needs every link of the path between its new ends, so moves whose paths
lose a link to each other have to wait for the next step. Goals are taken in random order, short paths
first; each takes a removable link of its path that no other move of the step needs.
"""

from collections.abc import Iterator
from itertools import pairwise, permutations

import numpy as np

from regraft.model import Limits
from regraft.plan.action_sets import neighbours, path_between, rooted, transformation_paths
from regraft.plan.problem import Act, Pair, Problem, pair

Guards = tuple[Pair, ...]


class Mover:
    """Makes plans of moves and remembers the moves it has grounded, with the links that each needs."""

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self.problem, self.limits = problem, limits
        self._seen: dict[Act, dict[Guards, None]] = {}

    def grounded(self) -> list[tuple[Act, Guards]]:
        return [(act, guards) for act, ways in list(self._seen.items()) for guards in list(ways)]

    def run(self, rng: np.random.Generator) -> list[list[Act]] | None:
        """A plan of moves only, as parallel as this order of goals allows; None if limits are in the way."""
        links, missing, steps = set(self.problem.initial), set(self.problem.missing), []
        while missing:
            step = self._step(links, missing, rng)
            if not step:
                return None
            steps.append(step)
        return steps

    def _step(self, links: set[Pair], missing: set[Pair], rng: np.random.Generator) -> list[Act]:
        around = neighbours(links, self.problem.size)
        parent, depth = rooted(around)
        paths = {goal: path_between(*goal, parent, depth) for goal in missing}
        order = sorted(missing, key=lambda goal: (len(paths[goal]) * rng.uniform(0.7, 1.3), goal))
        gone: set[Pair] = set()
        needed: set[Pair] = set()
        gained: dict[int, int] = {}
        busy: set[int] = set()
        step: list[Act] = []
        for goal in order:
            on_path = [pair(one, other) for one, other in pairwise(paths[goal])]
            free = [link for link in on_path if link not in self.problem.goal and link not in needed]
            if not free or not gone.isdisjoint(on_path):
                continue
            taken = free[int(rng.integers(len(free)))]
            if not self._within_limits(goal, taken, around, gained, busy):
                continue
            act = _move(paths[goal], taken)
            guards = tuple(link for link in on_path if link != taken)
            self._seen.setdefault(act, {})[guards] = None
            gone.add(taken)
            needed.update(guards)
            step.append(act)
            busy.update(act)
            for broker in goal:
                gained[broker] = gained.get(broker, 0) + 1
            missing.discard(goal)
        links -= gone
        links |= {pair(act[2], act[3]) for act in step}
        return step

    def _within_limits(
        self, goal: Pair, taken: Pair, around: list[set[int]], gained: dict[int, int], busy: set[int]
    ) -> bool:
        if self.limits.exclusive and not busy.isdisjoint((*goal, *taken)):
            return False
        most = self.limits.max_degree
        return most is None or all(len(around[b]) + gained.get(b, 0) < most for b in goal)


def _move(path: tuple[int, ...], taken: Pair) -> Act:
    """move(i, j, k, l): i is on l's side of the path, j on k's."""
    at = next(place for place in range(len(path) - 1) if pair(path[place], path[place + 1]) == taken)
    return path[at], path[at + 1], path[-1], path[0]


COMPLETE = 7
"""Up to so many brokers all moves are grounded; their number grows like n!."""


def every_move(problem: Problem) -> tuple[list[tuple[Act, Guards]], bool]:
    """Moves to plan with, each with the links it needs; and whether these are all there are.

    On small overlays those along every path that there could be, otherwise along the transformation paths.
    """
    complete = problem.size <= COMPLETE
    found: dict[tuple[Act, Guards], None] = {}
    for path in _every_path(problem.size) if complete else transformation_paths(problem):
        on_path = [pair(one, other) for one, other in pairwise(path)]
        for link in on_path:
            if link not in problem.goal and pair(path[0], path[-1]) not in on_path:
                found[_move(path, link), tuple(other for other in on_path if other != link)] = None
    return list(found), complete


def _every_path(size: int) -> Iterator[tuple[int, ...]]:
    """All sequences of three or more distinct brokers, each once (not reversed as well)."""
    for length in range(3, size + 1):
        yield from (path for path in permutations(range(size), length) if path[0] < path[-1])
