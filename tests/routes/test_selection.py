"""Rings of neighbours against networkx' distances."""

import networkx as nx
import numpy as np
import pytest

from regraft.model.switch_network import Edge, SwitchNetwork
from regraft.routes.problem import graph_of
from regraft.routes.selection import everything, rings_around


def network() -> SwitchNetwork:
    grid = nx.grid_2d_graph(5, 5)
    return SwitchNetwork.of((f"{a}{b}", f"{c}{d}") for (a, b), (c, d) in grid.edges)


@pytest.mark.parametrize("rings", range(5))
def test_the_sub_graph_holds_all_switches_within_so_many_edges(rings: int) -> None:
    switches = network()
    graph = graph_of(switches)
    near = nx.Graph(list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)))
    used = [0, 2]
    start = {int(end) for edge in used for end in (graph.sources[edge], graph.targets[edge])}
    inside = {
        vertex
        for vertex in range(graph.vertices)
        if min(nx.shortest_path_length(near, vertex, each) for each in start) <= rings
    }
    chosen = rings_around(graph, used, rings)
    expected = [
        edge
        for edge in range(len(graph.sources))
        if graph.sources[edge] in inside and graph.targets[edge] in inside
    ]
    assert chosen.edges.tolist() == expected
    assert chosen.weights is graph.weights


def test_neighbours_count_in_both_directions_of_a_one_way_edge() -> None:
    names = [Edge("a", "b", "1"), Edge("b", "c", "2"), Edge("z", "a", "3"), Edge("c", "d", "4")]
    graph = graph_of(SwitchNetwork(("a", "b", "c", "d", "z"), tuple(names)))
    assert rings_around(graph, [0], 1).edges.tolist() == [0, 1, 2]


def test_edges_that_may_not_be_used_stay_out() -> None:
    graph = graph_of(network()).only(range(10))
    assert set(rings_around(graph, [0], 3).edges.tolist()) <= set(range(10))


def test_negative_rings_and_everything_are_the_whole_network() -> None:
    graph = graph_of(network())
    assert rings_around(graph, [0], -1) is graph
    assert everything(graph, [0], 1) is graph
    np.testing.assert_array_equal(rings_around(graph, [0], 8).allowed, graph.allowed)
