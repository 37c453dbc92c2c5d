"""Algorithm 1 on IPITT's program: against the reference plans, brute force and the replay."""

import json
from functools import partial
from itertools import count, product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.problems import between, problem_of

from regraft.model import Action, ActionCosts, Bounds, Infeasible, Limits, Plan, Proof, Topology
from regraft.plan import integer_planner
from regraft.plan.action_sets import ACTION_SETS
from regraft.plan.integer_planner import (
    STARTING_T,
    integer_plan,
    ip_all_paths,
    ip_each_path,
    ip_naive,
    starting_length,
)
from regraft.plan.problem import Found, Problem, pair
from regraft.plan.verify import verify
from regraft.plan.watch import Watch
from regraft.testing.brute_force import brute_force, fronts
from regraft.testing.trees import all_trees, random_tree, tree_pairs

REFERENCES = [
    json.loads(text)
    for text in (Path(__file__).parent.parent / "data" / "itt_reference.jsonl").read_text().splitlines()
]
SMALL = [reference for reference in REFERENCES if reference["n"] <= 8]
LARGE = [reference for reference in REFERENCES if reference["n"] > 8]
FIGURE_1 = Problem(tuple("1234"), frozenset({(0, 1), (0, 2), (1, 3)}), frozenset({(0, 1), (0, 2), (2, 3)}))
each_solver = pytest.mark.parametrize("solver", ["highs", "cp-sat"])


def find(problem: Problem, limits: Limits = Limits(), over: str = "naive", solver: str = "cp-sat") -> Found:
    found = integer_plan(problem, limits, Watch(600), over=over, solver=solver)
    assert isinstance(found, Found), found
    replay(problem, found, limits)
    return found


def replay(problem: Problem, found: Found, limits: Limits) -> None:
    """Each step's actions one by one, here; then in any order, by the independent replay."""
    links = set(problem.initial)
    for step in found.steps:
        for i, j, k in step:
            assert pair(i, j) not in problem.goal
            assert pair(j, k) in links
            links.remove(pair(i, j))
            assert pair(i, k) not in links
            links.add(pair(i, k))
    assert links == problem.goal
    if problem.size > 1:
        initial, goal = topology(problem, problem.initial), topology(problem, problem.goal)
        steps = problem.named(found.steps)
        plan = Plan("tree", initial.sha256, goal.sha256, steps, "ip", found.bounds, found.proof)
        verify(plan, initial, goal, limits)


def topology(problem: Problem, tree: frozenset[tuple[int, int]]) -> Topology:
    return Topology.of([(problem.ids[a], problem.ids[b]) for a, b in sorted(tree)], problem.ids)


def size(found: Found) -> tuple[int, int]:
    return len(found.steps), sum(len(step) for step in found.steps)


def check_reference(reference: dict[str, Any], solver: str) -> None:
    initial, goal = (frozenset(pair(*link) for link in reference[name]) for name in ("init", "target"))
    best = (reference["min_steps"], reference["ops_at_min_steps"])
    found = find(between(initial, goal), solver=solver)
    assert size(found) == best
    assert (found.bounds, found.proof) == (Bounds(*best), Proof("naive", *best))


def test_there_are_fifty_references() -> None:
    assert len(REFERENCES) == 50


@each_solver
@pytest.mark.parametrize("reference", SMALL, ids=lambda reference: reference["id"])
def test_the_naive_program_is_as_good_as_the_authors_own(reference: dict[str, Any], solver: str) -> None:
    check_reference(reference, solver)


@pytest.mark.slow
@each_solver
@pytest.mark.parametrize("reference", LARGE, ids=lambda reference: reference["id"])
def test_the_naive_program_is_as_good_on_larger_ones_too(reference: dict[str, Any], solver: str) -> None:
    check_reference(reference, solver)


@pytest.mark.parametrize("planner", [ip_naive, ip_all_paths, ip_each_path])
def test_figure_1_takes_the_two_steps_that_the_seed_prints(planner: "partial[Found | Infeasible]") -> None:
    found = planner(FIGURE_1, Limits(), Watch(60))
    assert isinstance(found, Found)
    assert found.steps == [[(3, 1, 0)], [(3, 0, 2)]]


def test_all_pairs_of_trees_on_four_brokers_agree_with_brute_force() -> None:
    for initial, goal in product(all_trees(4), repeat=2):
        problem = between(initial, goal)
        assert size(find(problem)) == brute_force(problem)[0]


def test_sampled_pairs_on_five_brokers_agree_with_brute_force() -> None:
    luck = Random(5)
    goals = [random_tree(5, luck) for _ in range(4)]
    for goal, _ in product(goals, range(5)):
        problem = between(random_tree(5, luck), goal)
        assert size(find(problem)) == brute_force(problem)[0]


@each_solver
@pytest.mark.parametrize(
    "limits", [Limits(max_degree=3), Limits(exclusive=True)], ids=["max-degree", "exclusive"]
)
def test_limits_of_section_5_agree_with_brute_force(limits: Limits, solver: str) -> None:
    goal = frozenset({(0, 1), (1, 2), (2, 3), (3, 4)})
    every = fronts(goal, 5, limits.operations, limits.max_degree, limits.exclusive)
    possible = {initial: front for initial, front in every.items() if front}
    for initial in Random(2).sample(sorted(possible, key=sorted), 10):
        assert size(find(between(initial, goal), limits, solver=solver)) == possible[initial][0]


@settings(max_examples=15)
@given(tree_pairs(largest=7), st.sampled_from(sorted(ACTION_SETS)))
def test_plans_over_any_action_set_reach_the_goal(both: tuple[Topology, Topology], over: str) -> None:
    find(problem_of(*both), over=over)


def test_a_start_above_the_fewest_steps_goes_down_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    luck = Random(3)
    for start in (2, 3, 5):
        monkeypatch.setattr(integer_planner, "starting_length", lambda *_, start=start: start)
        problem = between(random_tree(5, luck), random_tree(5, luck))
        best = brute_force(problem)[0]
        found = find(problem)
        assert (size(found), found.proof) == (best, Proof("naive", *best))


def test_only_the_naive_set_proves_bounds_over_all_actions() -> None:
    line, other = {(0, 1), (1, 2), (2, 3), (3, 4)}, {(0, 2), (0, 4), (1, 4), (1, 3)}
    problem = between(frozenset(line), frozenset(other))
    found = find(problem, over="each-path")
    assert found.proof == Proof("each-path", *size(found))
    assert found.bounds.steps <= size(found)[0]
    proven = find(problem)
    assert (proven.bounds, proven.proof) == (Bounds(*size(proven)), Proof("naive", *size(proven)))
    # A move is carried out as shifts, so it takes nothing from the proof.
    assert find(problem, Limits(operations=frozenset({"shift", "move"}))) == proven


def test_costs_choose_among_the_shortest_plans() -> None:
    # The middle link of a line becomes the one between its ends: by either end, in two shifts.
    problem = between(frozenset({(0, 1), (1, 2), (2, 3)}), frozenset({(0, 1), (2, 3), (0, 3)}))
    cheap = find(problem, Limits(minimise="cost"))
    first = cheap.steps[0][0]
    dear = ActionCosts(by_action={Action("shift", tuple(f"b{b}" for b in first)): 50})
    avoided = find(problem, Limits(minimise="cost", costs=dear))
    assert len(avoided.steps) == len(cheap.steps)
    assert first not in [act for step in avoided.steps for act in step]
    assert avoided.proof is None


@pytest.mark.parametrize("minimise", ["actions", "time"])
def test_another_objective_is_refused_with_the_limits_name(minimise: str) -> None:
    refused = integer_plan(FIGURE_1, Limits(minimise=minimise), Watch(60))  # type: ignore[arg-type]
    assert isinstance(refused, Infeasible)
    assert refused.limit == "minimise"
    assert "minimises steps, then actions" in refused.reason


def test_without_shifts_there_is_no_plan() -> None:
    refused = integer_plan(FIGURE_1, Limits(operations=frozenset({"move"})), Watch(60))
    assert isinstance(refused, Infeasible)
    assert refused.limit == "operations"


@pytest.mark.parametrize(("initial", "goal"), [("star", "line"), ("line", "star")])
def test_a_topology_over_the_degree_limit_is_named(initial: str, goal: str) -> None:
    trees = {"star": frozenset({(0, 1), (0, 2), (0, 3)}), "line": frozenset({(0, 1), (1, 2), (2, 3)})}
    refused = integer_plan(between(trees[initial], trees[goal]), Limits(max_degree=2), Watch(60))
    assert isinstance(refused, Infeasible)
    assert (refused.limit, refused.where, refused.proven) == ("max-degree", "b0", True)


def test_a_degree_limit_without_any_way_through_is_proven() -> None:
    assert not brute_force(FIGURE_1, Limits(max_degree=2))
    for over, proven in (("naive", True), ("each-path", False)):
        refused = integer_plan(FIGURE_1, Limits(max_degree=2), Watch(600), over=over)
        assert isinstance(refused, Infeasible)
        assert (refused.limit, refused.proven) == ("max-degree", proven)


def test_when_time_runs_out_the_t_reached_is_named() -> None:
    reads = count()
    watch = Watch(3, clock=lambda: float(next(reads)))
    problem = between(random_tree(30, Random(1)), random_tree(30, Random(2)))
    refused = integer_plan(problem, Limits(), watch, over="each-path", solver="cp-sat")
    assert isinstance(refused, Infeasible)
    assert (refused.limit, refused.proven) == ("time-limit", False)
    assert "T = " in refused.reason


def test_equal_trees_need_nothing() -> None:
    tree = random_tree(9, Random(4))
    found = find(between(tree, tree))
    assert (list(found.steps), found.bounds, found.proof) == ([], Bounds(0, 0), Proof("naive", 0, 0))


def test_a_listed_task_starts_at_its_entry() -> None:
    for brokers, by_ratio in STARTING_T.items():
        for percent, T in by_ratio.items():
            assert starting_length(brokers, -(-percent * (brokers - 1) // 100)) == T


def test_a_small_task_starts_at_one() -> None:
    assert starting_length(5, 4) == 1
    assert starting_length(2, 1) == 1
    assert starting_length(1, 0) == 1


def test_more_brokers_or_more_changes_never_start_lower() -> None:
    for brokers in range(2, 80):
        for changed in range(brokers - 1):
            assert starting_length(brokers, changed) <= starting_length(brokers, changed + 1)
    assert starting_length(1000, 200) >= starting_length(60, 12)
