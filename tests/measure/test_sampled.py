"""Where brokers record samples, each its own: what they count is as exact as if everything were recorded, and
what is estimated rests on the publications that all of them have recorded."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure import oracle
from tests.measure.samples import ENDS, comparable, told
from tests.measure.telemetry import START, WIDTH, Record, clean, network, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Tables = dict[str, list[tuple[Any, ...]]]
BEGIN = round(START.timestamp() * 1e6)
CASES = {"each its own": 0, "all the same": 1, "one of them": 2, "not a power of two": 3}
"""The network → when it begins, in tens of minutes."""


def rate(broker: str, micros: int) -> int:
    case, within = divmod(micros, 600_000_000)
    late = within > 100_000_000
    match case:
        case 0:
            return {"b0": 1, "b1": 2, "b2": 8 if late else 4, "b3": 2}.get(broker, 4)
        case 1:
            return 4
        case 2:
            return 2 if broker == "b4" and not late else 1
    return 6 if broker in ("b0", "b2") else 12


@pytest.fixture(scope="module")
def truth() -> list[Record]:
    found: list[Record] = []
    for number, place in CASES.items():
        found += network(len(number), 400, begin=place * 600.0)
    return found


@pytest.fixture(scope="module")
def records(truth: list[Record]) -> list[Record]:
    return told(truth, rate)


@pytest.fixture(scope="module")
def computed(spark: "SparkSession", records: list[Record]) -> Iterator[Tables]:
    from regraft.measure.members import Brokers
    from regraft.measure.tables import Asked, Kept, compute
    from regraft.measure.transforms.filters import filters_read
    from regraft.measure.transforms.interest import interest

    table = clean(spark, records).cache()
    windows = sorted({oracle.window(record, WIDTH) + BEGIN for record in records})
    traffic, interests = table.where("kind != 'interest'"), table.where("kind = 'interest'")
    found: dict[str, DataFrame] = {}
    held = interest(interests, filters_read(interests), WIDTH)
    tables = frozenset(oracle.EXACT.keys() | {"latency"}) - {"interest", "attributes"}
    with Kept(Asked(WIDTH, tables=tables), found.__setitem__) as kept:
        compute(kept, traffic, lambda: held, Brokers.of({record["broker"] for record in records}), windows)
        yield {name: rows(each) for name, each in found.items()}
    table.unpersist()


@pytest.mark.parametrize("name", ["publisher_rates", "overlap", "link_load", "broker_load", "link_costs"])
def test_what_is_counted_is_exact(name: str, computed: Tables, truth: list[Record]) -> None:
    oracle.assert_table(name, computed[name], truth)


def test_classes_are_those_of_publications_that_all_brokers_have_recorded(
    computed: Tables, truth: list[Record], records: list[Record]
) -> None:
    weighted = comparable(truth, records, WIDTH)
    assert {oracle.stands_for(each) for each in weighted} == {1, 2, 4, 8, 12}
    oracle.assert_alike(computed["traffic_classes"], oracle.traffic_classes(weighted, WIDTH))


def test_topics_are_counted_and_their_deliveries_estimated(
    computed: Tables, truth: list[Record], records: list[Record]
) -> None:
    weighted = comparable(truth, records, WIDTH)
    topics = {
        (oracle.window(each, WIDTH), each["publisher"], each["seq"]): each["topic"]
        for each in oracle.of(truth, "publication")
    }
    deliveries: Counter[Any] = Counter()
    reached: dict[Any, dict[Any, Record]] = defaultdict(dict)
    for each in oracle.of(weighted, "delivery"):
        key = (oracle.window(each, WIDTH), each["publisher"], each["seq"])
        deliveries[key[0], topics[key]] += oracle.stands_for(each)
        reached[key[0], topics[key]][key] = each
    expected = []
    for start, topic, publications, size, *_ in oracle.topic_popularity(truth, WIDTH):
        got = reached[start, topic].values()
        delivered = sum(map(oracle.stands_for, got))
        counts = (publications, size, deliveries[start, topic], delivered)
        expected.append((start, topic, *counts, oracle.error(got)))
    oracle.assert_alike(computed["topic_popularity"], expected)


def test_hops_under_a_transformation_are_counted_and_their_publications_estimated(
    computed: Tables, truth: list[Record], records: list[Record]
) -> None:
    exact = {row[:2]: row for row in oracle.transformations(truth, WIDTH)}
    told = {row[:2]: row for row in oracle.transformations(records, WIDTH)}
    assert {row[:2] for row in computed["transformations"]} == exact.keys()
    under: dict[Any, dict[Any, Record]] = defaultdict(dict)
    for each in oracle.of(records, "hop"):
        if each["transformation"] is not None:
            key = (oracle.window(each, WIDTH), each["transformation"].partition(":")[0])
            same = (each["publisher"], each["seq"])
            known = under[key].get(same, each)
            under[key][same] = {"one_in": min(map(oracle.stands_for, (each, known)))}
    for row in computed["transformations"]:
        key, of_it = row[:2], under[row[:2]].values()
        assert row[2:4] == told[key][2:4]
        assert row[4] == exact[key][4] > 0
        assert row[5] == sum(map(oracle.stands_for, of_it))
        assert row[6] == pytest.approx(oracle.error(of_it))


def test_latencies_are_exact_where_nothing_changed_and_estimated_where_something_did(
    computed: Tables, truth: list[Record], records: list[Record]
) -> None:
    """Of each phase: what was published in the coarsest sample of all brokers, if these have recorded all."""
    changed = {oracle.window(each, WIDTH) for each in truth if each.get("transformation") is not None}
    exact = oracle.latencies(truth, WIDTH)
    assert {start for start, _ in exact} > changed
    deliveries = comparable(truth, records, WIDTH, (*ENDS, "hop"))
    rates = {oracle.window(each, WIDTH): oracle.stands_for(each) for each in deliveries}
    hops = oracle.of(records, "hop")
    seen = oracle.latencies([*deliveries, *hops], WIDTH)
    assert {rates[start] for start in changed} == {2, 4, 8, 12}
    for start, phase, count, *_, mean, largest in computed["latency"]:
        values = exact[start, phase] if start not in changed else seen[start, phase]
        assert count == len(values) * (rates[start] if start in changed else 1)
        assert largest == values[-1]
        assert mean == pytest.approx(sum(values) / len(values))


def test_quantiles_of_counted_latencies_are_within_the_stated_error(
    computed: Tables, truth: list[Record]
) -> None:
    from regraft.protocol.latency_buckets import ERROR

    changed = {oracle.window(each, WIDTH) for each in truth if each.get("transformation") is not None}
    exact = oracle.latencies(truth, WIDTH)
    quiet = [row for row in computed["latency"] if row[0] not in changed]
    assert quiet
    for start, phase, _, *quantiles, _, _ in quiet:
        for share, found in zip((0.5, 0.99, 0.999), quantiles, strict=True):
            assert math.isclose(found, oracle.quantile(exact[start, phase], share), rel_tol=ERROR * 1.0001)
