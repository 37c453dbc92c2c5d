"""Generated telemetry is what the brokers of that tree would have recorded, the same on any partitions."""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from regraft.lab.workload import Shape, tree
from regraft.model import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TREE = tree(90, Shape(5, True, 1))
SUBSCRIBERS = 150


def rows_of(spark: "SparkSession", partitions: int, rows: int = 2000) -> list[Any]:
    from regraft.measure.generate.telemetry import TelemetrySettings, telemetry

    settings = TelemetrySettings(rows, SUBSCRIBERS, publishers=3, rate=10, seed=9, partitions=partitions)
    return list(telemetry(spark, TREE, settings).collect())


@pytest.fixture(scope="module")
def records(spark: "SparkSession") -> list[Any]:
    return rows_of(spark, 2)


def of(records: list[Any], kind: str) -> list[Any]:
    return [record for record in records if record.kind == kind]


def test_the_number_of_records_is_about_what_was_asked(records: list[Any]) -> None:
    caused = [record for record in records if record.kind not in ("interest", "health")]
    assert len(caused) == pytest.approx(2000, rel=0.15)
    assert len(of(records, "interest")) == SUBSCRIBERS + 3


def test_deliveries_go_to_those_whose_filter_matches(records: list[Any]) -> None:
    from regraft.filters import parse

    asked = {
        record.client: parse(record.filter)
        for record in of(records, "interest")
        if record.role == "subscriber"
    }
    delivered = defaultdict(set)
    for record in of(records, "delivery"):
        delivered[record.publisher, record.seq].add(record.subscriber)
    published = of(records, "publication")
    assert len({(record.publisher, record.seq) for record in published}) == len(published)
    for record in published:
        event = {**record.numbers, **record.strings}
        assert delivered[record.publisher, record.seq] == {
            client for client, filter in asked.items() if filter.matches(event)
        }


def test_hops_are_the_links_of_the_spanning_subtree(records: list[Any]) -> None:
    from tests.evaluate.oracle import subtree

    hops, brokers = defaultdict(set), defaultdict(set)
    for record in of(records, "hop"):
        assert record.broker == record["from"]
        hops[record.publisher, record.seq].add(frozenset((record["from"], record.to)))
    for record in of(records, "delivery"):
        brokers[record.publisher, record.seq].add(record.broker)
    for record in of(records, "publication")[:40]:
        key = (record.publisher, record.seq)
        wanted = subtree(TREE, frozenset(brokers[key] | {TREE.ids[0]}))
        assert hops[key] == set(map(frozenset, wanted.edges))


def test_a_transformation_is_seen_on_some_hops_for_a_while(records: list[Any]) -> None:
    marked = [record for record in of(records, "hop") if record.transformation]
    links = {(record["from"], record.to) for record in marked}
    assert marked
    assert len(links) < len(TREE.links) / 2
    times = sorted(record.at for record in of(records, "publication"))
    assert times[0] < min(record.at for record in marked) < max(record.at for record in marked) < times[-1]


def test_records_do_not_depend_on_the_number_of_partitions(spark: "SparkSession", records: list[Any]) -> None:
    assert sorted(map(repr, rows_of(spark, 5))) == sorted(map(repr, records))


def test_nothing_to_publish_is_refused(spark: "SparkSession") -> None:
    with pytest.raises(BadInput, match="rows, publishers and a rate above 0"):
        rows_of(spark, 1, rows=0)
