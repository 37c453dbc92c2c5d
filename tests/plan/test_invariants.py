"""The invariants of meshes agree with the definition of k-topic-connectivity, broken down to removals."""

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.model import Ends
from regraft.plan.invariants import connected, k_topic_connected

BROKERS = "abcdef"
ALL = list(combinations(BROKERS, 2))
RING = frozenset({("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")})

meshes = st.sets(st.sampled_from(ALL)).map(frozenset)


@given(
    links=meshes,
    k=st.integers(1, 3),
    interest=st.dictionaries(st.sampled_from("tuv"), st.frozensets(st.sampled_from(BROKERS))),
)
def test_each_topic_survives_fewer_than_k_failures(
    links: frozenset[Ends], k: int, interest: dict[str, frozenset[str]]
) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(BROKERS)
    graph.add_edges_from(links)

    def survives(interested: frozenset[str]) -> bool:
        """Any fewer than k of them may fail; what is left is connected."""
        return all(
            len(left) <= 1 or nx.is_connected(graph.subgraph(left))
            for gone in range(k)
            for left in combinations(sorted(interested), max(0, len(interested) - gone))
        )

    expected = all(survives(interested) for interested in interest.values())
    assert k_topic_connected(interest, k, BROKERS)(links) == expected


@given(links=meshes)
def test_connected_means_that_all_reach_all(links: frozenset[Ends]) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(BROKERS)
    graph.add_edges_from(links)
    assert connected(BROKERS)(links) == nx.is_connected(graph)


@pytest.mark.parametrize(("k", "expected"), [(1, True), (2, True), (3, False)])
def test_a_ring_is_two_connected(k: int, expected: bool) -> None:
    assert k_topic_connected({"t": frozenset("abcd")}, k, "abcd")(RING) is expected


def test_a_broker_that_joins_counts_once_it_has_a_link() -> None:
    keeps = k_topic_connected({"t": frozenset("abcdz")}, 2, "abcd")
    assert keeps(RING)
    assert not keeps(RING | {("a", "z")})
    assert keeps(RING | {("a", "z"), ("b", "z")})
    assert connected("abcd")(RING | {("a", "z")})
    assert not connected("abcdz")(RING)
