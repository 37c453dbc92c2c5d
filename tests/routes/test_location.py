"""Facility location: the tables and the integer program find what trying every place finds."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.routes.location import locate


def distances(size: int, seed: int) -> np.ndarray:
    """The distances of a network whose edges have other weights in the opposite direction."""
    draw = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(size, 0.5, seed=seed, directed=True)
    nx.add_cycle(graph, range(size))
    for _, _, edge in graph.edges(data=True):
        edge["weight"] = int(draw.integers(1, 5))
    return np.asarray(nx.floyd_warshall_numpy(graph, nodelist=range(size)))


def cost(
    places: tuple[int, ...], distance: np.ndarray, old: np.ndarray, w: np.ndarray, v: np.ndarray
) -> float:
    """(5.66) as it is printed, each direction of a pair with its own weight."""
    between = sum(v[j, k] * distance[places[j], places[k]] for j, k in np.ndindex(v.shape))
    return float(between + sum(w[j, i] * distance[places[j], old[i]] for j, i in np.ndindex(w.shape)))


def least(distance: np.ndarray, old: np.ndarray, w: np.ndarray, v: np.ndarray) -> float:
    every = product(range(len(distance)), repeat=len(w))
    return min(cost(places, distance, old, w, v) for places in every)


weights = st.integers(0, 5)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 99), st.integers(1, 3), st.data())
def test_a_chain_of_facilities_is_placed_best(seed: int, count: int, data: st.DataObject) -> None:
    distance, old = distances(6, seed), np.array([0, 2, 5])
    w = np.array([[data.draw(weights) for _ in old] for _ in range(count)], dtype=float)
    v = np.zeros((count, count))
    for j in range(count - 1):
        v[j, j + 1], v[j + 1, j] = data.draw(weights), data.draw(weights)
    found = locate(distance, old, w, v)
    assert found.optimal
    assert found.cost == pytest.approx(cost(found.places, distance, old, w, v))
    assert found.cost == pytest.approx(least(distance, old, w, v))


@pytest.mark.parametrize("seed", range(4))
def test_facilities_that_all_exchange_are_placed_best(seed: int) -> None:
    draw = np.random.default_rng(seed)
    distance, old = distances(5, seed), np.array([0, 1, 3, 4])
    w, v = draw.integers(0, 4, (3, 4)).astype(float), draw.integers(1, 4, (3, 3)).astype(float)
    np.fill_diagonal(v, 0.0)
    found = locate(distance, old, w, v)
    assert found.optimal
    assert found.cost == pytest.approx(least(distance, old, w, v))


def test_without_time_there_is_still_a_place_for_each() -> None:
    distance, old = distances(6, 1), np.array([0, 5])
    found = locate(distance, old, np.ones((3, 2)), np.triu(np.ones((3, 3)), 1), seconds=0.0)
    assert len(found.places) == 3
    assert found.cost >= least(distance, old, np.ones((3, 2)), np.triu(np.ones((3, 3)), 1)) - 1e-9


def test_what_comes_from_existing_facilities_counts_in_its_own_direction() -> None:
    one_way = np.array([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [1.0, 2.0, 0.0]])  # round 0 → 1 → 2 → 0
    old, nothing, v = np.array([0, 2]), np.zeros((1, 2)), np.zeros((1, 1))
    coming, going = np.array([[3.0, 0.0]]), np.array([[0.0, 2.0]])
    found = locate(one_way, old, going, v, coming)
    assert found.places == (0,)  # to stay at 0 costs 2 · 2 to reach 2; at 2 it would cost 3 · 2 to get there
    assert locate(one_way, old, nothing, v, coming + going).places == (0,)
    assert locate(one_way, old, 2 * going, v, coming).places == (2,)
