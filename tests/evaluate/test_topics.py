"""Degrees, topic diameters and fault tolerance against networkx."""

from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluate.oracle import graph_of, random_mesh

from regraft.evaluate import assess
from regraft.model import BadInput, Topology
from regraft.model.k_connectivity import largest_k
from regraft.model.workload import Workload

RING = Topology.of([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")], kind="mesh")
TOPICS = {"all": frozenset("abcd"), "half": frozenset("abc"), "pair": frozenset("ab"), "one": frozenset("a")}


def test_a_ring_survives_one_failure_on_the_topic_of_all_and_none_on_a_path() -> None:
    found = assess(RING, Workload(interest=TOPICS), ["fault-tolerance"])
    assert found.parts["k"] == {"all": 2, "half": 1, "pair": None, "one": None}
    assert found.numbers["k"] == 1
    assert found.notes == ("every k holds for 2 of 4 topics: all their brokers are joined",)


def test_where_all_topics_are_cliques_every_k_holds() -> None:
    found = assess(RING, Workload(interest={"pair": frozenset("ab")}), ["fault-tolerance"])
    assert found.numbers["k"] is None


def test_topic_diameters_are_within_the_topic() -> None:
    found = assess(RING, Workload(interest=TOPICS), ["topic-diameter"])
    assert found.parts["topic_diameter"] == {"all": 2, "half": 2, "pair": 1, "one": 0}
    assert found.numbers == {"max_topic_diameter": 2, "average_topic_diameter": 1.25}


def test_a_topic_that_is_cut_has_no_diameter_and_holds_no_k() -> None:
    found = assess(RING, Workload(interest={"across": frozenset("ac")}))
    assert found.numbers["max_topic_diameter"] is None
    assert found.numbers["k"] == 0
    assert "no topic diameter: 1 of 1 topics are not connected" in found.notes


def test_degrees_of_a_ring() -> None:
    assert assess(RING, Workload(), ["degree"]).numbers == {"average_degree": 2, "max_degree": 2}


def test_a_node_that_is_no_broker_is_named() -> None:
    with pytest.raises(BadInput, match="interest in 't': unknown broker id 'x'"):
        assess(RING, Workload(interest={"t": frozenset("ax")}), ["topic-diameter"])


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(BadInput, match="unknown objective 'speed'"):
        assess(RING, Workload(), ["speed"])


@given(st.integers(1, 14), st.floats(0, 1), st.randoms(use_true_random=False))
def test_topics_of_random_meshes_agree_with_networkx(size: int, density: float, random: Random) -> None:
    mesh = random_mesh(size, density, random)
    interest = {
        f"t{number}": frozenset(random.sample(mesh.ids, random.randint(1, size))) for number in range(3)
    }
    found = assess(mesh, Workload(interest=interest), ["topic-diameter", "fault-tolerance"]).parts
    for topic, nodes in interest.items():
        graph = graph_of(mesh).subgraph(nodes)
        joined = nx.is_connected(graph)
        clique = graph.number_of_edges() == len(nodes) * (len(nodes) - 1) // 2
        assert found["topic_diameter"][topic] == (nx.diameter(graph) if joined else None)
        assert found["k"][topic] == (None if clique else nx.node_connectivity(graph))


@given(st.integers(2, 12), st.floats(0.2, 1), st.integers(0, 2**31), st.integers(1, 5))
def test_connectivity_is_counted_up_to_the_limit(size: int, density: float, seed: int, limit: int) -> None:
    graph = nx.gnp_random_graph(size, density, seed)
    pairs = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
    clique = len(pairs) == size * (size - 1) // 2
    assert largest_k(size, pairs, limit) == (None if clique else min(limit, nx.node_connectivity(graph)))
