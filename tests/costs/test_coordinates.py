"""Estimated round trips against networks whose round trips are known."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from regraft.costs.coordinates import Floats, fitted
from regraft.model import Topology
from regraft.model.topology_files import read_topology
from regraft.serve.network_facts import NetworkFacts

ZOO = Path(__file__).parents[1] / "data" / "topology_zoo"
PROBES = 8


def sample(count: int, draw: np.random.Generator) -> list[tuple[int, int]]:
    """Each node is measured against the next one and a few others."""
    pairs = {(node, node + 1) for node in range(count - 1)}
    for node in range(count):
        for other in draw.choice(count, PROBES, replace=False).tolist():
            if other != node:
                pairs.add((min(node, other), max(node, other)))
    return sorted(pairs)


def errors(truth: Floats, noise: float, seed: int) -> tuple[float, float]:
    """The median relative error of the pairs that were not measured: estimated, and guessed to be typical."""
    draw = np.random.default_rng(seed)
    count = len(truth)
    known = sample(count, draw)
    one, other = np.array(known).T
    times = truth[one, other] * draw.uniform(1, 1 + noise, len(known))
    found = fitted(count, one, other, times)
    hidden = np.array(sorted(set(itertools.combinations(range(count), 2)) - set(known))).T
    real = truth[hidden[0], hidden[1]]
    estimated = np.abs(found.between(hidden[0], hidden[1]) - real) / real
    guessed = np.abs(np.median(times) - real) / real
    return float(np.median(estimated)), float(np.median(guessed))


@pytest.mark.parametrize("seed", range(5))
def test_places_on_a_plane_with_ways_to_the_core_are_found_again(seed: int) -> None:
    draw = np.random.default_rng(100 + seed)
    places, heights = draw.uniform(0, 80, (40, 2)), draw.uniform(0, 10, 40)
    truth = np.linalg.norm(places[:, None] - places[None], axis=2) + heights[:, None] + heights[None]
    exact, guessed = errors(truth, 0.0, seed)
    assert exact < 0.02
    assert guessed > 0.2
    assert errors(truth, 0.1, seed)[0] < 0.1


@pytest.mark.parametrize("name", ["Belnet2009", "Bics", "Geant2012", "VisionNet"])
def test_in_real_networks_the_estimate_is_nearer_than_a_typical_round_trip(name: str) -> None:
    """Shortest ways along the cables of a carrier, which no place in space explains wholly."""
    network = read_topology(ZOO / f"{name}.graphml")
    placed = [each.id for each in network.brokers if each.latitude is not None and each.longitude is not None]
    lines = Topology.of([pair for pair in network.by_ends if set(pair) <= set(placed)], placed, "mesh")
    truth = ways(NetworkFacts(Topology(network.brokers, (), "mesh")).annotated(lines))
    connected = np.isfinite(truth[0])
    truth = truth[connected][:, connected]
    assert len(truth) > 15
    estimated, guessed = errors(truth, 0.05, 1)
    assert estimated < 0.6 * guessed


def ways(network: Topology) -> Floats:
    """The round trip of any two along the shortest way (Floyd and Warshall), and a fifth of a millisecond."""
    number = {id: place for place, id in enumerate(network.ids)}
    found = np.full((len(number), len(number)), np.inf)
    np.fill_diagonal(found, 0.0)
    for link in network.links:
        one, other = (number[id] for id in link.ends)
        found[one, other] = found[other, one] = 2 * (link.latency_ms or 0.0) + 0.2
    for between in range(len(number)):
        found = np.minimum(found, found[:, between, None] + found[None, between, :])
    return found
