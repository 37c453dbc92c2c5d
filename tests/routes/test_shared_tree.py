"""Trees that several publishers share: every part against networkx, the whole against all trees."""

import networkx as nx
import pytest
from tests.routes.brute_force import cost_in, crossed, subtrees, undirected
from tests.routes.networks import random_graph

from regraft.routes.problem import Demand, Graph
from regraft.routes.registry import component
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import attached, directed, shared_cost

WEIGHTS = (1.0, 2.0, 3.0, 5.0)


def least_shared(graph: Graph, demand: Demand) -> float:
    """The cheapest of all trees that hold the roots and the terminals."""
    return min(cost_in(tree, demand) for tree in subtrees(graph, {*demand.roots, *demand.terminals}))


def demands(seed: int) -> list[Demand]:
    shift = seed % 3
    return [
        Demand((0, 4), (2, 5, 6), 5.0, rates=(1.0, 4.0)),
        Demand((1, 3, 6), (shift, 5), 6.0, rates=(1.0, 2.0, 3.0)),
        Demand((2, 5), (1, 4, 6), 2.0, rates=(1.0, 1.0)),
    ]


def test_shared_steiner_trees_are_mostly_the_cheapest_of_all_and_never_far_from_it() -> None:
    exact, count = 0, 0
    for seed in range(6):
        graph = random_graph(7, 10, seed, WEIGHTS)
        for demand in demands(seed):
            (tree,) = component("subgraph", "steiner")(graph, [demand], (), RouteSettings())
            found, least = shared_cost(graph, demand, tree), least_shared(graph, demand)
            assert least - 1e-9 <= found <= 1.2 * least
            exact += found <= least + 1e-9
            count += 1
    assert exact >= 0.8 * count


@pytest.mark.parametrize("seed", range(6))
def test_a_root_joins_the_core_by_its_shortest_path(seed: int) -> None:
    graph = random_graph(9, 15, seed, tuple(1.0 + 0.13 * n for n in range(40)))
    known = undirected(graph)
    spanning = nx.minimum_spanning_tree(known.subgraph(nx.ego_graph(known, 0, 1)))
    ends = {(graph.source_list[e], graph.target_list[e]): e for e in graph.edges.tolist()}
    core = {ends[link] for link in spanning.edges}
    demand = Demand((5, 8), (0,))
    cables = attached(graph, demand, core)
    assert cables is not None
    wanted = {frozenset(link) for link in spanning.edges}
    for root in demand.roots:
        _, path = nx.multi_source_dijkstra(known, set(spanning), root)
        wanted |= set(map(frozenset, nx.utils.pairwise(path)))
    links = {frozenset((graph.source_list[e], graph.target_list[e])) for e in cables.values()}
    assert links == wanted


@pytest.mark.parametrize("seed", range(6))
def test_of_a_tree_of_cables_exactly_the_needed_directions_are_used(seed: int) -> None:
    graph = random_graph(8, 12, seed, WEIGHTS)
    spanning = nx.minimum_spanning_tree(undirected(graph))
    ends = {(graph.source_list[e], graph.target_list[e]): e for e in graph.edges.tolist()}
    cables = {graph.cable_list[ends[link]]: ends[link] for link in spanning.edges}
    demand = Demand((0, 3), (2, 6, 7), 5.0, rates=(2.0, 3.0))
    tree = directed(graph, demand, cables)
    wanted = {
        ends[hop]
        for root in demand.roots
        for end in demand.terminals
        for hop in nx.utils.pairwise(nx.shortest_path(spanning, root, end))
    }
    assert tree is not None
    assert set(tree) == wanted
    assert shared_cost(graph, demand, tree) == pytest.approx(
        sum(
            rate * graph.weigh(crossed(graph, tree, root) or ())
            for root, rate in zip(demand.roots, demand.rates, strict=True)
        )
    )


@pytest.mark.parametrize("seed", range(6))
def test_path_limits_of_shared_trees_are_kept_wherever_some_tree_keeps_them(seed: int) -> None:
    graph = random_graph(6, 8, seed, WEIGHTS)
    roots, terminals = (0, 4), (2, 3, 5)
    for limit in (2, 3):
        demand = Demand(roots, terminals, 2.0, (limit,) * 3, (1.0, 1.0))
        keeping = [
            cost_in(tree, demand)
            for tree in subtrees(graph, {*roots, *terminals})
            if all(nx.shortest_path_length(tree, root, end) <= limit for root in roots for end in terminals)
        ]
        (tree,) = component("subgraph", "steiner")(graph, [demand], (), RouteSettings())
        assert (tree is None) == (not keeping)
        if tree is not None:
            assert min(keeping) - 1e-9 <= shared_cost(graph, demand, tree)
