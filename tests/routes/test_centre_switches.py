"""Centre switches against every choice of centres, on trees that networkx makes."""

from itertools import combinations

import networkx as nx
import pytest
from tests.routes.brute_force import cost_in, undirected
from tests.routes.networks import random_graph

from regraft.routes.centre_switches import Offers, choose_centres, spanning_tree, through_centres
from regraft.routes.cycles import cycles_in
from regraft.routes.problem import Demand, Graph
from regraft.routes.settings import RouteSettings
from regraft.routes.shared_tree import shared_cost

SWITCHES = 9
WEIGHTS = tuple(1.0 + 0.37 * n + 0.011 * n * n for n in range(60))
"""Many different ones: no two paths are equally long."""
DEMANDS = [
    Demand((0,), (3, 6), 2.0),
    Demand((5,), (1, 2, 8), 1.0),
    Demand((7, 4), (0, 8), 4.0, rates=(1.0, 3.0)),
    Demand((2,), (7,), 5.0),
]


def network(seed: int) -> Graph:
    return random_graph(SWITCHES, 15, seed, WEIGHTS)


def tree_of(graph: Graph, centres: tuple[int, ...]) -> "nx.Graph[int]":
    """Everybody at the nearest centre by networkx' paths, and all ways between two regions but the lightest
    dropped: the least spanning tree of the regions as Kruskal finds it."""
    known = undirected(graph)
    distance, paths = nx.multi_source_dijkstra(known, set(centres))
    tree: nx.Graph[int] = nx.Graph()
    tree.add_nodes_from(known)
    for path in paths.values():
        nx.add_path(tree, path)
    between: nx.Graph[int] = nx.Graph()
    between.add_nodes_from(centres)
    for one, other, about in known.edges(data=True):
        ends, far = (paths[one][0], paths[other][0]), distance[one] + about["weight"] + distance[other]
        if ends[0] != ends[1] and far < between.get_edge_data(*ends, {"weight": float("inf")})["weight"]:
            between.add_edge(*ends, weight=far, link=(one, other))
    tree.add_edges_from(link for *_, link in nx.minimum_spanning_tree(between).edges(data="link"))
    nx.set_edge_attributes(tree, {link: known.edges[link]["weight"] for link in tree.edges}, "weight")
    return tree


def cost_by(graph: Graph, centres: tuple[int, ...]) -> float:
    """What the demands cost with these centres, each by one of them or by all."""
    trees = [tree_of(graph, (centre,)) for centre in centres] + [tree_of(graph, centres)]
    return sum(min(cost_in(tree, demand) for tree in trees) for demand in DEMANDS)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("centres", [(4,), (1, 6), (0, 3, 8)])
def test_switches_hang_on_their_nearest_centre_and_centres_on_each_other(
    seed: int, centres: tuple[int, ...]
) -> None:
    graph = network(seed)
    links = {
        frozenset((graph.source_list[e], graph.target_list[e]))
        for e in spanning_tree(graph, centres).values()
    }
    assert links == set(map(frozenset, tree_of(graph, centres).edges))


@pytest.mark.parametrize("seed", range(6))
def test_the_first_centre_is_the_best_of_all_switches(seed: int) -> None:
    graph = network(seed)
    (chosen,) = choose_centres(Offers(graph, DEMANDS), 1)
    costs = {centre: cost_by(graph, (centre,)) for centre in range(SWITCHES)}
    assert costs[chosen] == pytest.approx(min(costs.values()))
    trees = through_centres(graph, DEMANDS, (), RouteSettings(centres=1))
    found = sum(shared_cost(graph, d, tree or frozenset()) for d, tree in zip(DEMANDS, trees, strict=True))
    assert found == pytest.approx(min(costs.values()))


def test_two_centres_are_nearly_always_the_best_two() -> None:
    best = 0
    for seed in range(8):
        graph = network(seed)
        chosen = choose_centres(Offers(graph, DEMANDS), 2)
        least = min(cost_by(graph, pair) for pair in combinations(range(SWITCHES), 2))
        found = cost_by(graph, tuple(chosen))
        assert least - 1e-9 <= found <= 1.1 * least
        best += found <= least + 1e-9
    assert best >= 7


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [1, 3])
def test_every_path_leads_by_a_centre_or_turns_where_it_would_come_back(seed: int, count: int) -> None:
    graph = network(seed)
    centres = choose_centres(Offers(graph, DEMANDS), count)
    offered = [tree_of(graph, (centre,)) for centre in centres] + [tree_of(graph, tuple(centres))]
    for demand, tree in zip(
        DEMANDS, through_centres(graph, DEMANDS, (), RouteSettings(centres=count)), strict=True
    ):
        assert tree is not None
        assert cycles_in(graph, tree) == []
        links = {frozenset((graph.source_list[edge], graph.target_list[edge])) for edge in tree}
        assert any(links <= set(map(frozenset, each.edges)) for each in offered)
        if count == 1 and len(demand.roots) == 1:
            (root,), (centre,) = demand.roots, centres
            for end in demand.terminals:
                there = nx.shortest_path(offered[0], root, centre)
                back = nx.shortest_path(offered[0], centre, end)
                turn = next(switch for switch in there if switch in back)
                path = [*there[: there.index(turn)], *back[back.index(turn) :]]
                assert set(map(frozenset, nx.utils.pairwise(path))) <= links
