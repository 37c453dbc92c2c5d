"""What links and brokers cost, from measured times."""

import itertools
import math
import random

import pytest

from regraft.costs import Costs, MeasuredCosts, RecentCosts
from regraft.costs.measured import LEAST_MESSAGES, RECENT
from regraft.model import Broker, Link, Topology


def trips(**times: float) -> MeasuredCosts:
    """Named by their ends: ab = 3.0."""
    return MeasuredCosts({(name[0], name[1]): time for name, time in times.items()}, {})


def row(one: str, other: str, microseconds: float | None) -> dict[str, object]:
    return {"from": one, "to": other, "round_trip": microseconds}


def load(broker: str, cpu: float | None, messages: int) -> dict[str, object]:
    counts = {"publications": messages, "hops_in": 0, "hops_out": None, "deliveries": 0}
    return {"broker": broker, "cpu": cpu, **counts}


def test_rows_of_both_directions_are_one_pair_and_the_least_round_trip_counts() -> None:
    found = MeasuredCosts.of_rows(
        [row("b", "a", 9000.0), row("a", "b", 7000.0), row("a", "c", None), row("a", "a", 5.0)],
        [
            load("a", 2.0, 4000),
            load("a", 1.0, 2000),
            load("b", 9.0, LEAST_MESSAGES - 1),
            load("c", None, 9000),
        ],
    )
    assert found.round_trips == {("a", "b"): 7.0}
    assert found.processor == {"a": pytest.approx(500.0)}


def test_a_link_costs_its_round_trip_relative_to_a_typical_one() -> None:
    costs = RecentCosts().take(trips(ab=10.0, bc=20.0, cd=40.0))
    assert costs is not None
    assert costs.typical_ms == 20.0
    assert costs.link(("a", "b")) == Link(("a", "b"), latency_ms=5.0, cost=0.5)
    assert costs.link(("c", "d")) == Link(("c", "d"), latency_ms=20.0, cost=2.0)
    assert costs.link(("a", "x")) == Link(("a", "x")), "nothing is known of x"
    estimate = costs.round_trip(("a", "d"))
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
    for _ in range(RECENT):
        later = recent.take(trips(ab=12.0))
    assert later is not None
    assert later.round_trips == {("a", "b"): 12.0}, "a way that has become longer is noticed in the end"
    assert RecentCosts().take(MeasuredCosts({}, {"a": 3.0})) is None


@pytest.mark.parametrize(
    ("times", "expected"),
    [(1.0, 1.0), (1.15, 1.0), (1.3, math.sqrt(2)), (2.1, 2.0), (50.0, 4.0), (0.01, 0.25)],
)
def test_a_broker_costs_its_processor_time_in_steps(times: float, expected: float) -> None:
    processor = {"a": 20.0, "b": 20.0, "c": 20.0, "d": 20.0 * times, "e": 20.0}
    costs = Costs({("a", "b"): 5.0}, processor, 5.0)
    assert costs.broker_cost("d") == pytest.approx(expected)
    assert costs.broker_cost("never seen") == 1.0


def test_what_a_topology_states_itself_stays() -> None:
    stated = Topology(
        (Broker("a"), Broker("b", cost=7.0), Broker("c", host="h", port=1)),
        (Link(("a", "b"), cost=3.0), Link(("b", "c"))),
    )
    found = Costs({("a", "b"): 10.0, ("b", "c"): 40.0}, {"b": 1.0, "c": 16.0, "a": 4.0}, 10.0).annotated(
        stated
    )
    assert found.by_ends[("a", "b")] == Link(("a", "b"), cost=3.0)
    assert found.by_ends[("b", "c")] == Link(("b", "c"), latency_ms=20.0, cost=4.0)
    assert [each.cost for each in found.brokers] == [1.0, 7.0, 4.0]
    assert found.brokers[2].host == "h"


def test_with_many_brokers_the_network_has_the_nearest_ones_of_each_and_its_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("regraft.costs.costs.MOST_DENSE", 10)
    monkeypatch.setattr("regraft.costs.costs.NEAREST", 3)
    chance = random.Random(4)
    places = {f"b{number:02}": (chance.uniform(0, 90), chance.uniform(0, 90)) for number in range(30)}
    ids = sorted(places)
    far = {(a, b): 1 + math.dist(places[a], places[b]) for a, b in itertools.combinations(ids, 2)}
    costs = RecentCosts().take(MeasuredCosts(far, {}))
    assert costs is not None
    tree = Topology.of(itertools.pairwise(ids))
    network = costs.network(tree)
    assert network is not None
    expected = set(tree.by_ends)
    for id in ids:
        near = sorted((pair for pair in far if id in pair), key=lambda pair: far[pair])
        expected |= set(near[:3])
    assert set(network.by_ends) == expected
    assert network.kind == "mesh"
