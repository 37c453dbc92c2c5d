"""Fragments that are offered chains outside: what they find is used only if it makes a better tree of the
whole."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.routes.brute_force import crossed, free_of_cycles, subtrees, undirected
from tests.routes.networks import random_graph
from tests.routes.test_fragmentation import SWITCHES, network, tasks, tree_by_lot

from regraft.routes.fragment_exchange import exchange, exchanged, grown
from regraft.routes.interface import Tree
from regraft.routes.problem import Demand, Graph
from regraft.routes.shared_tree import shared_cost
from regraft.routes.steiner_program import least_steiner_tree


def served(graph: Graph, demand: Demand, tree: Tree) -> None:
    assert free_of_cycles(graph, tree)
    for root in demand.roots:
        reached = {graph.target_list[edge] for edge in crossed(graph, tree, root) or ()} | {root}
        assert set(demand.terminals) <= reached


def shortest_paths(graph: Graph, demand: Demand) -> Tree:
    """The tree that the initialisation phase would give."""
    ends = {(graph.source_list[e], graph.target_list[e]): e for e in graph.edges.tolist()}
    paths = nx.single_source_dijkstra_path(undirected(graph), demand.roots[0])
    return frozenset(ends[hop] for end in demand.terminals for hop in nx.utils.pairwise(paths[end]))


def least(graph: Graph, part: Demand) -> Tree | None:
    return least_steiner_tree(graph, part.roots[0], (*part.roots[1:], *part.terminals))


@pytest.mark.parametrize("roots", [1, 3])
@settings(max_examples=50, deadline=None)
@given(st.data(), st.integers(1, 9), st.integers(0, 3))
def test_whatever_the_fragments_find_the_whole_is_a_tree_and_no_dearer(
    roots: int, data: st.DataObject, size: int, turn: int
) -> None:
    graph, demand, draw = data.draw(tasks(roots))
    tree = tree_by_lot(graph, demand, draw)
    cut = exchange(graph, [demand], [tree], size, turn)
    assert cut.exchange
    found = [[tree_by_lot(fragment.graph, fragment.demands[0], draw)] for fragment in cut.fragments]
    new = exchanged(graph, demand, tree, cut.fragments, found)
    served(graph, demand, new)
    assert shared_cost(graph, demand, new) <= shared_cost(graph, demand, tree) + 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_a_fragment_finds_the_best_tree_that_differs_only_in_it_and_right_around_it(seed: int) -> None:
    """Against all trees: those that keep every way which the fragment was not offered."""
    graph = random_graph(7, 10, seed, (1.0, 2.0, 3.0))
    demand = Demand((0,), (3, 5, 6))
    tree = shortest_paths(graph, demand)
    link = {e: frozenset((graph.source_list[e], graph.target_list[e])) for e in graph.edges.tolist()}
    now = {link[edge] for edge in tree}
    cut = exchange(graph, [demand], [tree], 4, seed)
    for fragment in cut.fragments:
        own = {link[edge] for edge in link if fragment.graph.allowed[edge]}
        ways = [{link[edge] for edge in chain} for chain in fragment.chains]
        stays = now - own - set().union(*ways)
        offered = own | stays | set().union(*ways)
        costs = []
        for other in subtrees(graph, {0, 3, 5, 6}):
            links = set(map(frozenset, other.edges))
            whole = all(way <= links or not way & links for way in ways)
            if stays <= links <= offered and whole:
                costs.append(other.size(weight="weight"))
        (part,) = fragment.demands
        new = exchanged(graph, demand, tree, [fragment], [[least(fragment.graph, part)]])
        assert graph.weigh(new) == pytest.approx(min(costs))
        served(graph, demand, new)


@pytest.mark.parametrize("seed", range(5))
def test_one_fragment_with_everything_in_it_gives_the_least_tree(seed: int) -> None:
    graph = random_graph(12, 20, seed, (1.0, 2.0, 3.0))
    demand = Demand((0,), (3, 6, 9, 11))
    tree = shortest_paths(graph, demand)
    cut = exchange(graph, [demand], [tree], 12)
    (fragment,) = cut.fragments
    new = exchanged(graph, demand, tree, cut.fragments, [[least(fragment.graph, fragment.demands[0])]])
    assert graph.weigh(new) == graph.weigh(least_steiner_tree(graph, 0, demand.terminals) or ())


def test_small_fragments_in_turn_keep_a_good_part_of_what_there_is_to_gain() -> None:
    """At 14 switches, fragments of 5; with fixed points between fragments nearly nothing is left of it."""
    gained, possible = 0.0, 0.0
    for seed in range(5):
        graph, demand = network(seed), Demand((0,), (4, 7, 9, 11, 13))
        first = tree = shortest_paths(graph, demand)
        for turn in range(4):
            cut = exchange(graph, [demand], [tree], 5, turn)
            found = [[least(fragment.graph, fragment.demands[0])] for fragment in cut.fragments]
            tree = exchanged(graph, demand, tree, cut.fragments, found)
        gained += graph.weigh(first) - graph.weigh(tree)
        possible += graph.weigh(first) - graph.weigh(least_steiner_tree(graph, 0, demand.terminals) or ())
    assert possible > 0
    assert gained >= 0.5 * possible


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, SWITCHES), st.integers(0, 9))
def test_grown_blocks_are_disjoint_connected_and_small(seed: int, size: int, turn: int) -> None:
    graph = network(seed)
    block = grown(graph, size, turn)
    assert min(block) == 0
    for here in set(block):
        members = [vertex for vertex in range(SWITCHES) if block[vertex] == here]
        assert len(members) <= size
        assert nx.is_connected(undirected(graph).subgraph(members))


def test_one_way_cables_are_cut_with_fixed_points() -> None:
    graph = network(1)
    one_way = graph.only(edge for edge in graph.edges.tolist() if edge != 4)
    demand = Demand((0,), (5, 9))
    tree = tree_by_lot(one_way, demand, np.random.default_rng(1))
    assert not exchange(one_way, [demand], [tree], 4).exchange
