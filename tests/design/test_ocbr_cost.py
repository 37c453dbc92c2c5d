"""The cost function (1), its local form, and the compiled prices of moves against both."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.design.ocbr_cases import plain_cost, problems, random_problem

from regraft.design.ocbr import Problem, cost_of, link_loads, local_view
from regraft.design.ocbr.kernel_loop import new_worth
from regraft.design.ocbr.kernel_region import new_region
from regraft.design.ocbr.kernel_search import around_link, seed_random, try_link
from regraft.design.ocbr.kernel_tabu import apply, contract, neighbourhood, tabu_search
from regraft.design.ocbr.kernel_tree import hang_up, new_loop
from regraft.design.ocbr.starts import rerooted
from regraft.model import Topology
from regraft.model.traffic import TrafficClass

FIGURE_2 = Topology.of(
    [("m", "b1"), ("m", "b2"), ("m", "b3"), ("m", "b4"), ("m", "c4"), ("b1", "c1"), ("b1", "c2"),
     ("b3", "c3"), ("b3", "c5")]
)  # fmt: skip


def test_the_cost_of_a_small_tree_is_counted_by_hand() -> None:
    tree = Topology.of([("a", "b"), ("b", "c"), ("c", "d")])
    traffic = [TrafficClass(frozenset("ac"), 2.0), TrafficClass(frozenset("d"), 5.0)]
    problem = Problem.of(tree, traffic, alpha=10.0, beta=1.0)
    cost = cost_of(problem, problem.parents(tree.by_ends))
    assert (cost.links, cost.brokers, cost.total) == (2 * 2.0, 2 * 3.0 + 5.0, 40.0 + 11.0)


@given(problems())
def test_the_cost_is_that_of_the_definition(case: tuple[Problem, Topology]) -> None:
    problem, tree = case
    parent = problem.parents(tree.by_ends)
    assert cost_of(problem, parent).total == pytest.approx(plain_cost(problem, tree))
    loads = link_loads(problem, parent)
    links = sum(load * problem.link_cost.get(pair, 1.0) for pair, load in loads.items())
    assert cost_of(problem, parent).links == pytest.approx(links)


def test_a_master_sees_neighbours_in_place_of_what_lies_behind_them() -> None:
    """The classes of OCBR Figure 2: {c1,c2} passes by, two others become one."""
    traffic = [
        TrafficClass(frozenset({"c1", "c2"}), 5.0),
        TrafficClass(frozenset({"c1", "c2", "c4"}), 2.0),
        TrafficClass(frozenset({"c1", "c2", "c3"}), 3.0),
        TrafficClass(frozenset({"c2", "c3", "c5"}), 4.0),
    ]
    assert set(local_view(FIGURE_2, traffic, "m")) == {
        TrafficClass(frozenset({"b1", "c4"}), 2.0),
        TrafficClass(frozenset({"b1", "b3"}), 7.0),
    }


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_every_move_changes_the_cost_by_what_it_says_and_keeps_the_tree(beta: float) -> None:
    problem, tree = random_problem(14, 40, 3, beta=beta)
    net, size = problem.net, len(problem.ids)
    hung = hang_up(problem.parents(tree.by_ends), np.diff(net.at_start))
    loop, worth, region = new_loop(size), new_worth(size, len(net.demand)), new_region(6)
    seed_random(5)
    rng = np.random.default_rng(5)
    cost, moved = cost_of(problem, hung.parent).total, 0
    for turn in range(400):
        one, other = (int(b) for b in rng.integers(size, size=2))
        if turn % 2:
            change = try_link(net, hung, loop, worth, one, other, 500.0)
        else:
            change = around_link(net, hung, loop, worth, region, one, other, 6)
        after = cost_of(problem, hung.parent).total  # building the topology checks that it is a tree
        assert after - cost == pytest.approx(change, abs=1e-6)
        assert change <= 0 or turn % 2, "a rearrangement only ever saves"
        assert np.array_equal(hang_up(hung.parent, np.diff(net.at_start)).weight, hung.weight)
        moved += after != cost
        cost = after
    assert moved > 30


def test_what_a_master_saves_locally_is_saved_in_the_whole_network() -> None:
    improved = 0
    for seed in range(8):
        problem, tree = random_problem(15, 40, seed)
        net, size = problem.net, len(problem.ids)
        hung = hang_up(problem.parents(tree.by_ends), np.diff(net.at_start))
        loop, worth, brokers = new_loop(size), new_worth(size, len(net.demand)), np.empty(size + 1, np.int64)
        seed_random(seed)
        for master in range(size):
            before = cost_of(problem, hung.parent).total
            k = neighbourhood(hung, master, brokers)
            local, hanging = contract(net, hung, worth, loop.clock, brokers, k)
            star = np.full(k, int(brokers[0] != master), np.int64)
            star[0] = -1
            if brokers[0] != master:
                star[1] = 0
            found = np.empty(k, np.int64)
            change = tabu_search(local, star, 20, 10, 0, found)
            apply(hung, brokers, rerooted(found), hanging, k)
            assert cost_of(problem, hung.parent).total - before == pytest.approx(change, abs=1e-6)
            improved += change < 0
    assert improved > 10


@settings(max_examples=30)
@given(problems())
def test_the_local_view_holds_all_that_a_rearrangement_can_change(case: tuple[Problem, Topology]) -> None:
    """Summed over a star, the demand on its links is that of the whole network."""
    problem, tree = case
    loads = link_loads(problem, problem.parents(tree.by_ends))
    for master in tree.ids:
        view = local_view(tree, problem.traffic, master)
        for near in tree.neighbours[master]:
            seen = sum(each.demand for each in view if near in each.members)
            assert loads[min(master, near), max(master, near)] == pytest.approx(seen)
