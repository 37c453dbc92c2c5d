"""Designs against optima found by trying everything, and against the published algorithms' link counts."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.design.meshes import interests, random_interest

from regraft.design import MeshDesign, MeshOptions, design_mesh
from regraft.design.explain import explain, fewest_possible, links_needed
from regraft.design.improve import improve
from regraft.design.prune import prune
from regraft.testing.mesh_oracles import fewest_links, is_k_topic_connected


def designed(interest: dict[str, frozenset[str]], method: str, **options: object) -> MeshDesign:
    design = design_mesh(interest, method, MeshOptions(**options))  # type: ignore[arg-type]
    assert isinstance(design, MeshDesign)
    return design


@settings(max_examples=25)
@given(interests(5, 3))
def test_approximation_ratios_hold_and_no_design_beats_the_optimum(
    interest: dict[str, frozenset[str]],
) -> None:
    start = sum(map(len, interest.values()))
    largest = max(map(len, interest.values()))
    for k, method, ratio in ((1, "gm", 1 + log(start)), (2, "gm2", largest + log(start) + 1)):
        best = fewest_links(interest, k)
        faithful = len(designed(interest, method, faithful=True).links)
        improved = len(designed(interest, method).links)
        assert best <= improved <= faithful <= max(1, ratio * best)


@settings(max_examples=25)
@given(interests(5, 3), st.integers(1, 3))
def test_the_lower_bound_is_below_the_optimum(interest: dict[str, frozenset[str]], k: int) -> None:
    design = designed(interest, "greedy-k", k=k)
    assert fewest_possible(design.interests.matrix, k) <= fewest_links(interest, k) <= len(design.links)
    degree = np.bincount(design.links.ravel(), minlength=len(design.interests.nodes))
    assert (links_needed(design.interests.matrix, k) <= degree).all()


@settings(max_examples=25)
@given(interests(10), st.integers(1, 4))
def test_after_pruning_no_link_can_go(interest: dict[str, frozenset[str]], k: int) -> None:
    design = designed(interest, "harary", k=k, faithful=True)
    left = prune(design.interests.matrix, design.links, k, design.terms)
    links = [(design.interests.nodes[v], design.interests.nodes[w]) for v, w in left.tolist()]
    for place in range(len(links)):
        assert not is_k_topic_connected(links[:place] + links[place + 1 :], interest, k)
    assert (explain(design.interests.matrix, left, k).needed > 0).all()


@pytest.mark.parametrize(
    ("method", "k", "share"), [("gm2", 2, 0.9), ("greedy-k", 2, 0.85), ("greedy-k", 4, 0.6)]
)
def test_improved_designs_need_clearly_fewer_links(method: str, k: int, share: float) -> None:
    interest = random_interest(150, 40, 12)
    published = designed(interest, "gm2" if k == 2 else "harary", k=k, faithful=True)
    assert len(designed(interest, method, k=k).links) <= share * len(published.links)


def test_improving_never_adds_a_link() -> None:
    for seed in range(4):
        design = designed(random_interest(50, 12, 5, seed), "gm2", faithful=True)
        better = improve(design.interests.matrix, design.links, 2, design.terms, seed, 20)
        assert len(better) <= len(design.links)


def test_stages_tell_what_each_step_left() -> None:
    design = designed(random_interest(60, 15, 5), "gm2")
    counts = [stage.links for stage in design.stages]
    assert [stage.name for stage in design.stages] == ["gm2", "redundant links removed", "links exchanged"]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == len(design.links)


def test_a_better_sequence_gives_harary_graphs_fewer_links() -> None:
    interest = random_interest(150, 40, 12)
    similar = designed(interest, "harary", k=2, effort=0).stages[0].links
    assert similar < 0.9 * len(designed(interest, "harary", k=2, faithful=True).links)
