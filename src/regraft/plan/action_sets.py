"""The three action sets of IPITT §IV-B: which shifts a planner considers.

naive ⊇ all paths ⊇ each path, as long as something has to change. Only the naive set is sure to
hold a plan with the fewest steps; the others trade that for a much smaller model.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import permutations

from regraft.plan.problem import Pair, Problem, Shift


def naive(problem: Problem) -> list[Shift]:
    """All ordered triples of brokers: n! / (n - 3)! shifts."""
    return list(permutations(range(problem.size), 3))


def all_paths(problem: Problem) -> list[Shift]:
    """Algorithm 2: all triples of brokers that lie on any transformation path."""
    brokers = {broker for path in transformation_paths(problem) for broker in path}
    return list(permutations(sorted(brokers), 3))


def each_path(problem: Problem) -> list[Shift]:
    """Algorithm 3: all triples of brokers that lie on the same transformation path."""
    actions: dict[Shift, None] = {}
    for path in transformation_paths(problem):
        actions.update(dict.fromkeys(permutations(path, 3)))
    return list(actions)


ActionSet = Callable[[Problem], list[Shift]]

ACTION_SETS: dict[str, ActionSet] = {"naive": naive, "all-paths": all_paths, "each-path": each_path}


def transformation_paths(problem: Problem) -> list[tuple[int, ...]]:
    """For each missing goal link, in order, the path in the initial tree between its ends."""
    parent, depth = rooted(neighbours(problem.initial, problem.size))
    return [path_between(one, other, parent, depth) for one, other in problem.missing]


def neighbours(links: Iterable[Pair], size: int) -> list[set[int]]:
    around: list[set[int]] = [set() for _ in range(size)]
    for one, other in links:
        around[one].add(other)
        around[other].add(one)
    return around


def rooted(around: Sequence[Iterable[int]]) -> tuple[list[int], list[int]]:
    """The tree rooted at broker 0: each broker's parent (the root is its own) and depth."""
    parent, depth = [0] * len(around), [0] * len(around)
    waiting = [0]
    while waiting:
        above = waiting.pop()
        for broker in around[above]:
            if broker != parent[above]:
                parent[broker], depth[broker] = above, depth[above] + 1
                waiting.append(broker)
    return parent, depth


def path_between(one: int, other: int, parent: list[int], depth: list[int]) -> tuple[int, ...]:
    """The brokers from `one` to `other`, both included: climb from the deeper end until they meet."""
    up, down = [one], [other]
    while up[-1] != down[-1]:
        side = up if depth[up[-1]] >= depth[down[-1]] else down
        side.append(parent[side[-1]])
    return (*up, *reversed(down[:-1]))
