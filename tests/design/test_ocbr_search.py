"""Exact designs against brute force, the global search against exact designs, and lower bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.design.ocbr_cases import plain_cost, problems, random_problem

from regraft.design.ocbr import Effort, Problem, cost_of, propose_tree
from regraft.design.ocbr.bound import cut_tree_design, lower_bound
from regraft.design.ocbr.exact import exact, steiner
from regraft.design.ocbr.search import global_search
from regraft.model import BadInput, Broker, Link, Topology, ends
from regraft.model.traffic import TrafficClass
from regraft.testing.trees import all_trees


def best_of_all(problem: Problem) -> float:
    """Every labelled tree that the network allows, priced by the definition."""
    ids = problem.ids
    costs = []
    for tree in all_trees(len(ids)):
        pairs = [ends(ids[a], ids[b]) for a, b in tree]
        if problem.open or all(pair in problem.link_cost for pair in pairs):
            costs.append(plain_cost(problem, Topology.of(pairs, ids)))
    return min(costs)


@settings(max_examples=40, deadline=None)
@given(problems(largest=5))
def test_the_exact_design_is_the_best_of_all_trees(case: tuple[Problem, Topology]) -> None:
    problem, _ = case
    assert cost_of(problem, exact(problem)).total == pytest.approx(best_of_all(problem))


@settings(max_examples=40, deadline=None)
@given(problems(largest=7))
def test_the_global_search_equals_the_exact_design_up_to_seven_brokers(
    case: tuple[Problem, Topology],
) -> None:
    problem, tree = case
    found = global_search(problem, problem.parents(tree.by_ends), Effort(moves=3000), seed=1)
    assert cost_of(problem, found).total == pytest.approx(cost_of(problem, exact(problem)).total)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("open", [False, True])
def test_the_global_search_finds_the_optimum_of_fourteen_brokers(seed: int, open: bool) -> None:
    problem, tree = random_problem(14, 50, seed, open)
    found = global_search(problem, problem.parents(tree.by_ends), Effort(moves=8000), seed=seed)
    assert cost_of(problem, found).total == pytest.approx(cost_of(problem, exact(problem)).total)


@settings(max_examples=60, deadline=None)
@given(problems(largest=7))
def test_no_tree_is_below_the_bound(case: tuple[Problem, Topology]) -> None:
    problem, _ = case
    best = cost_of(problem, exact(problem)).total
    assert lower_bound(problem).value <= best * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_with_one_price_for_all_pairs_the_cut_tree_is_the_best_tree(seed: int) -> None:
    problem, tree = random_problem(9, 30, seed)
    uniform = Problem.of(Topology.of(tree.by_ends, tree.ids), problem.traffic)
    above, bound = cut_tree_design(uniform)
    best = cost_of(uniform, exact(uniform)).total
    assert cost_of(uniform, above).total == pytest.approx(best)
    assert bound.value == pytest.approx(best)


def grid(side: int) -> Topology:
    names = [[f"{row}-{column}" for column in range(side)] for row in range(side)]
    across = [(names[r][c], names[r][c + 1]) for r in range(side) for c in range(side - 1)]
    down = [(names[r][c], names[r + 1][c]) for r in range(side - 1) for c in range(side)]
    links = tuple(Link(ends(*pair)) for pair in across + down)
    return Topology(tuple(Broker(name) for row in names for name in row), links, "mesh")


def test_one_class_is_a_steiner_tree_and_proven() -> None:
    """Four corners of a grid of 7 × 7 brokers: three sides of the square, 18 links."""
    corners = TrafficClass(frozenset({"0-0", "0-6", "6-0", "6-6"}), 1.0)
    problem = Problem.of(None, [corners], grid(7), alpha=1.0, beta=0.0)
    found = steiner(problem)
    assert found is not None
    assert cost_of(problem, found).total == 18
    design = propose_tree(problem)
    assert (design.cost.total, design.optimal, design.method) == (18, True, "exact")
    searched = propose_tree(problem, method="global", effort=Effort(moves=4000))
    assert searched.cost.total == 18


@settings(max_examples=40, deadline=None)
@given(problems(largest=7))
def test_the_steiner_tree_of_one_class_is_the_exact_design(case: tuple[Problem, Topology]) -> None:
    problem, _ = case
    one = next((each for each in problem.traffic if len(each.members) > 1), None)
    if one is None or problem.open:
        return
    network = Topology(problem.brokers, problem.links, "mesh")
    alone = Problem.of(None, [one], network, problem.alpha, problem.beta)
    found = steiner(alone)
    assert found is not None
    assert cost_of(alone, found).total == pytest.approx(cost_of(alone, exact(alone)).total)


def test_a_seed_and_a_number_of_moves_give_one_tree() -> None:
    problem, tree = random_problem(40, 150, 2)
    start = problem.parents(tree.by_ends)
    first, again = (global_search(problem, start, Effort(moves=3000), seed=7) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize("method", ["auto", "global", "neighbourhoods"])
def test_a_design_is_never_worse_than_the_tree_before(method: str) -> None:
    for seed in range(4):
        problem, tree = random_problem(25, 60, seed)
        design = propose_tree(problem, tree, method, effort=Effort(moves=seed * 20))
        assert design.cost.total <= design.before.total * (1 + 1e-12)
        assert design.cost.total == pytest.approx(plain_cost(problem, design.topology))
        assert design.bound.value <= design.cost.total * (1 + 1e-9)
        assert design.topology.by_ends.keys() <= problem.link_cost.keys()


def test_the_search_stops_when_told() -> None:
    problem, tree = random_problem(30, 100, 4)
    asked = []

    def expired() -> bool:
        asked.append(True)
        return len(asked) > 5

    global_search(problem, problem.parents(tree.by_ends), Effort(expired=expired))
    assert len(asked) < 12


def test_nothing_changes_where_nothing_travels_or_nothing_helps() -> None:
    for traffic in ([], [TrafficClass(frozenset({"b1"}), 4.0)]):
        tree = Topology.of([("b0", "b1"), ("b1", "b2")])
        design = propose_tree(Problem.of(tree, traffic), tree)
        assert (design.topology.sha256, design.way.exchanges, design.optimal) == (tree.sha256, (), True)
    star = Topology.of([("hub", f"b{number}") for number in range(5)])
    traffic = [TrafficClass(frozenset({"hub", f"b{number}"}), 1.0) for number in range(5)]
    assert propose_tree(Problem.of(star, traffic), star).topology.sha256 == star.sha256


def test_trees_of_one_and_two_brokers_are_designed_too() -> None:
    lonely = Topology.of([], ["b0"])
    assert propose_tree(Problem.of(lonely, []), lonely).cost.total == 0
    pair = Topology.of([("b0", "b1")])
    traffic = [TrafficClass(frozenset({"b0", "b1"}), 3.0)]
    for method in ("auto", "global", "neighbourhoods", "exact"):
        assert propose_tree(Problem.of(pair, traffic), pair, method).cost.total == 3 * (1 + 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"alpha": -1.0}, "alpha: must be a finite number at least 0"),
        ({"beta": float("nan")}, "beta: must be a finite number at least 0"),
        ({"network": Topology.of([("a", "b")], ["a", "b", "c"], "mesh")}, "no path from 'a' to 'c'"),
        ({"network": Topology.of([("a", "b"), ("b", "c")])}, "link 'a' - 'c' is not among the possible"),
        ({"network": Topology.of([("a", "b")])}, "broker 'c' of the topology is not in it"),
        ({"network": Topology.of([("a", "c"), ("a", "b"), ("c", "d")])}, "broker 'd' is not in the topology"),
    ],
)
def test_a_problem_that_breaks_a_rule_is_refused(options: dict[str, object], said: str) -> None:
    tree = Topology.of([("a", "b"), ("a", "c")])
    with pytest.raises(BadInput, match=said):
        Problem.of(tree, [TrafficClass(frozenset("ab"), 1.0)], **options)  # type: ignore[arg-type]


def test_unknown_members_and_unknown_methods_are_refused() -> None:
    tree = Topology.of([("a", "b")])
    with pytest.raises(BadInput, match=r"classes\[0\].members: unknown broker id 'z'"):
        Problem.of(tree, [TrafficClass(frozenset("az"), 1.0)])
    problem = Problem.of(tree, [])
    with pytest.raises(BadInput, match="unknown method 'guess'"):
        propose_tree(problem, tree, "guess")
    large, start = random_problem(20, 5, 1)
    with pytest.raises(BadInput, match="at most 18 brokers"):
        propose_tree(large, start, "exact")
