"""The best trees that a few shifts lead to: many trees are kept for each number of shifts spent.

A greedy search takes what saves now; here an exchange that costs something may come first if it makes a
better one possible. For each number of shifts, the `width` cheapest trees are remembered, and from each of
them every exchange is tried. This is worth its time for small budgets.
"""

from typing import NamedTuple

import numpy as np

from regraft.design.ocbr.budget import Exchange, Way
from regraft.design.ocbr.effort import Effort
from regraft.design.ocbr.kernel_budget import all_exchanges, carry_out
from regraft.design.ocbr.kernel_loop import new_worth
from regraft.design.ocbr.kernel_tree import Ints, hang_up, new_loop
from regraft.design.ocbr.problem import Problem
from regraft.model import ends

MOST_WORK = 4_000_000
"""Budget × width × pairs up to which this is tried: it takes seconds then."""
MOST_MOVES = 400_000


class ReachedTree(NamedTuple):
    """A tree, the difference of its cost from the first tree's, and the exchanges that lead to it."""

    change: float
    parent: Ints
    taken: tuple[Exchange, ...]


class NextExchange(NamedTuple):
    """An exchange from a reached tree; `change` is the cost afterwards minus the first tree's.

    `one` and `other` are the ends of the added link, `gone` is the place of the removed link in their loop.
    """

    change: float
    source: ReachedTree
    one: int
    other: int
    gone: int


def beam(problem: Problem, start: Ints, pairs: Ints, budget: int, width: int, effort: Effort) -> Way:
    """The best way of at most `budget` shifts that adds links of `pairs`; an empty one if nothing saves."""
    levels: list[list[NextExchange]] = [[] for _ in range(budget + 1)]
    best = first = ReachedTree(0.0, start, ())
    for spent in range(budget + 1):
        here = [first] if spent == 0 else _distinct(problem, levels[spent], width)
        best = min([best, *here], key=lambda each: each.change)
        for source in here:
            for shifts, step in _steps(problem, source, pairs, budget - spent, width):
                levels[spent + shifts].append(step)
        if effort.expired():
            break
    return Way(best.taken, best.parent)


def _steps(
    problem: Problem, source: ReachedTree, pairs: Ints, longest: int, width: int
) -> list[tuple[int, NextExchange]]:
    """For each number of shifts, the cheapest exchanges from here."""
    net, size = problem.net, len(problem.ids)
    tree = hang_up(source.parent, np.diff(net.at_start))
    most = min(MOST_MOVES, len(pairs) * size)
    moves, change = np.empty((most, 4), np.int64), np.empty(most)
    worth = new_worth(size, len(net.demand))
    count = all_exchanges(net, tree, new_loop(size), worth, pairs, longest, moves, change)
    found: list[tuple[int, NextExchange]] = []
    for shifts in np.unique(moves[:count, 3]).tolist():
        rows = np.flatnonzero(moves[:count, 3] == shifts)
        for row in rows[np.argsort(change[rows], kind="stable")[: 2 * width]].tolist():
            one, other, gone = (int(number) for number in moves[row, :3])
            found.append((shifts, NextExchange(source.change + float(change[row]), source, one, other, gone)))
    return found


def _distinct(problem: Problem, steps: list[NextExchange], width: int) -> list[ReachedTree]:
    """The cheapest different trees that these steps lead to."""
    loop = new_loop(len(problem.ids))
    seen: set[bytes] = set()
    found: list[ReachedTree] = []
    for step in sorted(steps, key=lambda each: each.change):
        if len(found) == width:
            break
        tree = hang_up(step.source.parent, np.diff(problem.net.at_start))
        length = carry_out(tree, loop, step.one, step.other, step.gone)
        if (name := tree.parent.tobytes()) not in seen:
            seen.add(name)
            path = tuple(problem.ids[b] for b in loop.path[:length].tolist())
            removed = ends(path[step.gone], path[step.gone + 1])
            saves = step.source.change - step.change
            taken = Exchange(ends(path[0], path[-1]), removed, saves, path)
            found.append(ReachedTree(step.change, tree.parent, (*step.source.taken, taken)))
    return found


def all_pairs(problem: Problem) -> Ints:
    """Every possible link."""
    size = len(problem.ids)
    if problem.open:
        return np.transpose(np.triu_indices(size, 1)).astype(np.int64)
    start, near, _ = problem.possible
    here = np.repeat(np.arange(size, dtype=np.int64), np.diff(start))
    return np.stack((here, near), axis=1)[here < near]
