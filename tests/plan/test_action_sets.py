"""Which shifts each action set holds."""

from itertools import pairwise, permutations

from hypothesis import given
from tests.plan.problems import problem_of

from regraft.model import Topology
from regraft.plan.action_sets import ACTION_SETS, all_paths, each_path, naive, transformation_paths
from regraft.plan.problem import Problem, pair
from regraft.testing.trees import tree_pairs

# Two changes in different parts of a tree of 0..9: 0-1-2-3 closes by 0-3, 6-7-8-9 by 6-9.
TWO_PARTS = Problem(
    tuple("abcdefghij"),
    frozenset(pair(n, n + 1) for n in range(9)),
    frozenset(pair(n, n + 1) for n in range(9)) - {(1, 2), (7, 8)} | {(0, 3), (6, 9)},
)


def test_naive_holds_every_ordered_triple() -> None:
    assert len(naive(TWO_PARTS)) == 10 * 9 * 8
    assert len(set(naive(TWO_PARTS))) == 10 * 9 * 8


def test_a_transformation_path_joins_the_ends_of_a_missing_link() -> None:
    assert transformation_paths(TWO_PARTS) == [(0, 1, 2, 3), (6, 7, 8, 9)]


def test_all_paths_mixes_paths_and_each_path_does_not() -> None:
    assert set(all_paths(TWO_PARTS)) == set(permutations((0, 1, 2, 3, 6, 7, 8, 9), 3))
    assert set(each_path(TWO_PARTS)) == {*permutations(range(4), 3), *permutations(range(6, 10), 3)}


@given(tree_pairs(largest=12))
def test_each_path_is_within_all_paths_is_within_naive(both: tuple[Topology, Topology]) -> None:
    problem = problem_of(*both)
    small, middle, large = (set(ACTION_SETS[name](problem)) for name in ("each-path", "all-paths", "naive"))
    assert small <= middle <= large


@given(tree_pairs(largest=12))
def test_sets_are_the_same_each_time_and_hold_nothing_twice(both: tuple[Topology, Topology]) -> None:
    problem = problem_of(*both)
    for action_set in ACTION_SETS.values():
        shifts = action_set(problem)
        assert shifts == action_set(problem)
        assert len(shifts) == len(set(shifts))


@given(tree_pairs(largest=12))
def test_every_path_runs_over_links_of_the_initial_tree(both: tuple[Topology, Topology]) -> None:
    problem = problem_of(*both)
    for (one, other), path in zip(problem.missing, transformation_paths(problem), strict=True):
        assert (path[0], path[-1]) == (one, other)
        assert {pair(*ends) for ends in pairwise(path)} <= problem.initial
