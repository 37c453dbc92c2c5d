"""Divide and conquer, repair, shape."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.design.meshes import interests, random_interest

from regraft.design import MeshOptions, check, propose, repair
from regraft.design.check import cuts
from regraft.design.repair import Repaired, excess
from regraft.design.shape import degrees, topic_diameters
from regraft.model import Topology


@settings(max_examples=40)
@given(interests(14), st.integers(1, 4), st.integers(2, 6), st.sampled_from(["gm", "gm2", "greedy-k"]))
def test_parts_designed_alone_and_joined_pass_the_checker(
    interest: dict[str, frozenset[str]], k: int, part: int, method: str
) -> None:
    wanted = k if method == "greedy-k" else None
    mesh = propose(interest, method, MeshOptions(wanted, part=part, effort=0))  # raises if it does not
    assert isinstance(mesh, Topology)


def test_parts_cost_few_links_more() -> None:
    interest = random_interest(200, 30, 8)
    whole, parts = (propose(interest, "greedy-k", MeshOptions(2, part=size)) for size in (None, 50))
    assert isinstance(whole, Topology)
    assert isinstance(parts, Topology)
    assert len(parts.links) <= 1.25 * len(whole.links)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_repair_follows_nodes_and_subscriptions_with_few_changes(k: int) -> None:
    now = random_interest(60, 15, 5)
    mesh = propose(now, "greedy-k", MeshOptions(k))
    assert isinstance(mesh, Topology)
    reference = excess(mesh, now, k)
    for change in range(8):
        after = changed(now, change)
        step = repair(mesh, now, after, k, reference, drift=0.15)
        assert isinstance(step, Repaired)
        assert check(step.topology, after, k) is None
        assert step.excess <= 1.15 * reference or step.fresh or step.reference != reference
        assert step.fresh or len(step.added) + len(step.removed) < len(mesh.links) / 3
        mesh, now, reference = step.topology, after, step.reference


def changed(interest: dict[str, frozenset[str]], change: int) -> dict[str, frozenset[str]]:
    """Changes in turn: a node leaves, one joins, a subscription is added, one is removed."""
    topics = sorted(interest)
    name = sorted(interest[topics[change]])[0]
    if change % 4 == 0:
        return {topic: nodes - {name} for topic, nodes in interest.items()}
    if change % 4 == 1:
        return {
            topic: nodes | {f"new{change}"} if topic in topics[:4] else nodes
            for topic, nodes in interest.items()
        }
    if change % 4 == 2:
        return interest | {topics[0]: interest[topics[0]] | {name}}
    return interest | {topics[change]: interest[topics[change]] - {name}}


def test_a_drift_of_nothing_designs_afresh_when_that_helps() -> None:
    now = random_interest(50, 12, 5)
    ring = propose(now, "cycle", MeshOptions(faithful=True))
    assert isinstance(ring, Topology)
    step = repair(ring, now, changed(now, 0), 2, reference=1.0, drift=0.0)
    assert isinstance(step, Repaired)
    assert step.fresh
    assert check(step.topology, changed(now, 0), 2) is None


def test_topic_diameters_and_degrees() -> None:
    path = Topology.of([("a", "b"), ("b", "c"), ("c", "d")], kind="mesh")
    interest = {"all": ["a", "b", "c", "d"], "ends": ["a", "d"], "one": ["a"], "near": ["a", "b"]}
    assert topic_diameters(path, interest) == {"all": 3, "ends": None, "one": 0, "near": 1}
    assert (degrees(path).average, degrees(path).most) == (1.5, 2)


def test_topics_that_the_same_nodes_want_are_one_for_the_designer() -> None:
    nodes = frozenset(f"v{number}" for number in range(30))
    once = {"a": nodes, "b": frozenset(sorted(nodes)[:12])}
    often = once | {f"c{number}": nodes for number in range(20)}
    one, other = (propose(interest, "greedy-k", MeshOptions(4)) for interest in (once, often))
    assert isinstance(one, Topology)
    assert isinstance(other, Topology)
    assert one.by_ends.keys() == other.by_ends.keys()


def test_every_topic_of_a_weak_set_of_nodes_is_reported() -> None:
    mesh = Topology.of([("a", "b"), ("b", "c")], kind="mesh")
    found = list(cuts(mesh, {"t1": "abc", "t2": "cab", "t3": "ab"}, 2))
    assert [(cut.topic, cut.cut) for cut in found] == [("t1", ("b",)), ("t2", ("b",))]
