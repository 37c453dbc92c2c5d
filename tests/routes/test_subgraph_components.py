"""Trees of every sub graph component, against networkx, scipy and brute force."""

from itertools import combinations
from typing import Any

import networkx
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree as scipy_spanning_tree
from tests.routes.networks import random_graph

from regraft.routes.balanced_tree import balanced_tree
from regraft.routes.combination import combination
from regraft.routes.path_search import path_to, search
from regraft.routes.problem import Demand, Graph
from regraft.routes.registry import COMPONENTS, component
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import shared_cost
from regraft.routes.spanning_program import cut_spanning_tree, undirected
from regraft.routes.spanning_tree import minimum_spanning_tree
from regraft.routes.steiner_graph import SteinerGraph
from regraft.routes.steiner_program import least_steiner_tree

SEEDS = range(5)
NAMES = sorted(COMPONENTS["subgraph"])
SETTINGS = RouteSettings()


def least_weight(graph: Graph, ends: set[int]) -> float:
    """Of all sets of further vertices, the lightest spanning tree over them and the ends."""
    known = networkx.Graph()
    for edge in graph.edges.tolist():
        known.add_edge(graph.source_list[edge], graph.target_list[edge], weight=graph.weight_list[edge])
    others = [vertex for vertex in known if vertex not in ends]
    best = float("inf")
    for size in range(len(others) + 1):
        for more in combinations(others, size):
            part = known.subgraph(ends | set(more))
            if networkx.is_connected(part):
                best = min(best, networkx.minimum_spanning_tree(part).size(weight="weight"))
    return best


def depths(graph: Graph, tree: frozenset[int], root: int) -> dict[int, int]:
    """Vertex -> edges from the root; fails where a vertex is entered twice."""
    found, open_vertices = {root: 0}, [root]
    for vertex in open_vertices:
        for edge in tree:
            if graph.source_list[edge] == vertex:
                assert graph.target_list[edge] not in found, "two ways lead to one switch"
                found[graph.target_list[edge]] = found[vertex] + 1
                open_vertices.append(graph.target_list[edge])
    assert len(found) == len(tree) + 1, "an edge that the root does not reach"
    return found


def trees(name: str, graph: Graph, *demands: Demand, **numbers: Any) -> list[frozenset[int] | None]:
    found: list[frozenset[int] | None] = component("subgraph", name)(
        graph, demands, (), RouteSettings(**numbers)
    )
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_component_joins_one_root_with_its_terminals_by_a_tree(name: str, seed: int) -> None:
    graph = random_graph(10, 17, seed, (1.0, 2.0, 4.0))
    for demand in (Demand((0,), (3, 6, 9)), Demand((4,), (4,)), Demand((2,), (0, 2, 7, 8))):
        (tree,) = trees(name, graph, demand)
        assert tree is not None
        assert set(demand.terminals) <= depths(graph, tree, demand.roots[0]).keys()


@pytest.mark.parametrize("name", NAMES)
def test_every_component_keeps_path_limits(name: str) -> None:
    graph = random_graph(12, 18, 3, (1.0, 1.0, 5.0))
    free = depths(graph, frozenset(e for e in search(unit(graph), 0) if e >= 0), 0)
    terminals = tuple(sorted(free, key=free.__getitem__)[-4:])
    demand = Demand((0,), terminals, hops=tuple(free[end] for end in terminals))
    (tree,) = trees(name, graph, demand)
    assert tree is not None
    found = depths(graph, tree, 0)
    assert all(found[end] <= free[end] for end in terminals)


@pytest.mark.parametrize("name", NAMES)
def test_no_component_invents_a_way_that_is_not_there(name: str) -> None:
    graph = random_graph(8, 12, 1)
    (tree,) = trees(name, graph.among([0, 1, 2, 3]), Demand((0,), (7,)))
    assert tree is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_tree_of_several_roots_has_no_cycle_once_cycles_went_back(name: str, seed: int) -> None:
    graph = random_graph(9, 15, seed)
    demand = Demand((0, 4, 7), (1, 5, 8), rates=(1.0, 2.0, 3.0), rate=6.0)
    detect: Any = component("cycles", "components")
    forbidden: list[frozenset[int]] = []
    for _ in range(40):
        (tree,) = component("subgraph", name)(graph, [demand], forbidden, SETTINGS)
        assert tree is not None
        if not (cycles := detect(graph, tree)):
            break
        forbidden += cycles
    assert not detect(graph, tree)
    for root in demand.roots:
        reached = {graph.target_list[edge] for edge in follow(graph, tree, root)} | {root}
        assert set(demand.terminals) <= reached


def follow(graph: Graph, tree: frozenset[int], root: int) -> set[int]:
    crossed = {edge for edge in tree if graph.source_list[edge] == root}
    while True:
        more = {
            after
            for edge in crossed
            for after in tree
            if graph.source_list[after] == graph.target_list[edge]
            and graph.cable_list[after] != graph.cable_list[edge]
        }
        if more <= crossed:
            return crossed
        crossed |= more


def unit(graph: Graph) -> Graph:
    return graph.with_weights(graph.weights * 0 + 1)


@pytest.mark.parametrize("seed", range(12))
def test_steiner_trees_are_least_and_their_bounds_are_below(seed: int) -> None:
    graph = random_graph(9, 15, seed, (1.0, 2.0, 3.0, 7.0))
    ends = {0, 2, 5, 8} if seed % 2 else {0, 1, 3, 4, 6}
    terminals = sorted(ends - {0})
    least = least_weight(graph, ends)
    bounded = SteinerGraph(graph).solve(0, terminals)
    assert bounded.bound <= least + 1e-9 <= bounded.cost + 2e-9
    assert bounded.cost <= 1.1 * least
    exact = least_steiner_tree(graph, 0, terminals)
    assert exact is not None
    assert graph.weigh(exact) == pytest.approx(least)
    (near,) = trees("steiner-approximation", graph, Demand((0,), tuple(terminals)))
    assert near is not None
    assert graph.weigh(near) <= 2 * least
    (both,) = combination(graph, [Demand((0,), tuple(terminals))], (), SETTINGS)
    assert both is not None
    assert graph.weigh(both) == pytest.approx(least)


@pytest.mark.parametrize("seed", range(6))
def test_a_one_way_network_gets_least_arborescences(seed: int) -> None:
    whole = random_graph(6, 8, seed, (1.0, 2.0, 3.0))
    graph = whole.only(edge for edge in range(len(whole.sources)) if edge % 5)
    terminals = tuple(end for end in (3, 4, 5) if path_to(graph, search(graph, 0), 0, end) is not None)
    least = min(
        graph.weigh(some)
        for size in range(6)
        for some in combinations(graph.edges.tolist(), size)
        if set(terminals) <= reach(graph, some)
    )
    exact = least_steiner_tree(graph, 0, terminals)
    bounded = SteinerGraph(graph).solve(0, terminals)
    assert exact is not None
    assert graph.weigh(exact) == least
    assert bounded.bound <= least <= bounded.cost
    depths(graph, bounded.tree or frozenset(), 0)


def reach(graph: Graph, edges: tuple[int, ...]) -> set[int]:
    above = search(graph.only(edges), 0)
    return {0} | {graph.target_list[edge] for edge in above if edge >= 0}


@pytest.mark.parametrize("seed", range(10))
def test_both_spanning_trees_weigh_what_scipy_says(seed: int) -> None:
    graph = random_graph(9, 18, seed, (1.0, 2.0, 3.0, 4.0, 5.0))
    matrix = csr_array((graph.weights, (graph.sources, graph.targets)), shape=(9, 9))
    least = scipy_spanning_tree(matrix).sum()
    assert graph.weigh(minimum_spanning_tree(graph, 3)) == least
    chosen = cut_spanning_tree(9, undirected(graph))
    assert sum(link[2] for link in chosen) == pytest.approx(least)
    assert networkx.is_tree(networkx.Graph([link[:2] for link in chosen]))


@pytest.mark.parametrize("alpha", (1.01, 1.5, 2.0, 4.0))
@pytest.mark.parametrize("seed", SEEDS)
def test_a_balanced_tree_keeps_both_bounds(alpha: float, seed: int) -> None:
    graph = random_graph(30, 55, seed, (1.0, 3.0, 10.0))
    light = minimum_spanning_tree(graph, 0)
    tree = balanced_tree(graph, 0, light, alpha)
    assert len(depths(graph, tree, 0)) == 30
    assert graph.weigh(tree) <= (1 + 2 / (alpha - 1)) * graph.weigh(light) + 1e-9
    inside, short = search(graph.only(tree), 0), search(graph, 0)
    for vertex in range(1, 30):
        far, near = path_to(graph, inside, 0, vertex), path_to(graph, short, 0, vertex)
        assert far is not None
        assert near is not None
        assert graph.weigh(far) <= alpha * graph.weigh(near) + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_more_centre_switches_never_cost_more(seed: int) -> None:
    graph = random_graph(12, 20, seed, (1.0, 2.0))
    demands = [Demand((root,), ((root + 3) % 12, (root + 5) % 12)) for root in range(12)]
    weights = [
        sum(graph.weigh(tree or ()) for tree in trees("centre-switches", graph, *demands, centres=count))
        for count in (1, 2, 4, 12)
    ]
    assert weights == sorted(weights, reverse=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_combination_of_several_roots_is_no_dearer_than_a_shared_steiner_tree(seed: int) -> None:
    graph = random_graph(8, 13, seed)
    demand = Demand((0, 5), (2, 6, 7), rates=(1.0, 4.0), rate=5.0)
    detect: Any = component("cycles", "components")
    forbidden: list[frozenset[int]] = []
    while True:
        (tree,) = combination(graph, [demand], forbidden, SETTINGS)
        assert tree is not None
        if not (cycles := detect(graph, tree)):
            break
        forbidden += cycles
    (shared,) = trees("steiner", graph, demand)
    assert shared is not None
    assert shared_cost(graph, demand, tree) <= shared_cost(graph, demand, shared) + 1e-9
