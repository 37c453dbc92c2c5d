"""Loads of links and brokers against counting the subtrees that have them."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.evaluate.oracle import random_classes, random_tree, subtree

from regraft.evaluate import assess
from regraft.model import Topology
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload


def test_a_chain_whose_ends_talk_is_perfectly_balanced() -> None:
    chain = Topology.of([("a", "b"), ("b", "c")])
    found = assess(chain, Workload((TrafficClass(frozenset({"a", "c"}), 4),)), ["load"])
    assert found.parts["link_load"] == {"a-b": 4, "b-c": 4}
    assert found.parts["broker_load"] == {"a": 4, "b": 4, "c": 4}
    assert found.numbers["link_load_balance"] == found.numbers["broker_load_balance"] == 1


def test_balance_is_the_average_over_the_largest() -> None:
    chain = Topology.of([("a", "b"), ("b", "c")])
    found = assess(chain, Workload((TrafficClass(frozenset({"a", "b"}), 4),)), ["load"]).numbers
    assert (found["average_link_load"], found["max_link_load"], found["link_load_balance"]) == (2, 4, 0.5)


def test_no_demand_is_balanced() -> None:
    chain = Topology.of([("a", "b")])
    found = assess(chain, Workload((TrafficClass(frozenset({"a", "b"}), 0),)), ["load"])
    assert found.numbers["link_load_balance"] == 1


@given(st.integers(1, 30), st.randoms(use_true_random=False))
def test_loads_are_the_demand_of_the_subtrees_that_have_the_link_or_broker(size: int, random: Random) -> None:
    topology = random_tree(size, random)
    classes = random_classes(topology, 10, random)
    links: Counter[str] = Counter()
    brokers: Counter[str] = Counter()
    for each in classes:
        graph = subtree(topology, each.members)
        for pair in graph.edges:
            links["-".join(sorted(pair))] += int(each.demand)
        for broker in graph:
            brokers[broker] += int(each.demand)
    found = assess(topology, Workload(classes), ["load"]).parts
    assert found["link_load"] == {"-".join(link.ends): links["-".join(link.ends)] for link in topology.links}
    assert found["broker_load"] == {id: brokers[id] for id in topology.ids}
