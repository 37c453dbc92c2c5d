"""The checker agrees with networkx, and its certificates cut."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.design.check import check, cuts
from regraft.model import Topology
from regraft.testing.mesh_oracles import build_harary, is_k_topic_connected


@st.composite
def graphs(draw: st.DrawFn) -> Topology:
    names = [f"n{number:02}" for number in range(draw(st.integers(1, 9)))]
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    return Topology.of(draw(st.sets(st.sampled_from(pairs))) if pairs else [], names, "mesh")


@given(graphs(), st.integers(1, 5))
def test_it_says_what_networkx_says(topology: Topology, k: int) -> None:
    interest = {"t": frozenset(topology.ids)}
    assert (check(topology, interest, k) is None) == is_k_topic_connected(list(topology.by_ends), interest, k)


@given(graphs(), st.integers(1, 5))
def test_the_certificate_names_fewer_than_k_nodes_that_cut_the_topic(topology: Topology, k: int) -> None:
    for found in cuts(topology, {"t": topology.ids}, k):
        assert len(found.cut) < k
        graph = nx.Graph()
        graph.add_nodes_from(topology.ids)
        graph.add_edges_from(topology.by_ends)
        graph.remove_nodes_from(found.cut)
        side = nx.node_connected_component(graph, found.one_side[0])
        assert side == set(found.one_side)
        assert len(side) < graph.number_of_nodes()


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("n", [8, 9, 15, 16])
def test_harary_graphs_are_k_connected_and_lose_it_with_any_link(k: int, n: int) -> None:
    names = [f"n{number:02}" for number in range(n)]
    links = [(names[i], names[j]) for i, j in build_harary(k, n)]
    assert check(Topology.of(links, names, "mesh"), {"t": names}, k) is None
    weaker = Topology.of(links[1:], names, "mesh")
    assert (check(weaker, {"t": names}, k) is None) == (k % 2 == 1 and n % 2 == 1 and _spare(links, names, k))


def _spare(links: list[tuple[str, str]], names: list[str], k: int) -> bool:
    return is_k_topic_connected(links[1:], {"t": frozenset(names)}, k)


def test_only_links_between_interested_nodes_count() -> None:
    star = Topology.of([("hub", "a"), ("hub", "b")], kind="mesh")
    assert check(star, {"t": ["a", "b"], "u": ["a", "hub"]}, 1) is not None
    assert check(star, {"u": ["a", "hub"], "v": ["b", "hub"]}, 1) is None


def test_a_topic_of_at_most_k_nodes_must_be_a_clique() -> None:
    path = Topology.of([("a", "b"), ("b", "c")], kind="mesh")
    found = check(path, {"t": ["a", "b", "c"]}, 3)
    assert found is not None
    assert (found.topic, found.cut) == ("t", ("b",))
    triangle = Topology.of([("a", "b"), ("b", "c"), ("a", "c")], kind="mesh")
    assert check(triangle, {"t": ["a", "b", "c"]}, 3) is None


def test_a_node_that_is_no_broker_is_cut_off() -> None:
    found = check(Topology.of([("a", "b")], kind="mesh"), {"t": ["a", "b", "c"]}, 1)
    assert found is not None
    assert "nothing joins" in str(found)
