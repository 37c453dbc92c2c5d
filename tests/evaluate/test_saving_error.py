"""How far off a saving may be: against the subtree of each class, and against what samples really give."""

from math import sqrt
from random import Random
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluate.oracle import random_classes, random_tree, subtree

from regraft.evaluate import assess, saving_error
from regraft.model import Topology
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload

CHAIN = Topology.of([("a", "b"), ("b", "c"), ("c", "d")])
STAR = Topology.of([("a", "b"), ("a", "c"), ("a", "d")])


def message_cost(topology: Topology, members: frozenset[str]) -> float:
    graph = subtree(topology, members)
    links = sum(cost for _, _, cost in graph.edges(data="cost"))
    return float(2 * links + 3 * sum(cost for _, cost in graph.nodes(data="cost")))


@given(st.integers(1, 30), st.randoms(use_true_random=False))
def test_a_class_counts_by_the_square_of_what_its_messages_save(size: int, random: Random) -> None:
    one, other = random_tree(size, random), random_tree(size, random)
    classes = random_classes(one, 8, random)
    variances = {each.members: float(random.randint(1, 50)) for each in classes[:6]}
    wanted = sum(
        (message_cost(one, members) - message_cost(other, members)) ** 2 * variance
        for members, variance in variances.items()
    )
    found = saving_error(one, other, Workload(classes, variances=variances), alpha=2, beta=3)
    assert found == pytest.approx(sqrt(wanted))


def test_what_samples_say_is_saved_spreads_by_the_error() -> None:
    demands = {"ab": 4000, "ad": 3000, "bcd": 2000, "cd": 1000}
    chance, one_in, savings = Random(1), 20, []
    for _ in range(400):
        recorded = {
            name: sum(chance.random() < 1 / one_in for _ in range(count)) for name, count in demands.items()
        }
        traffic = tuple(TrafficClass(frozenset(name), one_in * count) for name, count in recorded.items())
        costs = [
            assess(each, Workload(traffic), ["routing-cost"]).numbers["routing_cost"]
            for each in (CHAIN, STAR)
        ]
        assert costs[0] is not None
        assert costs[1] is not None
        savings.append(costs[0] - costs[1])
    variances = {frozenset(name): float((one_in - 1) * count) for name, count in demands.items()}
    assert saving_error(CHAIN, STAR, Workload(variances=variances)) == pytest.approx(stdev(savings), rel=0.1)


def test_exact_traffic_and_meshes_have_no_error() -> None:
    exact = Workload((TrafficClass(frozenset("ad"), 5.0),))
    assert saving_error(CHAIN, STAR, exact) == 0
    ring = Topology.of([("a", "b"), ("b", "c"), ("a", "c")], kind="mesh")
    assert saving_error(ring, ring, Workload(variances={frozenset("ab"): 3.0})) == 0
