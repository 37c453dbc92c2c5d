"""Cables that fail and return: what keeps its tree could not have a better one."""

import random

import pytest
from tests.routes.brute_force import trees_to
from tests.routes.networks import random_graph, random_network, random_workload
from tests.routes.test_compute import computed, connected_without, judged

from regraft.model.routes import Publisher
from regraft.routes import RouteState, update_routes
from regraft.routes.problem import Demand, Graph
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import shared_cost
from regraft.routes.steiner import steiner_trees
from regraft.routes.steiner_graph import prepared
from regraft.routes.still_best import StillBest

WEIGHTS = (1.0, 2.0, 3.0, 5.0)


def without(graph: Graph, cable: int) -> tuple[Graph, list[int]]:
    """The graph before this cable came back, and the edges of the cable."""
    returned = [edge for edge in graph.edges.tolist() if graph.cable_list[edge] == cable]
    return graph.only(edge for edge in graph.edges.tolist() if edge not in returned), returned


@pytest.mark.parametrize("seed", range(12))
def test_a_tree_that_is_kept_is_minimal_in_the_current_network(seed: int) -> None:
    """A tree that was minimal before the cable came back and is kept must be minimal afterwards."""
    graph = random_graph(7, 11, seed, WEIGHTS)
    before, returned = without(graph, random.Random(seed).randrange(11))
    cases = [(root, ends) for root in range(7) for ends in ((1, 4), (2, 5, 6), (3,))]
    for case in cases:
        prepared(before).solve(*case)
    still, kept, best = StillBest(before, graph, returned), 0, 0
    for root, terminals in cases:
        trees = trees_to(before, root, terminals)
        if trees:
            tree = min(trees, key=graph.weigh)
            least = min(map(graph.weigh, trees_to(graph, root, terminals)))
            best += least == graph.weigh(tree)
            if still.holds(Demand((root,), terminals), tree):
                kept += 1
                assert graph.weigh(tree) == least
    assert kept >= 0.8 * best


@pytest.mark.parametrize("seed", range(6))
def test_a_shared_tree_that_is_kept_is_the_one_that_would_be_found_again(seed: int) -> None:
    graph = random_graph(9, 15, seed, WEIGHTS)
    demands = [
        Demand((0, 3), (5, 7), 4.0, rates=(1.0, 3.0)),
        Demand((1, 4, 8), (2, 6), 4.0, rates=(2.0, 1.0, 1.0)),
    ]
    kept = 0
    for cable in range(15):
        before, returned = without(graph, cable)
        trees = steiner_trees(before, demands, (), RouteSettings())
        still = StillBest(before, graph, returned)
        for demand, tree in zip(demands, trees, strict=True):
            if tree is not None and still.holds(demand, tree):
                kept += 1
                (again,) = steiner_trees(graph, [demand], (), RouteSettings())
                assert again is not None
                assert shared_cost(graph, demand, tree) <= shared_cost(graph, demand, again) + 1e-9
    assert kept >= 8


def test_a_tree_over_a_cable_that_failed_is_not_kept() -> None:
    graph = random_graph(6, 9, 1)
    tree = prepared(graph).solve(0, (3, 5)).tree
    assert tree is not None
    less = graph.only(edge for edge in graph.edges.tolist() if edge != min(tree))
    demand = Demand((0,), (3, 5))
    assert StillBest(graph, graph, ()).holds(demand, tree)
    assert not StillBest(graph, less, ()).holds(demand, tree)


@pytest.mark.parametrize("settings", [{}, {"selection": "rings"}, {"fragmentation": "exchange"}])
@pytest.mark.parametrize("matching", ["filter", "publisher"])
def test_a_cable_that_returns_makes_only_a_part_be_computed_again(
    matching: str, settings: dict[str, str]
) -> None:
    network = random_network(14, 24, 11, (1.0, 2.0, 3.0))
    workload = random_workload(network, 6, 24, 12, (2, 5))
    first = computed(network, workload, matching=matching, **settings)
    assert first.routes.figures is not None
    loose = [f"c{number}" for number in range(24) if connected_without(network, f"c{number}")]
    for cable in loose[3:12:8]:
        failed = update_routes(first, down=frozenset({cable}))
        assert isinstance(failed, RouteState)
        judged(failed)
        back = update_routes(failed, down=frozenset())
        assert isinstance(back, RouteState)
        judged(back)
        assert back.solved < first.solved
        assert back.routes.figures is not None
        assert back.routes.figures.cost <= 1.02 * first.routes.figures.cost
        assert back.routes.figures.lower_bound <= back.routes.figures.cost + 1e-6


def test_figures_of_shortest_paths_are_not_those_of_another_workload() -> None:
    network = random_network(8, 12, 1)
    workload = random_workload(network, 2, 6, 1)
    first = computed(network, workload)
    more = (*workload.publishers, Publisher("new", "r3", 4.0, ("0",)))
    after = update_routes(first, type(workload)(more, workload.subscribers))
    assert isinstance(after, RouteState)
    assert first.routes.initial is not None
    assert after.routes.initial is None
