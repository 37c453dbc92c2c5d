"""Which link or action is possible in which step: the pruning that makes exact planning fast.

Links in both trees stay for the whole plan (rem, IPITT §III-C). So a link that moves always joins two
different *islands* of staying links, or there would be a cycle. Given a number of steps T, a link can be
in a state only if a chain of possible actions leads to it from the initial tree and another leads from
it to the goal tree. Both conditions are propagated to a fixed point. Nothing that can be part of a plan
of T steps is struck out; if a goal link, or a link of the initial tree, is struck out, there is no plan
of T steps over the given actions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regraft.plan import kernel_reach as kernel
from regraft.plan.kernel_tree import Flags, Ints
from regraft.plan.problem import Pair, Problem, Shift


class Ground:
    """Facts about a task that every action table needs: staying links, islands, wanted links."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.size = problem.size
        self.kept = np.array(sorted(problem.initial & problem.goal), np.int64).reshape(-1, 2)
        one, other = np.ascontiguousarray(self.kept.T)
        self.island: Ints = kernel.components(self.size, one, other)
        self.kept_keys = self.keys(self.kept[:, 0], self.kept[:, 1])
        self.goal_keys = self.keys(*np.array(sorted(problem.goal), np.int64).reshape(-1, 2).T)

    def keys(self, one: Ints, other: Ints) -> Ints:
        return np.asarray(np.minimum(one, other) * self.size + np.maximum(one, other), np.int64)

    def legal(self, shifts: Ints) -> Flags:
        """Which shifts (rows i, j, k) can ever be part of a plan."""
        i, j, k = shifts.T
        island, guards = self.island, self.keys(j, k)
        removable = (island[i] != island[j]) & ~np.isin(self.keys(i, j), self.goal_keys)
        guarded = np.isin(guards, self.kept_keys) | (island[j] != island[k])
        return np.asarray(removable & guarded & (island[i] != island[k]))

    @cached_property
    def _matrices(self) -> tuple[Flags, Flags, Flags, Ints, Ints]:
        kept, initial, wanted = (
            _matrix(self.size, links)
            for links in (self.kept.tolist(), self.problem.initial, self.problem.goal)
        )
        apart = np.asarray(self.island[:, None] != self.island[None, :])
        forth = kernel.first_steps(initial, apart, apart & ~wanted)
        back = kernel.first_steps(wanted, apart & ~wanted, apart)
        return kept, wanted, apart, forth, back

    def every_shift(self, steps: int, most: int = 1 << 40) -> Ints:
        """All shifts that can be part of a plan of `steps` steps; cut off after `most` + 1 rows."""
        kept, wanted, apart, forth, back = self._matrices
        return np.asarray(kernel.shifts_within(steps, forth, back, kept, wanted, apart, most))


def _matrix(size: int, links: Iterable[Sequence[int]]) -> Flags:
    matrix = np.zeros((size, size), np.bool_)
    for one, other in links:
        matrix[one, other] = matrix[other, one] = True
    return matrix


@dataclass(frozen=True)
class Windows:
    """The actions that remain for plans of T = `steps` steps, and the states in which each link can be.

    `live[s, e]`: link e can be there after step s. `possible[s]`: the actions that can happen in step
    s + 1, as numbers into `acts`, `removed`, `added` and `guards` (-1: the guard stays anyway).
    """

    steps: int
    acts: Sequence[Shift]
    links: Ints
    live: Flags
    removed: Ints
    added: Ints
    guards: Ints
    possible: Sequence[Sequence[int]]

    @property
    def choices(self) -> int:
        return sum(map(len, self.possible))


def windows(ground: Ground, steps: int, shifts: Ints) -> Windows | None:
    """Prune the given shifts for plans of `steps` steps; None proves that they hold no such plan."""
    problem = ground.problem
    shifts = shifts[ground.legal(shifts)]
    i, j, k = shifts.T
    from_, to, over = ground.keys(i, j), ground.keys(i, k), ground.keys(j, k)
    staying = np.isin(over, ground.kept_keys)
    initial, wanted = _keys(ground, problem.removable), _keys(ground, problem.missing)
    names = np.unique(np.concatenate((initial, wanted, from_, to, over[~staying])))
    removed, added = np.searchsorted(names, from_), np.searchsorted(names, to)
    guards = np.where(staying, -1, np.searchsorted(names, over))
    live = np.ones((steps + 1, len(names)), np.bool_)
    live[0] &= np.isin(names, initial)
    live[steps] &= np.isin(names, wanted)
    kernel.refine(live, removed, added, guards)
    if live[0].sum() < len(initial) or live[steps].sum() < len(wanted):
        return None
    can = kernel.happening(live, removed, added, guards)
    return Windows(
        steps,
        [(one, other, third) for one, other, third in shifts.tolist()],
        np.stack((names // ground.size, names % ground.size), axis=1),
        live,
        removed,
        added,
        guards,
        [np.flatnonzero(row).tolist() for row in can],
    )


def regions(table: Windows) -> list[Windows]:
    """The parts of a table that share no link: each can be planned alone."""
    acts = np.unique(np.concatenate([np.array(some, np.int64) for some in table.possible]))
    guarded = acts[table.guards[acts] >= 0]
    one = np.concatenate((table.removed[acts], table.removed[guarded]))
    other = np.concatenate((table.added[acts], table.guards[guarded]))
    part = kernel.components(len(table.links), one, other)
    found = []
    for label in np.unique(part[table.removed[acts]]).tolist():
        possible = [[act for act in some if part[table.removed[act]] == label] for some in table.possible]
        found.append(replace(table, live=table.live & (part == label), possible=possible))
    return found


def _keys(ground: Ground, links: Sequence[Pair]) -> Ints:
    ends = np.array(links, np.int64).reshape(-1, 2)
    return ground.keys(ends[:, 0], ends[:, 1])
