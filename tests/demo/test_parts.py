"""The demo's network and traffic are what their sources say; the tally finds every kind of flaw."""

import pytest

from regraft.demo.demands import Workload, classes, demands, filter_of, workload
from regraft.demo.network import RELAY, SMALL, hub_tree, latencies, network, reachable
from regraft.demo.story import period, quantile
from regraft.demo.tally import Counts, Tally
from regraft.filters import parse
from regraft.model import ends
from regraft.model.traffic import TrafficClass


def test_the_network_is_24_cities_with_the_latencies_of_their_lines() -> None:
    net = network()
    assert (len(net.ids), len(net.links), net.kind) == (24, 32, "mesh")
    assert set(net.ids) == {*demands(), RELAY}
    # 344 km along the great circle, and 200 km of fibre in a millisecond.
    line = net.by_ends[ends("London", "Paris")]
    assert line.latency_ms == pytest.approx(1.72, abs=0.05)
    assert line.cost == line.latency_ms


@pytest.mark.parametrize("cities", [(), SMALL], ids=["all", "small"])
def test_the_first_tree_spans_the_network_over_its_lines(cities: tuple[str, ...]) -> None:
    net = network(cities)
    tree = hub_tree(net)
    assert set(tree.ids) == set(net.ids)
    assert len(tree.links) == len(net.ids) - 1
    assert set(tree.by_ends) <= set(net.by_ends)


def test_every_two_brokers_have_a_latency_that_is_a_shortest_way() -> None:
    nx = pytest.importorskip("networkx")
    net = network()
    graph = nx.Graph()
    graph.add_weighted_edges_from((*link.ends, link.latency_ms) for link in net.links)
    ways = dict(nx.all_pairs_dijkstra_path_length(graph))
    found = latencies(net)
    assert len(found) == 24 * 23 / 2
    for (one, other), seconds in found.items():
        assert 1000 * seconds == pytest.approx(ways[one][other])


def test_cities_publish_by_their_share_of_the_demand() -> None:
    work = workload(network().ids, 150.0)
    assert work.rate == pytest.approx(150.0)
    assert len(work.rates) == 12
    assert max(work.rates, key=lambda city: work.rates[city]) == "London"
    assert RELAY not in work.wants


def test_a_city_wants_those_with_the_most_demand_to_it() -> None:
    work = workload(network().ids, 150.0)
    for city, wanted in work.wants.items():
        assert len(wanted) == 4
        least = min(demands()[each][city] for each in wanted)
        others = set(work.rates) - {*wanted, city}
        assert all(demands()[each][city] <= least for each in others)


def test_a_filter_matches_the_topics_that_are_wanted() -> None:
    wanted = parse(filter_of(["Roma", "Paris"]))
    assert [wanted.matches({"topic": city}) for city in ("Roma", "Paris", "London")] == [True, True, False]


def tallied(*arrived: tuple[str, str, int]) -> Counts:
    """Roma publishes 0, 1, 2; Paris wants it, Lyon wants nothing."""
    tally = Tally({"Paris": ["Roma"], "Lyon": []})
    assert [tally.publishes("Roma") for _ in range(3)] == [0, 1, 2]
    for each in arrived:
        tally.arrived(*each)
    return tally.counts()


def paris(*numbers: int) -> list[tuple[str, str, int]]:
    return [("Paris", "Roma", number) for number in numbers]


def test_everything_once_and_in_order_is_flawless() -> None:
    counts = tallied(*paris(0, 1, 2))
    assert counts == Counts(published=3, due=3, delivered=3)
    assert counts.flawless


@pytest.mark.parametrize(
    ("arrived", "flaw"),
    [
        (paris(0, 2), {"delivered": 2, "lost": 1}),
        (paris(), {"delivered": 0, "lost": 3}),
        (paris(0, 1, 1, 2, 0), {"delivered": 3, "duplicated": 2}),
        (paris(1, 0, 2), {"delivered": 3, "reordered": 1}),
        ([*paris(0, 1, 2), ("Lyon", "Roma", 1)], {"delivered": 3, "unwanted": 1}),
        (paris(0, 1, 2, 3), {"delivered": 3, "unwanted": 1}),
    ],
)
def test_each_flaw_is_counted_and_spoils_the_result(
    arrived: list[tuple[str, str, int]], flaw: dict[str, int]
) -> None:
    counts = tallied(*arrived)
    assert counts == Counts(published=3, due=3, **flaw)
    assert not counts.flawless


def test_what_is_not_acknowledged_spoils_the_result() -> None:
    assert not Tally({}).counts(unacknowledged=1).flawless


def test_latencies_are_of_what_was_published_in_between() -> None:
    samples = [(float(second), 10.0 * second) for second in range(100)]
    found = period("before", samples, 10.0, 20.0, cost=3.0)
    assert (found.deliveries, found.p50_ms, found.p99_ms, found.worst_ms) == (10, 140.0, 190.0, 190.0)
    assert period("healing", samples, 200.0, 201.0).p99_ms is None


def test_a_quantile_is_the_least_that_enough_do_not_exceed() -> None:
    ordered = [float(each) for each in range(1, 101)]
    assert (quantile(ordered, 0.99), quantile(ordered, 0.5), quantile([7.0], 0.99)) == (99.0, 50.0, 7.0)


def test_every_two_brokers_may_be_linked_for_what_the_way_costs() -> None:
    net = network()
    found = reachable(net)
    assert len(found.links) == 24 * 23 / 2
    assert all(0 < link.cost == link.latency_ms for link in found.links)
    assert all(found.by_ends[pair].cost <= line.cost for pair, line in net.by_ends.items())


def test_the_classes_of_the_traffic_are_its_publishers_and_who_wants_them() -> None:
    work = Workload({"Roma": 3.0}, {"Paris": ("Roma",), "Lyon": (), "Milan": ("Roma",)})
    assert classes(work) == (TrafficClass(frozenset({"Roma", "Paris", "Milan"}), 3.0),)
