"""Tasks for the planners, from two trees."""

from regraft.model import Topology
from regraft.plan.problem import Problem, pair
from regraft.testing.trees import Tree


def problem_of(initial: Topology, goal: Topology) -> Problem:
    """The task in numbers, for trees over the same brokers."""
    number = {id: index for index, id in enumerate(initial.ids)}
    links = [frozenset(pair(number[a], number[b]) for a, b in tree.by_ends) for tree in (initial, goal)]
    return Problem(initial.ids, links[0], links[1])


def between(initial: Tree, goal: Tree) -> Problem:
    return Problem(tuple(f"b{n}" for n in range(len(initial) + 1)), initial, goal)
