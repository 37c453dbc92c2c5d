"""The three formulations of a path, and back."""

import numpy as np
import pytest
from tests.routes.networks import random_graph

from regraft.model import BadInput
from regraft.routes.path_forms import (
    EdgePath,
    VertexPath,
    cost_of_vertices,
    edges_of_path,
    edges_of_vertices,
    hybrid_of,
    is_path,
    path_of_vertices,
    vertices_of_edges,
    vertices_of_path,
    weight_of_hybrid,
)
from regraft.routes.path_search import shortest_paths

SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_formulation_leads_back_to_the_same_path(seed: int) -> None:
    graph = random_graph(9, 15, seed, (1.0, 2.0, 3.0))
    for end in range(9):
        for path in shortest_paths(graph, [(0, end)], 3)[0]:
            chain = vertices_of_path(graph, 0, path, 9)
            assert len(chain.vertices) == 9
            assert path_of_vertices(graph, chain) == path
            matrix = edges_of_path(graph, 0, path)
            assert is_path(matrix)
            assert vertices_of_edges(matrix, 9) == chain
            assert (edges_of_vertices(graph, chain).matrix == matrix.matrix).all()
            assert cost_of_vertices(graph, chain) == graph.weigh(path)


def test_switches_that_nothing_joins_cost_infinitely_much() -> None:
    graph = random_graph(5, 4, 0)
    apart = next(
        (one, other)
        for one in range(5)
        for other in range(5)
        if one != other and all(graph.target_list[edge] != other for edge in graph.leaving[one])
    )
    assert cost_of_vertices(graph, VertexPath(apart)) == float("inf")
    assert cost_of_vertices(graph, VertexPath((3, 3, 3))) == 0.0
    with pytest.raises(BadInput, match="no edge joins"):
        path_of_vertices(graph, VertexPath(apart))


def test_a_matrix_with_a_circle_beside_the_path_is_no_path() -> None:
    graph = random_graph(6, 12, 1)
    (path,) = shortest_paths(graph, [(0, 1)])[0]
    matrix = edges_of_path(graph, 0, path).matrix.copy()
    matrix[3, 4] = matrix[4, 3] = 1
    assert not is_path(EdgePath(matrix))
    with pytest.raises(BadInput, match="does not lead"):
        vertices_of_edges(EdgePath(matrix), 6)
    assert not is_path(EdgePath(np.zeros_like(matrix)))


def test_a_chain_is_long_enough_or_refused() -> None:
    graph = random_graph(6, 5, 2)
    path = max((shortest_paths(graph, [(0, end)])[0][0] for end in range(6)), key=len)
    with pytest.raises(BadInput, match="do not fit"):
        vertices_of_path(graph, 0, path, len(path))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_edge_that_paths_share_counts_once(seed: int) -> None:
    graph = random_graph(9, 14, seed, (1.0, 4.0))
    paths = [found[0] for found in shortest_paths(graph, [(0, 5), (0, 7), (0, 8)])]
    hybrid = hybrid_of(graph, [vertices_of_path(graph, 0, path, 9) for path in paths])
    assert weight_of_hybrid(graph, hybrid) == graph.weigh({edge for path in paths for edge in path})
    assert hybrid.matrix.sum() == len({edge for path in paths for edge in path})
