"""The best trees that a few shifts lead to: many trees are kept for each number of shifts spent.

Greedy ways take what saves now; here an exchange that costs may come first if it opens a better one. For
each number of shifts, the `width` cheapest trees are remembered, and from each of them every exchange is
looked at. Pays for small budgets.
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
"""Budget × width × pairs up to which this is tried: seconds."""
MOST_MOVES = 400_000


class Reached(NamedTuple):
    """A tree on the way, what it costs more than the first, and the exchanges to it."""

    change: float
    parent: Ints
    taken: tuple[Exchange, ...]


class Step(NamedTuple):
    """An exchange from a reached tree: its ends, the place of the removed link, the cost then."""

    change: float
    source: Reached
    one: int
    other: int
    gone: int


def beam(problem: Problem, start: Ints, pairs: Ints, budget: int, width: int, effort: Effort) -> Way:
    """The best way of at most `budget` shifts over these links; the tree as it is if nothing saves."""
    levels: list[list[Step]] = [[] for _ in range(budget + 1)]
    best = first = Reached(0.0, start, ())
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
    problem: Problem, source: Reached, pairs: Ints, longest: int, width: int
) -> list[tuple[int, Step]]:
    """For each number of shifts, the cheapest exchanges from here."""
    net, size = problem.net, len(problem.ids)
    tree = hang_up(source.parent, np.diff(net.at_start))
    most = min(MOST_MOVES, len(pairs) * size)
    moves, change = np.empty((most, 4), np.int64), np.empty(most)
    worth = new_worth(size, len(net.demand))
    count = all_exchanges(net, tree, new_loop(size), worth, pairs, longest, moves, change)
    found: list[tuple[int, Step]] = []
    for shifts in np.unique(moves[:count, 3]).tolist():
        rows = np.flatnonzero(moves[:count, 3] == shifts)
        for row in rows[np.argsort(change[rows], kind="stable")[: 2 * width]].tolist():
            one, other, gone = (int(number) for number in moves[row, :3])
            found.append((shifts, Step(source.change + float(change[row]), source, one, other, gone)))
    return found


def _distinct(problem: Problem, steps: list[Step], width: int) -> list[Reached]:
    """The cheapest different trees that these steps lead to."""
    loop = new_loop(len(problem.ids))
    seen: set[bytes] = set()
    found: list[Reached] = []
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
            found.append(Reached(step.change, tree.parent, (*step.source.taken, taken)))
    return found


def all_pairs(problem: Problem) -> Ints:
    """Every possible link."""
    size = len(problem.ids)
    if problem.open:
        return np.transpose(np.triu_indices(size, 1)).astype(np.int64)
    start, near, _ = problem.possible
    here = np.repeat(np.arange(size, dtype=np.int64), np.diff(start))
    return np.stack((here, near), axis=1)[here < near]
