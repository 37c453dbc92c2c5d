"""Routing cost (OCBR (1)) against the subtree of each class, spanned by brute force."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluate.oracle import random_classes, random_tree, subtree

from regraft.evaluate import assess
from regraft.evaluate.case import Case
from regraft.evaluate.routing_cost import class_costs
from regraft.model import BadInput, Broker, Link, Topology
from regraft.model.spans import Spans
from regraft.model.traffic import TrafficClass
from regraft.model.tree_index import TreeIndex
from regraft.model.workload import Workload

CHAIN = Topology(
    (Broker("a", cost=1), Broker("b", cost=2), Broker("c", cost=3), Broker("d", cost=4)),
    (Link(("a", "b"), cost=10), Link(("b", "c"), cost=20), Link(("b", "d"), cost=40)),
)


def cost(topology: Topology, *classes: TrafficClass, alpha: float = 1, beta: float = 1) -> dict[str, float]:
    found = assess(topology, Workload(classes), ["routing-cost"], alpha, beta)
    return {name: number for name, number in found.numbers.items() if number is not None}


def test_the_cost_is_the_papers_sum_over_links_and_brokers() -> None:
    two = TrafficClass(frozenset({"a", "c"}), 5)
    three = TrafficClass(frozenset({"a", "c", "d"}), 2)
    assert cost(CHAIN, two) == {"routing_cost": 180, "link_cost": 150, "broker_cost": 30}
    assert cost(CHAIN, two, three) == {"routing_cost": 340, "link_cost": 290, "broker_cost": 50}


def test_alpha_and_beta_weigh_links_against_brokers() -> None:
    two = TrafficClass(frozenset({"a", "c"}), 5)
    assert cost(CHAIN, two, alpha=0)["routing_cost"] == 30
    assert cost(CHAIN, two, alpha=2, beta=0.5)["routing_cost"] == 315


def test_a_class_at_one_broker_costs_that_broker_only() -> None:
    one = TrafficClass(frozenset({"d"}), 3)
    assert cost(CHAIN, one) == {"routing_cost": 12, "link_cost": 0, "broker_cost": 12}


def test_a_single_broker_is_a_tree_too() -> None:
    alone = Topology.of([], ["a"])
    assert cost(alone, TrafficClass(frozenset({"a"}), 3))["routing_cost"] == 3


def test_a_member_that_is_no_broker_is_named() -> None:
    classes = (TrafficClass(frozenset({"a"}), 1), TrafficClass(frozenset({"a", "x"}), 1))
    with pytest.raises(BadInput, match=r"classes\[1\].members: unknown broker id 'x'"):
        cost(CHAIN, *classes)


def test_a_mesh_has_no_routing_cost() -> None:
    mesh = Topology.of([("a", "b"), ("b", "c"), ("a", "c")], kind="mesh")
    assert cost(mesh, TrafficClass(frozenset({"a", "b"}), 1)) == {}
    with pytest.raises(BadInput, match="a tree is needed"):
        TreeIndex.of(mesh)


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_every_class_costs_what_its_subtree_costs(size: int, random: Random) -> None:
    topology = random_tree(size, random)
    classes = random_classes(topology, 8, random)
    case = Case(topology, Workload(classes), alpha=2, beta=3)
    wanted = []
    for each in classes:
        graph = subtree(topology, each.members)
        links = sum(cost for _, _, cost in graph.edges(data="cost"))
        brokers = sum(cost for _, cost in graph.nodes(data="cost"))
        wanted.append((2 * links + 3 * brokers) * each.demand)
    assert class_costs(case).tolist() == wanted
    assert assess(topology, case.workload, ["routing-cost"], 2, 3).numbers["routing_cost"] == sum(wanted)


@given(st.integers(2, 60), st.randoms(use_true_random=False))
def test_ancestors_are_those_of_the_paths_to_the_root(size: int, random: Random) -> None:
    import numpy as np

    index = TreeIndex.of(random_tree(size, random))
    pairs = np.sort([[random.randrange(size), random.randrange(size)] for _ in range(20)], axis=1)
    for (one, other), found in zip(pairs, index.ancestors(pairs[:, 0], pairs[:, 1]), strict=True):
        ways = []
        for place in (int(one), int(other)):
            way = [place]
            while way[-1]:
                way.append(int(index.parent[way[-1]]))
            ways.append(way)
        assert found == next(place for place in ways[0] if place in ways[1])


def test_a_member_may_stand_twice_in_packed_classes() -> None:
    import numpy as np

    index = TreeIndex.of(CHAIN)
    members = np.array([index.position[id] for id in ("c", "a", "c")])
    spans = Spans.packed(index, members, np.array([3]), np.array([1.0]))
    assert spans.weights(index.link_costs(CHAIN)).tolist() == [30]
