"""The published algorithm: Figure 3's tabu search, neighbourhood by neighbourhood, ends at a fixpoint."""

import numpy as np
import pytest
from tests.design.ocbr_cases import random_problem

from regraft.design.ocbr import Costs, Effort, Tabu, cost_of, local_view
from regraft.design.ocbr.exact import exact
from regraft.design.ocbr.kernel_search import seed_random
from regraft.design.ocbr.kernel_tabu import tabu_search
from regraft.design.ocbr.neighbourhoods import by_neighbourhoods
from regraft.design.ocbr.rearrange import rearrangement, shifts_from_star
from regraft.model import Topology, ends


def star(size: int) -> np.ndarray:
    parent = np.zeros(size, np.int64)
    parent[0] = -1
    return parent


@pytest.mark.parametrize("seed", range(6))
def test_the_tabu_search_finds_the_best_tree_of_a_small_neighbourhood(seed: int) -> None:
    problem, _ = random_problem(6, 20, seed, open=True)
    before = cost_of(problem, star(6)).total
    best = cost_of(problem, exact(problem)).total
    seed_random(seed)
    found = np.empty(6, np.int64)
    change = tabu_search(problem.net, star(6), 300, 12, 2, found)
    assert cost_of(problem, found).total - before == pytest.approx(change)
    assert before + change == pytest.approx(best)


def test_without_a_tenure_no_link_comes_back_and_the_search_still_ends() -> None:
    """Three brokers have three trees: two exchanges and everything is tabu."""
    problem, _ = random_problem(3, 6, 1, open=True)
    found = np.empty(3, np.int64)
    assert tabu_search(problem.net, star(3), 10**6, 5, 0, found) <= 0


def test_no_iterations_change_nothing() -> None:
    problem, _ = random_problem(6, 20, 1, open=True)
    found = np.empty(6, np.int64)
    assert tabu_search(problem.net, star(6), 0, 5, 0, found) == 0
    assert np.array_equal(found, star(6))


@pytest.mark.parametrize("seed", range(4))
def test_every_accepted_step_lowers_the_global_cost_and_it_ends(seed: int) -> None:
    problem, tree = random_problem(40, 150, seed, open=True)
    start = problem.parents(tree.by_ends)
    before = cost_of(problem, start).total
    fixpoint = by_neighbourhoods(problem, start, before, Effort(), seed=seed)
    assert fixpoint.settled
    assert len(fixpoint.trace) > 5
    assert all(later < earlier for earlier, later in zip(fixpoint.trace, fixpoint.trace[1:], strict=False))
    assert cost_of(problem, fixpoint.parent).total == pytest.approx(fixpoint.trace[-1])


def test_the_effort_ends_it_early_and_a_seed_gives_one_result() -> None:
    problem, tree = random_problem(40, 150, 1)
    start = problem.parents(tree.by_ends)
    before = cost_of(problem, start).total
    few, again = (by_neighbourhoods(problem, start, before, Effort(moves=15), seed=3) for _ in range(2))
    assert not few.settled
    assert few.cost == again.cost < before


@pytest.mark.parametrize("seed", range(8))
def test_a_masters_shifts_turn_the_star_into_the_tree_it_wants(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = 8
    parent = np.array([-1, *(rng.integers(number) for number in range(1, size))], np.int64)
    ids = tuple(f"b{number}" for number in range(size))
    links = {ends(ids[0], id) for id in ids[1:]}
    for action in shifts_from_star(ids, parent):
        i, j, k = action.brokers
        assert {ends(i, j), ends(j, k)} <= links
        links = (links - {ends(i, j)}) | {ends(i, k)}
    assert links == {ends(ids[b], ids[int(parent[b])]) for b in range(1, size)}


@pytest.mark.parametrize("size", [7, 16])
def test_a_masters_decision_saves_what_it_says_by_proof_or_by_tabu_search(size: int) -> None:
    problem, _ = random_problem(size, 60, 4, open=True)
    ids = problem.ids
    tree = Topology.of([(ids[0], id) for id in ids[1:]], ids)
    view = local_view(tree, problem.traffic, ids[0])
    cost = {broker.id: broker.cost for broker in problem.brokers}
    costs = Costs(lambda one, other: problem.link_cost.get(ends(one, other), 1.0), cost.__getitem__)
    actions, saves = rearrangement(ids[0], tree.neighbours[ids[0]], view, costs, Tabu(), 1)
    links = set(tree.by_ends)
    for action in actions:
        i, j, k = action.brokers
        links = (links - {ends(i, j)}) | {ends(i, k)}
    before, after = (cost_of(problem, problem.parents(pairs)).total for pairs in (tree.by_ends, links))
    assert saves > 0
    assert before - after == pytest.approx(saves)


def test_a_master_adds_no_link_that_is_not_possible() -> None:
    problem, _ = random_problem(7, 60, 4, open=True)
    ids = problem.ids
    tree = Topology.of([(ids[0], id) for id in ids[1:]], ids)
    view = local_view(tree, problem.traffic, ids[0])
    only = Costs(lambda one, other: 1.0 if ids[0] in (one, other) else None)
    assert rearrangement(ids[0], tree.neighbours[ids[0]], view, only, Tabu(), 1) == ((), 0.0)
