"""What links and brokers cost, from measured times."""

import itertools
import math
import random

from regraft.costs import Costs, RecentCosts, RoundTrips, round_trips
from regraft.costs.measured import BLOCK, BLOCKS
from regraft.model import Broker, Link, Topology


def trips(**times: float) -> RoundTrips:
    """Named by their ends: ab = 3.0."""
    return {(name[0], name[1]): time for name, time in times.items()}


def link(costs: Costs, one: str, other: str) -> Link:
    return costs.links([(one, other)])[one, other]


def row(one: str, other: str, microseconds: float | None) -> dict[str, object]:
    return {"from": one, "to": other, "round_trip": microseconds}


def test_the_least_round_trip_of_a_direction_counts_and_what_cannot_be_is_left_out() -> None:
    rows = [row("b", "a", 9000.0), row("a", "b", 7000.0), row("a", "c", None), row("a", "a", 5.0)]
    rows += [row("a", "b", 8000.0), row("a", "d", 1e15)]
    assert round_trips(rows) == {("a", "b"): 7.0, ("b", "a"): 9.0}


def test_a_broker_that_lies_makes_only_its_own_links_dearer() -> None:
    honest = {("a", "b"): 20.0, ("b", "c"): 20.0, ("c", "b"): 21.0, ("b", "a"): 20.0}
    costs = RecentCosts().take(honest | {("b", "c"): 0.001, ("a", "b"): 500.0})
    assert costs is not None
    assert costs.round_trips == {("a", "b"): 500.0, ("b", "c"): 21.0}


def test_a_link_costs_its_round_trip_relative_to_a_typical_one() -> None:
    costs = RecentCosts().take(trips(ab=10.0, bc=20.0, cd=40.0))
    assert costs is not None
    assert costs.typical_ms == 20.0
    assert link(costs, "a", "b") == Link(("a", "b"), latency_ms=5.0, cost=0.5)
    assert link(costs, "c", "d") == Link(("c", "d"), latency_ms=20.0, cost=2.0)
    assert link(costs, "a", "x") == Link(("a", "x")), "nothing is known of x"
    estimate = costs.known([("a", "d")])["a", "d"]
    assert estimate is not None
    assert 0 < estimate < 10 + 20 + 40 + 10


def test_differences_on_a_local_network_are_noise() -> None:
    costs = RecentCosts().take(trips(ab=0.03, bc=0.4, ac=0.9))
    assert costs is not None
    tree = Topology.of([("a", "b"), ("b", "c")])
    assert [link.cost for link in costs.annotated(tree).links] == [1.0, 1.0]
    assert costs.network(tree) is None, "all pairs cost the same"


def test_the_least_of_the_last_windows_counts_and_what_is_typical_stays() -> None:
    recent = RecentCosts()
    first = recent.take(trips(ab=10.0, bc=20.0, cd=30.0))
    later = recent.take(trips(ab=12.0, ad=80.0, bd=90.0))
    assert first is not None
    assert later is not None
    assert later.typical_ms == first.typical_ms == 20.0, "else costs of two windows could not be compared"
    assert later.round_trips[("a", "b")] == 10.0
    for _ in range(BLOCKS * BLOCK):
        later = recent.take(trips(ab=12.0))
    assert later is not None
    assert later.round_trips == {("a", "b"): 12.0}, "a way that has become longer is noticed in the end"
    assert RecentCosts().take({}) is None
    kept = RecentCosts(first.typical_ms).take(trips(ab=90.0))
    assert kept is not None
    assert link(kept, "a", "b").cost == 4.5, "a restart changes no cost"


def test_what_a_topology_states_itself_stays() -> None:
    stated = Topology(
        (Broker("a"), Broker("b", cost=7.0), Broker("c", host="h", port=1)),
        (Link(("a", "b"), cost=3.0), Link(("b", "c"))),
    )
    found = Costs({("a", "b"): 10.0, ("b", "c"): 40.0}, 10.0).annotated(stated)
    assert found.by_ends[("a", "b")] == Link(("a", "b"), cost=3.0)
    assert found.by_ends[("b", "c")] == Link(("b", "c"), latency_ms=20.0, cost=4.0)
    assert found.brokers == stated.brokers


def test_with_many_brokers_the_network_has_the_nearest_ones_of_each_and_its_tree() -> None:
    chance = random.Random(4)
    places = {f"b{number:02}": (chance.uniform(0, 90), chance.uniform(0, 90)) for number in range(30)}
    ids = sorted(places)
    far = {(a, b): 1 + math.dist(places[a], places[b]) for a, b in itertools.combinations(ids, 2)}
    costs = RecentCosts().take(far)
    assert costs is not None
    tree = Topology.of(itertools.pairwise(ids))
    network = costs.whole_network(tree, dense=10, nearest=3)
    expected = set(tree.by_ends)
    for id in ids:
        near = sorted((pair for pair in far if id in pair), key=lambda pair: far[pair])
        expected |= set(near[:3])
    assert set(network.by_ends) == expected
    assert network.kind == "mesh"


def test_a_large_network_of_which_few_brokers_are_known_has_their_links_and_its_tree() -> None:
    ids = [f"b{number:03}" for number in range(400)]
    tree = Topology.of(itertools.pairwise(ids))
    costs = RecentCosts().take({("b000", "b001"): 4.0, ("b001", "b300"): 40.0, ("b000", "b300"): 40.0})
    assert costs is not None
    network = costs.network(tree)
    assert network is not None
    assert set(network.by_ends) == {*tree.by_ends, ("b000", "b300"), ("b001", "b300")}
