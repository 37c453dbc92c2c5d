"""The combination program against every set of trees: several publishers, and limits on path lengths."""

import networkx as nx
import pytest
from tests.routes.brute_force import crossed, free_of_cycles, trees_to, undirected
from tests.routes.networks import random_graph

from regraft.routes.combination import combination
from regraft.routes.cycles import without_cycles
from regraft.routes.problem import Demand
from regraft.routes.settings import RouteSettings
from regraft.routes.stopwatch import Stopwatch

WEIGHTS = (1.0, 2.0, 3.0, 7.0)
SETTINGS = RouteSettings(subgraph="combination", time_limit=60.0)


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_path_limits_give_the_lightest_of_all_trees_that_keep_them(seed: int, more: int) -> None:
    graph = random_graph(7, 11, seed, WEIGHTS)
    fewest = nx.single_source_shortest_path_length(undirected(graph), 0)
    demand = Demand((0,), (2, 4, 6), hops=(fewest[2] + more, None, fewest[6]))
    (tree,) = combination(graph, [demand], (), SETTINGS)
    assert tree is not None
    least = min(map(graph.weigh, trees_to(graph, 0, demand.terminals, demand.hops)))
    assert graph.weigh(tree) == pytest.approx(least)
    assert tree in trees_to(graph, 0, demand.terminals, demand.hops)


def test_path_limits_that_nobody_can_keep_give_no_tree() -> None:
    graph = random_graph(7, 9, 1, WEIGHTS)
    (far,) = sorted(nx.single_source_shortest_path_length(undirected(graph), 0).items(), key=lambda e: e[1])[
        -1:
    ]
    assert combination(graph, [Demand((0,), (far[0],), hops=(far[1] - 1,))], (), SETTINGS) == [None]


CYCLIC = [(10, seed, (0, 2, 5)) for seed in (3, 4, 10, 20, 22)]
"""Cables, seed, terminals: each publisher's best tree and the other's form a cycle."""
SOUND = [(9, seed, (1, 3, 4)) for seed in range(4)]


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize(("cables", "seed", "terminals"), [*CYCLIC, *SOUND])
def test_several_publishers_get_the_cheapest_trees_that_form_no_cycle_together(
    cables: int, seed: int, terminals: tuple[int, ...], limited: bool
) -> None:
    graph = random_graph(6, cables, seed, WEIGHTS if terminals == (1, 3, 4) else (1.0,))
    roots, rates = (0, 5), (1.0, 1.5)
    hops = (3, None, 3) if limited else ()
    demand = Demand(roots, terminals, 2.5, hops, rates)
    (first,) = combination(graph, [demand], (), SETTINGS)
    assert first is not None
    if not limited:
        assert free_of_cycles(graph, first) == ((cables, seed, terminals) not in CYCLIC)
    tree = without_cycles(graph, demand, first, SETTINGS, Stopwatch())
    assert tree is not None
    assert free_of_cycles(graph, tree)
    ways = [crossed(graph, tree, root) for root in roots]
    found = sum(rate * graph.weigh(way or ()) for rate, way in zip(rates, ways, strict=True))
    pairs = [
        (rates[0] * graph.weigh(one) + rates[1] * graph.weigh(other), one | other)
        for one in trees_to(graph, 0, terminals, hops)
        for other in trees_to(graph, 5, terminals, hops)
    ]
    pairs.sort(key=lambda pair: pair[0])
    least = next(cost for cost, union in pairs if free_of_cycles(graph, union))
    assert found == pytest.approx(least, rel=1e-4)
