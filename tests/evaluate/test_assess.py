"""Assessments as a whole, and what makes two topologies differ."""

from regraft.evaluate import OBJECTIVES, assess, compare
from regraft.model import Topology
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload

CHAIN = Topology.of([("a", "b"), ("b", "c"), ("c", "d")])
STAR = Topology.of([("a", "b"), ("a", "c"), ("a", "d")])
FAR = TrafficClass(frozenset("ad"), 10)
NEAR = TrafficClass(frozenset("cd"), 3)
BOTH = TrafficClass(frozenset("ab"), 7)


def test_every_objective_has_its_say_and_the_topology_is_named() -> None:
    found = assess(CHAIN, Workload((FAR,), {"t": frozenset("ab")}))
    assert found.topology == CHAIN.sha256
    assert {"routing_cost", "max_degree", "max_link_load", "expected_latency_ms", "k"} <= set(found.numbers)
    assert len(OBJECTIVES) == 6


def test_without_traffic_or_interest_only_the_shape_is_judged() -> None:
    assert assess(CHAIN, Workload()).as_json() == {"average_degree": 1.5, "max_degree": 2}


def test_classes_that_gain_and_lose_are_listed_with_their_costs() -> None:
    found = compare(CHAIN, STAR, Workload((FAR, NEAR, BOTH)))
    assert [(each.members, each.before, each.after) for each in found.gains] == [(("a", "d"), 70, 30)]
    assert [(each.members, each.before, each.after) for each in found.losses] == [(("c", "d"), 9, 15)]
    assert (found.better, found.worse, found.same) == (1, 1, 1)
    assert found.differences()["routing_cost"] == -34 == sum(x.change for x in (*found.gains, *found.losses))


def test_only_the_classes_that_change_most_are_listed() -> None:
    more = tuple(TrafficClass(frozenset("ad"), demand) for demand in range(1, 30))
    found = compare(CHAIN, STAR, Workload(more), most=2)
    assert [each.demand for each in found.gains] == [29, 28]
    assert (found.losses, found.better) == ((), 29)


def test_meshes_are_compared_without_classes() -> None:
    ring = Topology.of([("a", "b"), ("b", "c"), ("a", "c")], kind="mesh")
    found = compare(CHAIN, ring, Workload((FAR,)), ["degree"])
    assert (found.gains, found.losses) == ((), ())
    assert found.differences() == {"average_degree": 0.5, "max_degree": 0}
