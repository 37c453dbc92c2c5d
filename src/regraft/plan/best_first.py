"""The baseline that the paper compares with (IPITT §VI): best-first search over topologies.

Nodes are states, edges are single shifts. The search always follows the shift with the lowest estimated cost,
ties broken at random, down to the depth limit; there it continues with the best shift that it has not
followed. When those are too many to keep, it starts again from the initial topology. The best plan found by
the time limit is returned: one action per step, nothing proven.
"""

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from regraft.model import Bounds, Infeasible, Limits
from regraft.plan.action_sets import neighbours, path_between, rooted
from regraft.plan.bounds import lower_bounds
from regraft.plan.problem import Found, Pair, Problem, Shift, pair
from regraft.plan.watch import Progress, Watch

SIZE_LIMIT = 200_000
"""How many states to remember before starting again."""
DEPTH_PER_ESTIMATE = 2
"""Give up a branch at this many times the estimated number of actions from the initial topology."""


class SearchNode(NamedTuple):
    """A state, as the shifts that lead to it: the last one, and the node before it."""

    depth: int
    before: "SearchNode | None"
    shift: Shift | None


class NextShift(NamedTuple):
    """A shift that could be taken next; the order is that of the search: estimate, then chance."""

    estimate: int
    luck: float
    shift: Shift
    before: SearchNode


@dataclass
class CurrentTree:
    """The state that the search has reached: a tree that shifts change in place."""

    goal: frozenset[Pair]
    around: list[set[int]]
    links: set[Pair]

    @classmethod
    def of(cls, problem: Problem) -> "CurrentTree":
        return cls(problem.goal, neighbours(problem.initial, problem.size), set(problem.initial))

    def apply(self, shift: Shift) -> None:
        i, j, k = shift
        self.links.remove(pair(i, j))
        self.links.add(pair(i, k))
        self.around[i].remove(j)
        self.around[j].remove(i)
        self.around[i].add(k)
        self.around[k].add(i)

    def missing_paths(self) -> list[tuple[int, ...]]:
        parent, depth = rooted(self.around)
        return [path_between(*ends, parent, depth) for ends in sorted(self.goal - self.links)]

    def shifts(self, max_degree: int | None) -> Iterator[Shift]:
        """All applicable shifts; links of the goal stay."""
        for one, other in sorted(self.links - self.goal):
            for i, j in ((one, other), (other, one)):
                for k in sorted(self.around[j] - {i}):
                    if max_degree is None or max(len(self.around[i]), len(self.around[k])) < max_degree:
                        yield i, j, k


def estimate(paths: list[tuple[int, ...]]) -> int:
    """The actions still needed if each missing link were made alone: one less than its path is long."""
    return sum(len(path) - 2 for path in paths)


def change_of_estimate(paths: list[tuple[int, ...]]) -> Callable[[Shift], int]:
    """How shift(i, j, k) changes the estimate.

    A path over i-j that continues to k no longer needs the broker j; any other path over i-j becomes longer
    by one, over k.
    """
    over: Counter[tuple[int, ...]] = Counter()
    for path in paths:
        for way in (path, path[::-1]):
            over.update(pairwise(way))
            over.update(zip(way, way[1:], way[2:], strict=False))
    return lambda shift: over[shift[:2]] - 2 * over[shift]


@dataclass
class BestFirstSearch:
    """One search from the initial topology, until its options run out or grow too many."""

    problem: Problem
    max_degree: int | None
    depth_limit: int
    size_limit: int
    random: random.Random
    bounds: Bounds
    best: list[Shift] | None = None
    options: list[NextShift] = field(default_factory=list)
    reached: dict[frozenset[Pair], int] = field(default_factory=dict)
    """Each state that was expanded, and the least depth that it was met at."""

    def run(self, watch: Watch) -> bool:
        """Search; True if everything within the depth limit has been looked at."""
        self.follow(SearchNode(0, None, None), watch)
        while self.options:
            if watch.expired or len(self.reached) + len(self.options) > self.size_limit:
                return False
            option = heapq.heappop(self.options)
            self.follow(SearchNode(option.before.depth + 1, option.before, option.shift), watch)
        return not watch.expired

    def follow(self, node: SearchNode, watch: Watch) -> None:
        """Go down from the node, always by the best shift; keep the others for later."""
        topology = CurrentTree.of(self.problem)
        for shift in shifts_to(node):
            topology.apply(shift)
        while not watch.expired:
            missing = len(topology.goal - topology.links)
            if node.depth + missing > self.depth_limit or self.was_reached(topology, node.depth):
                return
            if not missing:
                self.best, self.depth_limit = shifts_to(node), node.depth - 1
                watch.tell(Progress(node.depth, node.depth, *self.bounds))
                return
            options = self.options_of(topology, node)
            if not options:
                return
            first = min(options)
            for option in options:
                if option is not first:
                    heapq.heappush(self.options, option)
            topology.apply(first.shift)
            node = SearchNode(node.depth + 1, node, first.shift)

    def was_reached(self, topology: CurrentTree, depth: int) -> bool:
        """Whether this state has been reached before with as few actions."""
        state = frozenset(topology.links)
        if self.reached.get(state, depth + 1) <= depth:
            return True
        self.reached[state] = depth
        return False

    def options_of(self, topology: CurrentTree, node: SearchNode) -> list[NextShift]:
        paths = topology.missing_paths()
        change, so_far = change_of_estimate(paths), node.depth + 1 + estimate(paths)
        return [
            NextShift(so_far + change(shift), self.random.random(), shift, node)
            for shift in topology.shifts(self.max_degree)
        ]


def shifts_to(node: SearchNode) -> list[Shift]:
    """The way from the initial topology to the node."""
    way = []
    while node.before is not None and node.shift is not None:
        way.append(node.shift)
        node = node.before
    return way[::-1]


def best_first(
    problem: Problem,
    limits: Limits,
    watch: Watch,
    depth_limit: int | None = None,
    size_limit: int = SIZE_LIMIT,
) -> Found | Infeasible:
    """The shortest sequence of shifts found. It uses all of its time unless no plan can be shorter."""
    bounds = lower_bounds(problem, limits, thorough=False)
    if problem.missing and "shift" not in limits.operations:
        return Infeasible("planner best-first plans with shifts, which are not allowed", limit="operations")
    if depth_limit is None:
        depth_limit = DEPTH_PER_ESTIMATE * estimate(CurrentTree.of(problem).missing_paths())
    luck, best, exhausted = random.Random(limits.seed), None, False
    while not exhausted and not watch.expired and (best is None or len(best) > bounds.actions):
        deepest = depth_limit if best is None else len(best) - 1
        search = BestFirstSearch(problem, limits.max_degree, deepest, size_limit, luck, bounds, best)
        exhausted = search.run(watch)
        best = search.best
    if best is None:
        within = f"within {depth_limit} actions" if exhausted else "within the time limit"
        return Infeasible(f"best-first found no plan {within}", "depth-limit" if exhausted else "time-limit")
    return Found([[shift] for shift in best], bounds)
