"""Shortest and next-best paths, and trees chosen among them, against networkx and brute force."""

from itertools import islice, product

import networkx
import pytest
from tests.routes.networks import random_graph

from regraft.routes.interface import FindPaths
from regraft.routes.path_program import linear_paths
from regraft.routes.path_search import shortest_paths
from regraft.routes.path_trees import chosen_paths, union_of_paths
from regraft.routes.problem import Graph

SEEDS = range(6)
FINDERS = (linear_paths, shortest_paths)


def as_networkx(graph: Graph) -> networkx.DiGraph:
    known = networkx.DiGraph()
    known.add_weighted_edges_from(zip(graph.source_list, graph.target_list, graph.weight_list, strict=True))
    return known


def chain(graph: Graph, start: int, path: tuple[int, ...]) -> list[int]:
    vertices = [start]
    for edge in path:
        assert graph.source_list[edge] == vertices[-1]
        vertices.append(graph.target_list[edge])
    return vertices


@pytest.mark.parametrize("find", FINDERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_path_is_as_short_as_networkx_says(find: FindPaths, seed: int) -> None:
    graph = random_graph(9, 15, seed, (1.0, 2.0, 5.0))
    known = as_networkx(graph)
    pairs = [(0, end) for end in range(9)] + [(4, 2)]
    for (start, end), found in zip(pairs, find(graph, pairs), strict=True):
        (path,) = found
        assert chain(graph, start, path)[-1] == end
        assert graph.weigh(path) == networkx.dijkstra_path_length(known, start, end)


@pytest.mark.parametrize("find", FINDERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_next_best_paths_have_the_weights_of_the_shortest_simple_paths(find: FindPaths, seed: int) -> None:
    graph = random_graph(7, 11, seed, (1.0, 2.0, 3.0))
    known = as_networkx(graph)
    (found,) = find(graph, [(0, 6)], 4)
    best = islice(networkx.shortest_simple_paths(known, 0, 6, weight="weight"), 4)
    lengths = [networkx.path_weight(known, path, "weight") for path in best]
    assert [graph.weigh(path) for path in found] == lengths
    assert len(set(found)) == len(found)
    for path in found:
        vertices = chain(graph, 0, path)
        assert vertices[-1] == 6
        assert len(set(vertices)) == len(vertices)


@pytest.mark.parametrize("find", FINDERS)
def test_a_pair_that_nothing_joins_has_no_path(find: FindPaths) -> None:
    graph = random_graph(5, 6, 0)
    cut = graph.among([0, 1, 2])
    assert find(cut, [(0, 4), (0, 0)]) == [(), ((),)]


@pytest.mark.parametrize("seed", SEEDS)
def test_chosen_paths_weigh_the_least_of_all_choices(seed: int) -> None:
    graph = random_graph(8, 14, seed, (1.0, 2.0, 3.0))
    pairs = [(0, end) for end in (3, 5, 6, 7)]
    paths = shortest_paths(graph, pairs, 3)
    tree = chosen_paths(graph, 0, paths)
    least = min(graph.weigh({edge for path in choice for edge in path}) for choice in product(*paths))
    assert graph.weigh(tree) == least
    assert graph.weigh(tree) <= graph.weigh(union_of_paths(graph, 0, paths))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_union_of_paths_is_a_tree_that_reaches_every_end(seed: int) -> None:
    graph = random_graph(10, 20, seed)
    ends = [2, 5, 7, 9]
    tree = union_of_paths(graph, 0, linear_paths(graph, [(0, end) for end in ends]))
    entered = [graph.target_list[edge] for edge in tree]
    assert len(set(entered)) == len(entered)
    assert set(ends) <= {0, *entered}
