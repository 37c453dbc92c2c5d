"""The fast algorithms are the published ones, and every designer's output passes the independent checker."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.design.meshes import by_name, interests, random_interest

from regraft.design import METHODS, MeshDesign, MeshOptions, check, design_mesh, propose
from regraft.design.gm import gm
from regraft.design.gm2 import gm2
from regraft.design.harary import build_harary, harary
from regraft.design.matrix import Interests
from regraft.design.mesh import FIXED_K
from regraft.design.terms import Terms
from regraft.model import BadInput, Infeasible, Topology
from regraft.testing import mesh_oracles


@settings(max_examples=60)
@given(interests(), st.integers(0, 99))
def test_gm_and_gm2_choose_link_by_link_what_the_pseudocode_chooses(
    interest: dict[str, frozenset[str]], seed: int
) -> None:
    numbered = Interests.of(interest, seed=seed)
    terms = Terms(len(numbered.nodes))
    assert by_name(numbered, gm(numbered.matrix, terms)) == mesh_oracles.plain_gm(numbered.nodes, interest)
    assert by_name(numbered, gm2(numbered.matrix, terms)) == mesh_oracles.plain_gm2(numbered.nodes, interest)


@pytest.mark.parametrize("seed", range(3))
def test_gm2_is_the_pseudocode_where_blocks_merge_over_long_paths(seed: int) -> None:
    interest = random_interest(26, 4, 2, seed)
    numbered = Interests.of(interest, seed=seed)
    chosen = by_name(numbered, gm2(numbered.matrix, Terms(len(numbered.nodes))))
    assert chosen == mesh_oracles.plain_gm2(numbered.nodes, interest)


@given(interests(), st.integers(1, 6))
def test_harary_is_alg_2_over_the_sequence_given(interest: dict[str, frozenset[str]], k: int) -> None:
    numbered = Interests.of(interest)
    sequence = np.arange(len(numbered.nodes))[::-1].copy()
    links = {frozenset(link) for link in by_name(numbered, harary(numbered.matrix, k, sequence))}
    plain = mesh_oracles.plain_harary([numbered.nodes[v] for v in sequence], interest, k)
    assert links == plain or k % 2  # for odd k either way round the circle is a Harary graph


@pytest.mark.parametrize("k", range(1, 8))
def test_a_harary_graph_has_the_fewest_links(k: int) -> None:
    for n in range(k + 2, 20):
        assert len(np.unique(np.sort(build_harary(k, n), axis=1), axis=0)) == (
            -(-k * n // 2) if k > 1 else n - 1
        )


@settings(max_examples=40)
@given(interests(14), st.sampled_from(METHODS), st.integers(1, 5), st.booleans(), st.integers(0, 5))
def test_every_designer_passes_the_checker(
    interest: dict[str, frozenset[str]], method: str, k: int, faithful: bool, seed: int
) -> None:
    wanted = None if method in FIXED_K else k
    design = design_mesh(interest, method, MeshOptions(wanted, seed=seed, faithful=faithful))
    assert isinstance(design, MeshDesign)
    topology = design.topology
    assert check(topology, interest, design.k) is None
    assert mesh_oracles.is_k_topic_connected(list(topology.by_ends), interest, design.k)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_mesh(method: str) -> None:
    interest = random_interest(40, 12, 5)
    one, other = (propose(interest, method, MeshOptions(seed=3)) for _ in range(2))
    assert isinstance(one, Topology)
    assert isinstance(other, Topology)
    assert one.sha256 == other.sha256


def test_small_topics_become_cliques_and_lone_nodes_get_no_link() -> None:
    mesh = propose({"t": ["a", "b", "c"], "alone": ["d"]}, "greedy-k", MeshOptions(5))
    assert isinstance(mesh, Topology)
    assert mesh.by_ends.keys() == {("a", "b"), ("a", "c"), ("b", "c")}
    assert mesh.neighbours["d"] == frozenset()


@pytest.mark.parametrize("method", ["gm2", "harary", "cycle", "greedy-k"])
def test_no_node_has_more_links_than_allowed(method: str) -> None:
    interest = random_interest(60, 15, 5)
    free, limited = (propose(interest, method, MeshOptions(2, max_degree=most)) for most in (None, 7))
    assert isinstance(free, Topology)
    assert isinstance(limited, Topology)
    assert max(map(len, limited.neighbours.values())) <= 7


def test_a_limit_that_no_mesh_keeps_is_a_no_with_the_limit() -> None:
    answer = propose(random_interest(30, 8, 4), "greedy-k", MeshOptions(2, max_degree=1))
    assert isinstance(answer, Infeasible)
    assert (answer.limit, answer.proven) == ("max-degree", True)


def test_latencies_make_a_cheaper_mesh() -> None:
    interest = random_interest(40, 8, 4)
    names = sorted(frozenset().union(*interest.values()))
    # Two sites far from each other, everybody near to its own site's first node.
    latency = {(names[0], name): 1.0 for name in names[1:20]}
    latency |= {(names[20], name): 1.0 for name in names[21:]} | {(names[0], names[20]): 200.0}
    costs = []
    for known in ({}, latency):
        mesh = propose(interest, "greedy-k", MeshOptions(2, latency=known))
        assert isinstance(mesh, Topology)
        far = sum((one < names[20]) != (other < names[20]) for one, other in mesh.by_ends)
        costs.append(far)
    assert costs[1] < costs[0] / 2


@pytest.mark.parametrize(
    ("interest", "method", "k", "says"),
    [
        ({}, "gm", None, "is empty"),
        ({"t": ["a"]}, "harary", 0, "at least 1"),
        ({"t": ["a"]}, "gm2", 3, "gm2 designs for k = 2"),
        ({"t": ["a"]}, "star", None, "unknown method"),
    ],
)
def test_bad_input_is_refused_with_the_rule(
    interest: dict[str, list[str]], method: str, k: int, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        propose(interest, method, MeshOptions(k))


def test_a_network_that_does_not_know_a_node_is_refused() -> None:
    with pytest.raises(BadInput, match="'c' of the interest"):
        propose({"t": ["a", "b", "c"]}, "gm", MeshOptions(latency={("a", "b"): 1.0}))
