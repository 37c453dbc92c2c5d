"""Facility location: the tables and the integer program find what trying every place finds."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.routes.location import locate


def distances(size: int, seed: int) -> np.ndarray:
    graph = nx.gnp_random_graph(size, 0.5, seed=seed)
    nx.add_path(graph, range(size))
    return np.asarray(nx.floyd_warshall_numpy(graph, nodelist=range(size)))


def cost(
    places: tuple[int, ...], distance: np.ndarray, old: np.ndarray, w: np.ndarray, v: np.ndarray
) -> float:
    """(5.66) as it is printed."""
    between = sum(
        (v[j, k] + v[k, j]) * distance[places[j], places[k]] for k in range(len(places)) for j in range(k)
    )
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
        v[j, j + 1] = data.draw(weights)
    found = locate(distance, old, w, v)
    assert found.optimal
    assert found.cost == pytest.approx(cost(found.places, distance, old, w, v))
    assert found.cost == pytest.approx(least(distance, old, w, v))


@pytest.mark.parametrize("seed", range(4))
def test_facilities_that_all_exchange_are_placed_best(seed: int) -> None:
    draw = np.random.default_rng(seed)
    distance, old = distances(5, seed), np.array([0, 1, 3, 4])
    w, v = draw.integers(0, 4, (3, 4)).astype(float), np.triu(draw.integers(1, 4, (3, 3)), 1).astype(float)
    found = locate(distance, old, w, v)
    assert found.optimal
    assert found.cost == pytest.approx(least(distance, old, w, v))


def test_without_time_there_is_still_a_place_for_each() -> None:
    distance, old = distances(6, 1), np.array([0, 5])
    found = locate(distance, old, np.ones((3, 2)), np.triu(np.ones((3, 3)), 1), seconds=0.0)
    assert len(found.places) == 3
    assert found.cost >= least(distance, old, np.ones((3, 2)), np.triu(np.ones((3, 3)), 1)) - 1e-9
