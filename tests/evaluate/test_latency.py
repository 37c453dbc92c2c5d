"""Expected delivery latency against averaging over every publisher and subscriber."""

from itertools import permutations
from random import Random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluate.oracle import graph_of, random_classes, random_mesh, random_tree

from regraft.evaluate import assess
from regraft.model import Topology
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload


@given(st.integers(1, 25), st.randoms(use_true_random=False))
def test_in_a_tree_every_member_publishes_to_all_others(size: int, random: Random) -> None:
    topology = random_tree(size, random)
    classes = random_classes(topology, 6, random)
    ways = dict(nx.all_pairs_dijkstra_path_length(graph_of(topology), weight="latency"))
    total = deliveries = 0.0
    for members, demand in classes:
        for publisher, subscriber in permutations(members, 2):
            total += ways[publisher][subscriber] * demand / len(members)
            deliveries += demand / len(members)
    found = assess(topology, Workload(classes), ["latency"]).numbers["expected_latency_ms"]
    assert found == pytest.approx(total / deliveries if deliveries else 0)


@given(st.integers(1, 12), st.randoms(use_true_random=False))
def test_in_a_mesh_messages_stay_among_the_interested(size: int, random: Random) -> None:
    mesh = random_mesh(size, 0.8, random)
    interest = {
        f"t{number}": frozenset(random.sample(mesh.ids, random.randint(1, size))) for number in range(4)
    }
    ways = []
    joined = True
    for nodes in interest.values():
        graph = graph_of(mesh).subgraph(nodes)
        joined = joined and nx.is_connected(graph)
        for source, lengths in nx.all_pairs_dijkstra_path_length(graph, weight="latency"):
            ways += [length for target, length in lengths.items() if target != source]
    found = assess(mesh, Workload(interest=interest), ["latency"])
    if joined:
        assert found.numbers["expected_latency_ms"] == pytest.approx(sum(ways) / len(ways) if ways else 0)
    else:
        assert found.numbers["expected_latency_ms"] is None
        assert "not joined" in found.notes[0]


def test_a_link_without_latency_leaves_it_unsaid_and_says_so() -> None:
    chain = Topology.of([("a", "b"), ("b", "c")])
    found = assess(chain, Workload((TrafficClass(frozenset({"a", "c"}), 4),)), ["latency"])
    assert found.numbers == {"expected_latency_ms": None}
    assert found.notes == ("no expected latency: 2 of 2 links do not say theirs",)
