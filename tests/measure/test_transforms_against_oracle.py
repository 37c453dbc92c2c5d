"""Every transform against plain Python, on random networks: each stands in windows of its own, so that one
pass of Spark checks them all. Seeds are fixed for a run, and may be given: REGRAFT_MEASURE_SEED."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure import oracle
from tests.measure.telemetry import START, WIDTH, Record, clean, network, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SEED = int(os.environ.get("REGRAFT_MEASURE_SEED", "1"))
CASES = 12
BROKERS = 5
Tables = dict[str, list[tuple[Any, ...]]]


def cases() -> list[Record]:
    """Random networks, one after the other; the last has only one publication, which is not delivered."""
    sizes = [60, 0, 1, 2, 5, *(40 + 7 * n for n in range(CASES - 5))]
    found: list[Record] = []
    for number, size in enumerate(sizes):
        found += network(SEED * 1000 + number, size, begin=number * 180.0, brokers=BROKERS)
    return found


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return cases()


@pytest.fixture(scope="module")
def computed(spark: "SparkSession", records: list[Record]) -> Iterator[Tables]:
    from regraft.measure.members import Brokers
    from regraft.measure.tables import Asked, Kept, compute
    from regraft.measure.transforms.filters import filters_read
    from regraft.measure.transforms.interest import interest

    table = clean(spark, records).cache()
    starts = sorted({oracle.window(record, WIDTH) for record in records})
    begin = round(START.timestamp() * 1e6)
    traffic, interests = table.where("kind != 'interest'"), table.where("kind = 'interest'")
    names = {record["broker"] for record in records}
    windows = [start + begin for start in starts]
    found: dict[str, DataFrame] = {}
    held = interest(interests, filters_read(interests), WIDTH).cache()
    found["interest"] = held
    with Kept(Asked(WIDTH), found.__setitem__) as kept:
        compute(kept, traffic, lambda: held, Brokers.of(names), windows)
        yield {name: rows(each) for name, each in found.items()}
    held.unpersist()
    table.unpersist()


@pytest.mark.parametrize("name", oracle.EXACT)
def test_a_table_is_what_plain_python_makes_of_the_records(
    name: str, computed: Tables, records: list[Record]
) -> None:
    oracle.assert_table(name, computed[name], records)


def test_local_views_are_what_walking_the_tree_finds(computed: Tables, records: list[Record]) -> None:
    names = [f"b{number}" for number in range(BROKERS)]
    chain = {
        name: [names[n] for n in (number - 1, number + 1) if 0 <= n < BROKERS]
        for number, name in enumerate(names)
    }
    oracle.assert_alike(
        computed["local_views"], oracle.local_views(oracle.traffic_classes(records, WIDTH), chain)
    )


def test_latency_quantiles_are_within_the_stated_error(computed: Tables, records: list[Record]) -> None:
    assert {phase for _, phase in oracle.latencies(records, WIDTH)} == {"before", "during", "untouched"}
    oracle.assert_table("latency", computed["latency"], records)


def test_the_buckets_of_the_histogram_hold_each_latency_once(computed: Tables, records: list[Record]) -> None:
    from regraft.protocol.latency_buckets import GROWTH

    exact = oracle.latencies(records, WIDTH)
    for key, values in exact.items():
        buckets = {row[2]: row[3] for row in computed["latency_histogram"] if row[:2] == key}
        assert sum(buckets.values()) == len(values)
        for bucket, count in buckets.items():
            low, high = GROWTH ** (bucket - 1) * (1 - 1e-9), GROWTH**bucket * (1 + 1e-9)
            assert sum(low < max(value, 1) <= high for value in values) >= count


def test_dimensions_are_ranked_by_what_filters_ask_for_and_events_differ_in(
    computed: Tables, records: list[Record]
) -> None:
    used = _used(records)
    expected = oracle.scores(oracle.attributes(records, WIDTH), used)
    found = {(row[0], row[2]): row for row in computed["dimensions"]}
    assert found.keys() == expected.keys()
    for key, score in expected.items():
        assert found[key][8] == pytest.approx(score)
    for start in {start for start, _ in expected}:
        ranked = sorted((row for key, row in found.items() if key[0] == start), key=lambda row: row[1])
        assert [row[1] for row in ranked] == list(range(1, len(ranked) + 1))
        assert [row[8] for row in ranked] == sorted((row[8] for row in ranked), reverse=True)


def test_split_points_leave_equally_many_events_on_both_sides(
    computed: Tables, records: list[Record]
) -> None:
    values: dict[tuple[int, str], list[float]] = {}
    for each in oracle.of(records, "publication"):
        for name, value in each["numbers"].items():
            values.setdefault((oracle.window(each, WIDTH), name), []).append(value)
    checked = 0
    for start, _, name, low, high, choices, histogram, splits, _ in computed["dimensions"]:
        if choices is not None:
            continue
        assert list(splits) == sorted(splits)
        assert all(low <= split <= high for split in splits)
        mine = values[start, name]
        for part, split in enumerate(splits, 1):
            # A split is exact up to the bin that it lies in.
            below = sum(value <= split for value in mine)
            assert abs(below - len(mine) * part / 8) <= max(histogram) + 1
            checked += 1
    assert checked > 0


def test_similarity_is_the_share_of_publications_that_both_match(
    computed: Tables, records: list[Record]
) -> None:
    expected = oracle.filter_similarity(records, _used(records), WIDTH)
    assert expected
    oracle.assert_alike(computed["filter_similarity"], expected)


def _used(records: list[Record]) -> dict[int, Any]:
    starts = {oracle.window(each, WIDTH) for each in records}
    return oracle.in_force(oracle.interest(records, WIDTH), starts, WIDTH)
