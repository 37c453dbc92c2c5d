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
from regraft.protocol.sampling import sample

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
    found = saving_error(one, other, Workload(classes, variances=variances), 1e12, alpha=2, beta=3)
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
    found = saving_error(CHAIN, STAR, Workload(variances=variances), one_in)
    assert found == pytest.approx(stdev(savings), rel=0.1)


@pytest.mark.parametrize("one_in", [2, 4, 12])
def test_it_is_not_too_small_where_what_one_class_loses_another_one_gains(one_in: int) -> None:
    """The publications of one publisher go to both classes in turn: of a pair, one is recorded."""
    near, far, count = frozenset("bc"), frozenset("ad"), 400 * one_in
    price = {name: message_cost(CHAIN, name) - message_cost(STAR, name) for name in (near, far)}
    assert price[near] * price[far] < 0
    savings = []
    for run in range(400):
        recorded = [(near, far)[place % 2] for place in sample(one_in)(f"p{run}", range(count))]
        savings.append(one_in * sum(price[name] for name in recorded))
    variances = dict.fromkeys((near, far), (one_in - 1) * count / 2)
    found = saving_error(CHAIN, STAR, Workload(variances=variances), one_in, alpha=2, beta=3)
    assert stdev(savings) < 1.1 * found


def test_exact_traffic_and_meshes_have_no_error() -> None:
    exact = Workload((TrafficClass(frozenset("ad"), 5.0),))
    assert saving_error(CHAIN, STAR, exact, 1) == 0
    ring = Topology.of([("a", "b"), ("b", "c"), ("a", "c")], kind="mesh")
    assert saving_error(ring, ring, Workload(variances={frozenset("ab"): 3.0}), 2) == 0
