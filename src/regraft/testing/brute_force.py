"""The oracle: the best plans between two small trees, by trying every step from every tree.

Works on the definition alone. A step picks a set of removable links and, for each, one action whose guard the
step leaves in place; all such steps are tried. Let f(T, s) be the fewest actions from tree s to the goal in
at most T steps; f(T + 1, s) is the least over the steps from s. Everything that a planner may minimise
follows from f. All trees on n brokers are states, so one run per goal answers for every initial tree; 6
brokers (1,296 trees) take about a second.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, combinations, product
from typing import NamedTuple

from regraft.model import Limits
from regraft.plan.problem import Pair, Problem, Shift, pair
from regraft.testing.trees import Tree, all_trees

Front = tuple[tuple[int, int], ...]
"""All (steps, actions) that no other plan beats in both: fewest steps first, fewest actions last."""


class Option(NamedTuple):
    """One way to replace a removed link, and the brokers that take part in it."""

    adds: Pair
    act: Shift


def brute_force(problem: Problem, limits: Limits = Limits()) -> Front:
    """The front for one pair of trees without joins and leaves; empty if the limits leave no plan."""
    rules = (limits.operations, limits.max_degree, limits.exclusive)
    return fronts(problem.goal, problem.size, *rules)[problem.initial]


@lru_cache(maxsize=64)
def fronts(
    goal: Tree,
    size: int,
    operations: frozenset[str] = frozenset({"shift"}),
    max_degree: int | None = None,
    exclusive: bool = False,
) -> dict[Tree, Front]:
    """The front from every tree over `size` brokers to the goal."""
    limits = Limits(operations=operations, max_degree=max_degree, exclusive=exclusive)
    states = [tree for tree in all_trees(size) if max_degree is None or most_links(tree) <= max_degree]
    number = {tree: index for index, tree in enumerate(states)}
    after = [
        sorted({(number[result], len(tree - result)) for result in steps(tree, goal, limits)})
        for tree in states
    ]
    unreached = size**3
    fewest = [unreached] * len(states)
    if goal in number:
        fewest[number[goal]] = 0
    found: list[list[tuple[int, int]]] = [[(0, 0)] if tree == goal else [] for tree in states]
    length, grown = 0, True
    while grown:
        length += 1
        reach = [min((cost + fewest[to] for to, cost in ways), default=unreached) for ways in after]
        better = [index for index, actions in enumerate(reach) if actions < fewest[index]]
        for index in better:
            found[index].append((length, reach[index]))
            fewest[index] = reach[index]
        grown = bool(better)
    return {tree: tuple(found[number[tree]]) if tree in number else () for tree in all_trees(size)}


def most_links(tree: Tree) -> int:
    ends = [*chain.from_iterable(tree)]
    return max(map(ends.count, ends), default=0)


def steps(tree: Tree, goal: Tree, limits: Limits) -> Iterator[Tree]:
    """Every tree that one step leads to."""
    removable = sorted(tree - goal)
    for count in range(1, len(removable) + 1):
        for removed in combinations(removable, count):
            stays = tree.difference(removed)
            ways = [options(link, stays, limits) for link in removed]
            for choice in product(*ways):
                if is_allowed(tree, choice, limits):
                    yield stays.union(option.adds for option in choice)


def options(link: Pair, stays: Tree, limits: Limits) -> list[Option]:
    """All actions that may replace the link while the links `stays` are not touched."""
    found = []
    if "shift" in limits.operations:
        for i, j in (link, link[::-1]):
            found += [Option(pair(i, k), (i, j, k)) for guard in stays if j in guard for k in guard if k != j]
    return found


def is_allowed(tree: Tree, choice: tuple[Option, ...], limits: Limits) -> bool:
    if limits.exclusive:
        parts = [broker for option in choice for broker in set(option.act)]
        if len(set(parts)) < len(parts):
            return False
    if limits.max_degree is not None:
        ends = [*chain.from_iterable(tree), *chain.from_iterable(option.adds for option in choice)]
        return all(ends.count(broker) <= limits.max_degree for broker in set(ends))
    return True
