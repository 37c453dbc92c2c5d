"""Lower bound and global optimum against every tree for every event."""

from itertools import pairwise

import pytest
from tests.routes.networks import random_graph, random_network, random_workload
from tests.routes.test_compute import brute_force_cost
from tests.routes.test_subgraph_components import least_weight

from regraft.model.routes import Publisher, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork
from regraft.routes import RouteState, compute_routes, least_cost_of
from regraft.routes.bounds import finest_demands, least_cost, lower_bound, optimum
from regraft.routes.problem import Demand, Graph, problem_of
from regraft.routes.spanning_tree import minimum_spanning_tree
from regraft.routes.steiner_graph import Bounded


@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_that_of_every_event_on_its_own(seed: int) -> None:
    network = random_network(7, 11, seed, (1.0, 3.0))
    workload = random_workload(network, 3, 6, seed, (1, 3))
    problem = problem_of(network, workload)
    least = brute_force_cost(network, workload)
    demands = [demand for each in range(3) for demand in finest_demands(problem, each)]
    assert lower_bound(problem.graph, demands) <= least + 1e-9
    assert least_cost(problem.graph, demands, 10.0) == pytest.approx(least)
    assert optimum(problem, 10.0) == pytest.approx(least)
    for matching in ("filter", "publisher"):
        state = compute_routes(network, workload)
        assert isinstance(state, RouteState)
        assert state.routes.figures is not None
        assert least_cost_of(state) == pytest.approx(least)
        assert state.routes.figures.cost >= least - 1e-9, matching


class Open:
    """Returns trees but never a bound, so that the program has to prove all of them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def solve(self, root: int, terminals: tuple[int, ...]) -> Bounded:
        tree = minimum_spanning_tree(self.graph, root)
        return Bounded(tree, self.graph.weigh(tree), 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_what_the_bound_leaves_open_is_closed_by_the_program(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regraft.routes.bounds.prepared", Open)
    graph = random_graph(9, 14, seed, (1.0, 2.0, 5.0))
    demands = [Demand((0,), (3, 5, 8), 2.0), Demand((4,), (1, 2), 3.0), Demand((0,), (3, 5, 8), 1.0)]
    wanted = 3.0 * least_weight(graph, {0, 3, 5, 8}) + 3.0 * least_weight(graph, {4, 1, 2})
    assert least_cost(graph, demands, 10.0) == pytest.approx(wanted)
    assert least_cost(graph, demands, 10.0, programs=2) == pytest.approx(wanted)
    assert least_cost(graph, demands, 10.0, programs=1) is None


def test_large_networks_have_a_bound_only() -> None:
    names = [f"r{number}" for number in range(51)]
    network = SwitchNetwork.of(pairwise(names))
    workload = RouteWorkload((Publisher("p", "r0", 1.0, ("0",)),), (Subscriber("t", "r50", ("0",)),))
    assert optimum(problem_of(network, workload), 10.0) is None
