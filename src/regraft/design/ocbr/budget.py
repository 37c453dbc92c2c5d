"""The way to a better tree, link by link: what each exchange saves and how many shifts it takes.

An exchange adds a link and removes one of its loop. On the live overlay, the removed link slides along
the loop into the place of the new one, one end at a time: a loop of m links takes m − 2 shifts, each
guarded by a link that stays. With a budget of shifts, exchanges are taken by what they save per shift, in
many different orders; the best tree that the budget reaches is kept.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from regraft.design.ocbr.effort import Effort, Progress
from regraft.design.ocbr.kernel_budget import best_exchange, carry_out, value_all
from regraft.design.ocbr.kernel_loop import Worth, new_worth
from regraft.design.ocbr.kernel_tree import NONE, Floats, Ints, Loop, Tree, hang_up, new_loop
from regraft.design.ocbr.problem import Problem
from regraft.design.ocbr.starts import offers
from regraft.model import Action, BadInput, Ends, Topology, ends
from regraft.model.changes import changed

NO_GOAL = -2
MOST_PAIRS = 60_000
"""The most links that one climb looks at; if there are more, this many are drawn at random."""


class Exchange(NamedTuple):
    """`added` for `removed`: `path` leads from one end of the added link to the other, in the old tree."""

    added: Ends
    removed: Ends
    saves: float
    path: tuple[str, ...]

    @property
    def shifts(self) -> tuple[Action, ...]:
        """The removed link slides along the path: one end to its beginning, then the other to its end."""
        path = self.path
        gone = next(k for k in range(len(path) - 1) if ends(path[k], path[k + 1]) == self.removed)
        left = [Action("shift", (path[gone + 1], path[k], path[k - 1])) for k in range(gone, 0, -1)]
        right = [
            Action("shift", (path[0], path[k], path[k + 1])) for k in range(gone + 1, len(path) - 1)
        ]  # fmt: skip
        return (*left, *right)


@dataclass(frozen=True)
class Way:
    """A sequence of exchanges, and the tree at its end."""

    exchanges: tuple[Exchange, ...]
    parent: Ints

    @property
    def saves(self) -> float:
        return sum(each.saves for each in self.exchanges)

    @property
    def shifts(self) -> int:
        return sum(len(each.path) - 2 for each in self.exchanges)


class Climber:
    """Takes exchanges one by one from a tree; the arrays are shared by many climbs."""

    def __init__(self, problem: Problem, start: Ints) -> None:
        self.problem, self.start = problem, start
        size = len(problem.ids)
        self.loop: Loop = new_loop(size)
        self.worth: Worth = new_worth(size, len(problem.net.demand))

    def climb(self, pairs: Ints, budget: int | None, goal: Ints, bent: float, noise: Floats) -> Way:
        """Greedily by saving per shift^bent, times noise; stops when nothing saves or the budget is spent.

        With a goal tree, the pairs are the links that it has and this tree lacks. Its links are never
        removed, and exchanges that raise the cost are taken too, last: the way ends at the goal if the budget
        allows.
        """
        net = self.problem.net
        tree: Tree = hang_up(self.start, np.diff(net.at_start))
        change, shifts = np.zeros(len(pairs)), np.zeros(len(pairs), np.int64)
        value_all(net, tree, self.loop, self.worth, pairs, goal, change, shifts)
        directed = bool(goal[0] != NO_GOAL)
        left = budget if budget is not None else 2**62
        waiting = [
            (-_rate(-change[index], shifts[index], bent) * noise[index], index)
            for index in np.flatnonzero(shifts).tolist()
            if directed or change[index] < 0
        ]
        heapq.heapify(waiting)
        taken: list[Exchange] = []
        while waiting and left > 0:
            _, index = heapq.heappop(waiting)
            one, other = (int(end) for end in pairs[index])
            saved, gone, length, _ = best_exchange(net, tree, self.loop, self.worth, one, other, goal)
            if gone == NONE or (not directed and saved >= 0):
                continue
            rate = -_rate(-saved, length - 2, bent) * noise[index]
            if waiting and rate > waiting[0][0] + 1e-12 * abs(
                rate
            ):  # no longer the best: back into the queue
                heapq.heappush(waiting, (rate, index))
                continue
            if length - 2 <= left:
                taken.append(self._take(tree, one, other, gone, -saved))
                left -= length - 2
        return Way(tuple(taken), tree.parent)

    def _take(self, tree: Tree, one: int, other: int, gone: int, saves: float) -> Exchange:
        length = carry_out(tree, self.loop, one, other, gone)
        ids = self.problem.ids
        path = tuple(ids[b] for b in self.loop.path[:length].tolist())
        return Exchange(ends(path[0], path[-1]), ends(path[gone], path[gone + 1]), saves, path)


def _rate(saves: float, shifts: int, bent: float) -> float:
    """What is saved per shift^bent. An exchange that saves nothing is rated by its cost alone."""
    return float(saves / shifts**bent if saves > 0 else saves)


def way_to(problem: Problem, start: Ints, goal: Ints) -> Way:
    """From one tree towards another, the most saving per shift first: the explanation of a design.

    The way ends at a tree that costs at most as much as the goal; exchanges that save nothing are left out.
    """
    pairs = missing(start, goal)
    way = Climber(problem, start).climb(pairs, None, goal, 1.0, np.ones(len(pairs)))
    return _trimmed(problem, start, way)


def missing(start: Ints, goal: Ints) -> Ints:
    """The links of the goal tree that the start tree does not have."""
    pairs = [
        (b, int(goal[b]))
        for b in range(len(goal))
        if goal[b] != NONE and start[b] != goal[b] and start[goal[b]] != b
    ]
    return np.array(pairs, np.int64).reshape(-1, 2)


def within(problem: Problem, start: Ints, goal: Ints, budget: int, effort: Effort, seed: int = 0) -> Way:
    """The best way of at most `budget` shifts: towards the goal tree, and wherever single links save.

    Each round climbs in other orders; `effort.moves` counts rounds.
    """
    rng = np.random.default_rng(seed)
    climber = Climber(problem, start)
    directions = [(missing(start, goal), goal), (_pairs(problem, start, rng), np.full_like(goal, NO_GOAL))]
    best, rounds = Way((), start.copy()), 0
    while rounds < 1 or effort.spent(rounds) < 1.0:
        bent = 1.0 if rounds == 0 else float(rng.uniform(0.3, 1.5))
        for pairs, to in directions:
            noise = np.ones(len(pairs)) if rounds == 0 else rng.uniform(0.5, 1.0, len(pairs))
            way = _trimmed(problem, start, climber.climb(pairs, budget, to, bent, noise))
            best = max(best, way, key=lambda each: each.saves)
        rounds += 1
        effort.tell(Progress(f"{budget} shifts", rounds, -best.saves))
    return best


def _trimmed(problem: Problem, start: Ints, way: Way) -> Way:
    """The way up to where it has saved most: exchanges after that are not worth their shifts."""
    sums = np.cumsum([0.0, *(each.saves for each in way.exchanges)])
    enough = sums.max() - 1e-9 * abs(sums.max())
    taken = way.exchanges[: int(np.argmax(sums >= enough))]
    return Way(taken, _replayed(problem, start, taken))


def _replayed(problem: Problem, start: Ints, exchanges: Sequence[Exchange]) -> Ints:
    links = set(problem.pairs(start))
    for each in exchanges:
        links = (links - {each.removed}) | {each.added}
    return problem.parents(links)


def _pairs(problem: Problem, start: Ints, rng: np.random.Generator) -> Ints:
    """Links to try: those offered to a search, and those that one shift can add."""
    size = len(problem.ids)
    offered = offers(problem)
    here = np.repeat(np.arange(size), np.diff(offered.start))
    found = {(min(a, b), max(a, b)) for a, b in zip(here.tolist(), offered.to.tolist(), strict=True)}
    above = start.tolist()
    children: dict[int, list[int]] = {}
    for b, parent in enumerate(above):
        if parent != NONE:
            children.setdefault(parent, []).append(b)
            if above[parent] != NONE:
                found.add((min(b, above[parent]), max(b, above[parent])))
    for siblings in children.values():
        drawn = siblings if len(siblings) <= 60 else rng.choice(siblings, 60, replace=False).tolist()
        found |= {(min(a, b), max(a, b)) for a in drawn for b in drawn if a != b}
    pairs = np.array(sorted(found), np.int64).reshape(-1, 2)
    return pairs if len(pairs) <= MOST_PAIRS else rng.choice(pairs, MOST_PAIRS, replace=False)


def within_degree(topology: Topology, exchanges: Sequence[tuple[Ends, Ends]], most: int) -> Topology:
    """The tree after the exchanges (removed, added) that leave no broker with more than `most` links.

    The search for trees knows no limit on degrees. Each of its exchanges saves something, so a part of them
    still saves in nearly every case; the goals of the loop check that.
    """
    left, before = list(exchanges), -1
    while len(left) != before:  # again while the last round made an exchange: it may have cleared the way
        before, waiting = len(left), []
        for removed, added in left:
            degrees = {end: len(topology.neighbours[end] - _other(removed, end)) for end in added}
            try:
                if any(degree >= most for degree in degrees.values()):
                    raise BadInput("degree", "is at its limit")
                topology = changed(topology, (added,), (removed,))
            except BadInput:  # the limit, or a cycle until another exchange has been made
                waiting.append((removed, added))
        left = waiting
    return topology


def _other(link: Ends, end: str) -> set[str]:
    return {one for one in link if one != end} if end in link else set()
