"""The transforms on tables small enough to be computed by hand."""

import re
from typing import TYPE_CHECKING

import pytest
from tests.measure.telemetry import (
    START,
    WIDTH,
    at,
    clean,
    delivery,
    health,
    hop,
    interest,
    publication,
    rows,
)

from regraft.model import Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from regraft.measure.members import Brokers

M = 1_000_000


def sets(spark: "SparkSession", brokers: "Brokers", *classes: tuple[str, int]) -> "DataFrame":
    """Classes of the first window, written as "b1 b2"; each is estimated from one publication in seven."""
    from pyspark.sql import functions as f

    names = " long, ".join(brokers.columns) + " long" if brokers.as_words else "set array<int>"
    cells = []
    for text, demand in classes:
        members = text.split()
        numbers = sorted(brokers.number[name] for name in members)
        cells.append((*(brokers.words(members) if brokers.as_words else [numbers]), demand))
    table = spark.createDataFrame(cells, f"{names}, demand long")
    start = f.timestamp_micros(f.lit(round(START.timestamp() * M)))
    variance = (f.col("demand") * 6.0).alias("variance")
    return table.select(start.alias("window"), "*", variance, f.lit(1).cast("long").alias("classes"))


def test_a_class_is_the_publishers_broker_and_all_that_delivered_in_the_window_of_the_publication(
    spark: "SparkSession",
) -> None:
    from regraft.measure.members import Brokers
    from regraft.measure.transforms.publications import by_class_and_topic, publications
    from regraft.measure.transforms.topic_popularity import topic_popularity
    from regraft.measure.transforms.traffic_classes import class_sets, traffic_classes

    records = clean(
        spark,
        [
            publication("b1", "p", 1, 59.0, topic="t", size=10),
            delivery("b3", "p", 1, "s1", 61.0, 2 * M),  # after the window, of a publication inside
            delivery("b3", "p", 1, "s2", 59.5, M // 2),
            publication("b1", "p", 2, 59.1, topic="t", size=30),
            delivery("b3", "p", 2, "s1", 59.2, M // 10),
            publication("b1", "q", 1, 59.3, size=5),  # reaches nobody
            delivery("b2", "r", 9, "s3", 70.0),  # its publication is not on record
        ],
    )
    brokers = Brokers.of(["b1", "b2", "b3"])
    counted = by_class_and_topic(publications(records, brokers), brokers)
    assert rows(traffic_classes(class_sets(counted, brokers), brokers)) == [
        (0, ("b1", "b3"), 2, 1, 0.0),
        (60 * M, ("b2",), 1, 1, 0.0),
    ]
    assert rows(topic_popularity(records, counted)) == [
        (0, "t", 2, 40, 3, 2, 0.0),
        (0, None, 1, 5, 0, 0, 0.0),
    ]


@pytest.mark.parametrize("most_words", [16, 0], ids=["words", "arrays"])
def test_a_brokers_view_replaces_what_is_behind_a_neighbour_by_the_neighbour(
    spark: "SparkSession", most_words: int
) -> None:
    """OCBR §3.1, figure 2: b1 stands for c1 and c2 behind it, bm for its own client c4."""
    from regraft.measure.members import Brokers
    from regraft.measure.transforms.local_views import local_views, sides

    tree = Topology.of(
        [("bm", name) for name in ("b1", "b2", "b3", "b4")] + [("b1", "x1"), ("b1", "x2"), ("b3", "x3")]
    )
    brokers = Brokers.of(tree.ids, most_words)
    classes = sets(spark, brokers, ("x1 x2", 5), ("x1 x2 bm", 3), ("x1 x2 b3", 2), ("x2 x3", 4), ("bm", 1))
    views = local_views(classes, sides(spark, {round(START.timestamp() * M): tree}, brokers), brokers)
    mine = [row[2:] for row in rows(views) if row[1] == "bm"]
    errors = [pytest.approx((6 * demand) ** 0.5) for demand in (6, 3, 1)]
    assert mine == [(("b1", "b3"), 6, errors[0]), (("b1", "bm"), 3, errors[1]), (("bm",), 1, errors[2])]


def test_more_brokers_than_a_word_has_bits_and_more_than_words_may_be(spark: "SparkSession") -> None:
    from regraft.measure.members import Brokers
    from regraft.measure.transforms.publications import by_class_and_topic, publications
    from regraft.measure.transforms.traffic_classes import class_sets, traffic_classes

    names = [f"b{number:03}" for number in range(130)]
    far = ("b000", "b063", "b064", "b127", "b129")
    records = clean(spark, [publication("b000", "p", 1, 1.0), *(delivery(b, "p", 1, b, 2.0) for b in far)])
    for most_words in (16, 1):
        brokers = Brokers.of(names, most_words)
        assert brokers.as_words is (most_words == 16)
        counted = by_class_and_topic(publications(records, brokers), brokers)
        assert rows(traffic_classes(class_sets(counted, brokers), brokers)) == [(0, far, 1, 1, 0.0)]


def test_interest_is_held_from_when_it_came_until_it_went(spark: "SparkSession") -> None:
    from regraft.measure.transforms.filters import filters_read
    from regraft.measure.transforms.interest import interest as table_of
    from regraft.measure.transforms.interest import interest_at, interest_matrix

    both = "topic IN ('u', 'v') AND x > 1"
    records = clean(
        spark,
        [
            interest("b1", "c", "topic = 't'", "added", 10),
            interest("b1", "c", "topic = 't'", "added", 12),  # said again: nothing new
            interest("b1", "c", "topic = 't'", "removed", 70),
            interest("b1", "c", "topic = 't'", "added", 80),
            interest("b2", "d", both, "added", 5),
            interest("b2", "e", "x > 3", "removed", 20),  # it had come before anything was recorded
            interest("b3", "f", "no filter (", "added", 1),
            interest("b4", "g", "topic = 't'", "added", 2, role="publisher"),
        ],
    )
    held = table_of(records, filters_read(records), WIDTH).cache()
    assert rows(held, "broker", "client", "topic", "since", "until", "window") == [
        ("b1", "c", "t", 10 * M, 70 * M, 0),
        ("b1", "c", "t", 80 * M, None, 60 * M),
        ("b2", "d", "u", 5 * M, None, 0),
        ("b2", "d", "v", 5 * M, None, 0),
        ("b2", "e", None, None, 20 * M, 0),
        ("b3", "f", None, 1 * M, None, 0),
        ("b4", "g", "t", 2 * M, None, 0),
    ]
    assert rows(interest_matrix(held), "node", "topic") == [
        ("b1", "t"),
        ("b2", "u"),
        ("b2", "v"),
        ("b4", "t"),
    ]
    assert rows(interest_matrix(held, at(75)), "node", "topic") == [("b2", "u"), ("b2", "v"), ("b4", "t")]
    assert rows(interest_at(held, at(10)), "client", "topic") == [
        ("c", "t"),
        ("d", "u"),
        ("d", "v"),
        ("e", None),
        ("f", None),
        ("g", "t"),
    ]
    assert rows(interest_at(held, at(70)), "client", "topic") == [
        ("d", "u"),
        ("d", "v"),
        ("f", None),
        ("g", "t"),
    ]


def test_rates_and_overlap_are_per_second_of_the_window(spark: "SparkSession") -> None:
    from regraft.measure.transforms.overlap import overlap
    from regraft.measure.transforms.publisher_rates import publisher_rates

    sent = [publication("b1", "p", n, float(n), size=100) for n in range(6)]
    got = [delivery("b2", "p", n, "s", n + 0.5) for n in range(3)]
    records = clean(spark, [*sent, *got])
    rates = publisher_rates(records, WIDTH)
    assert rows(rates) == [(0, "p", "b1", 6, 600, 0.1)]
    assert rows(overlap(records, rates, WIDTH)) == [(0, "p", "s", "b2", 3, 0.05, 0.5)]


def test_load_counts_both_directions_of_a_link_and_what_a_broker_handles(spark: "SparkSession") -> None:
    from regraft.measure.transforms.broker_load import broker_load, by_broker
    from regraft.measure.transforms.link_load import hops, link_load

    records = clean(
        spark,
        [
            hop("b1", "p", 1, "b2", 1, queue=7),
            hop("b1", "p", 2, "b2", 2, queue=9, by="t1"),
            hop("b2", "q", 1, "b1", 3, queue=0),
            health("b1", 4, cpu=1.0, memory=50, queue=3, not_recorded=2),
            health("b1", 14, cpu=1.5, memory=40, queue=1, not_recorded=5),
        ],
    )
    carried = hops(records)
    load = link_load(carried, WIDTH)
    assert rows(load, "from", "to", "messages", "transformed") == [("b1", "b2", 2, 1), ("b2", "b1", 1, 0)]
    assert rows(broker_load(by_broker(records), carried, WIDTH)) == [
        (0, "b1", 0, 0, 1, 2, 0, 0.05, 0.5, 50, 9, 3),
        (0, "b2", 0, 0, 2, 1, 0, 0.05, None, None, 0, None),
    ]


def test_a_transformation_grows_queues_and_touches_the_publications_that_hop_under_it(
    spark: "SparkSession",
) -> None:
    from regraft.measure.sampled import seen
    from regraft.measure.transforms.latency import latency, latency_counts, touched
    from regraft.measure.transforms.transformations import queue_growth, transformations

    records = clean(
        spark,
        [
            delivery("b2", "p", 1, "s", 9, 100),  # before
            hop("b1", "p", 2, "b2", 10, queue=5, by="t1:1.1:1:1"),
            hop("b1", "p", 3, "b2", 12, queue=25, by="t1:1.1:1:1"),
            health("b1", 12.2, queue=30, transformation="t1:1.2:1:1"),
            hop("b2", "p", 3, "b3", 13, queue=40, by="t1:1.2:1:1"),
            health("b1", 15, queue=90, transformation="t1:1.2:1:1"),
            hop("b1", "p", 4, "b2", 12.5),
            delivery("b3", "p", 3, "s", 14, 1000),
            delivery("b2", "p", 2, "s", 10.5, 3000),
            delivery("b2", "p", 4, "s", 12.6, 200),
        ],
    )
    assert rows(transformations(records)) == [(0, "t1", 10 * M, 15 * M, 3, 2, 0.0)]
    assert rows(queue_growth(records)) == [
        (0, "t1", "t1:1.1:1:1", "b1", 5, 25, 20),
        (0, "t1", "t1:1.2:1:1", "b1", 30, 90, 60),
        (0, "t1", "t1:1.2:1:1", "b2", 40, 40, 0),
    ]
    found = seen(records)
    assert found.touched == 3
    table = latency(latency_counts(records, touched(records, hops=3), found, WIDTH))
    assert rows(table, "phase", "deliveries", "mean", "largest") == [
        ("before", 1, 100.0, 100),
        ("during", 2, 2000.0, 3000),
        ("untouched", 1, 200.0, 200),
    ]
    alone = latency(latency_counts(records, touched(records, hops=0), found, WIDTH))
    assert rows(alone, "phase", "deliveries") == [("untouched", 4)]


def test_the_tree_of_a_window_is_what_health_says_or_else_what_hops_show(spark: "SparkSession") -> None:
    from regraft.measure.transforms.links import links, trees

    records = clean(
        spark,
        [
            health("b1", 1, ["b2"]),
            health("b1", 9, ["b3"]),  # the later word counts
            health("b3", 9, ["b1", "b2"]),
            hop("b1", "p", 1, "b2", 2),
            hop("b1", "p", 2, "b2", 62),  # no health in the second window
            hop("b2", "p", 2, "b3", 63),
            *(hop(one, "p", 3, other, 130) for one, other in (("b1", "b2"), ("b2", "b3"), ("b3", "b1"))),
        ],
    )
    found = trees(links(records))
    start = round(START.timestamp() * M)
    assert {at - start: sorted(tree.by_ends) for at, tree in found.items()} == {
        0: [("b1", "b3"), ("b2", "b3")],
        60 * M: [("b1", "b2"), ("b2", "b3")],
    }


def test_histograms_bin_numbers_evenly_and_keep_the_most_frequent_texts(spark: "SparkSession") -> None:
    from regraft.measure.transforms.attributes import attributes
    from regraft.measure.transforms.dimensions import dimensions

    events = [
        publication(
            "b", "p", n, 1.0 + n, numbers={"x": float(n)}, strings={"k": "a" if n else "b", "one": "1"}
        )
        for n in range(5)
    ]
    odd = publication("b", "p", 9, 9.0, numbers={"x": float("nan")})
    table = attributes(clean(spark, [*events, odd])).cache()
    found = {row[1]: row[2:] for row in rows(table)}
    assert found["x"][:4] == (True, 5, 0.0, 4.0)
    assert [bin for bin, count in enumerate(found["x"][4]) if count] == [0, 16, 32, 48, 63]
    assert found["k"] == (False, 5, None, None, (4, 1, 0), ("a", "b"))
    asked = spark.createDataFrame([], "window timestamp, attribute string, filters long, of long")
    chosen = rows(dimensions(table, asked), "rank", "attribute", "choices")
    assert chosen == [(1, "k", ("a", "b")), (2, "x", None)]  # "one" is always the same: no dimension


@pytest.mark.parametrize("most_words", [16, 0], ids=["words", "arrays"])
def test_the_rest_is_merged_into_supersets_that_understate_no_link(
    spark: "SparkSession", most_words: int
) -> None:
    from regraft.measure.members import Brokers
    from regraft.measure.transforms.top_classes import merging, top_classes
    from regraft.measure.transforms.traffic_classes import traffic_classes

    brokers = Brokers.of(["b1", "b2", "b3", "b4", "b5"], most_words)
    given = [("b1 b2", 50), ("b1 b3", 40), ("b2 b3", 3), ("b4 b5", 2), ("b1 b5", 1), ("b3 b4 b5", 1)]
    exact = sets(spark, brokers, *given)
    shown = top_classes(exact, brokers, 2).cache()
    found = rows(traffic_classes(shown, brokers))
    assert all(row[4] ** 2 == pytest.approx(6 * row[2]) for row in found), "variances of parts add up"
    classes = [(frozenset(row[1]), row[2], row[3]) for row in found]
    assert {(frozenset({"b1", "b2"}), 50, 1), (frozenset({"b1", "b3"}), 40, 1)} <= set(classes)
    assert len(classes) <= 4
    assert sum(demand for _, demand, _ in classes) == sum(demand for _, demand in given)
    for side in (["b1"], ["b1", "b2"], ["b5"], ["b2", "b4"], ["b3", "b4", "b5"]):
        # A link of a tree parts the brokers in two; a class crosses it if it has members on both sides.
        part = frozenset(side)
        true = sum(n for text, n in given if part & set(text.split()) and set(text.split()) - part)
        load = sum(n for members, n, _ in classes if part & members and members - part)
        assert true <= load <= true + 7
    cost = merging(exact, shown, brokers)
    assert (cost.kept, cost.merged_classes, cost.merged_demand) == (2, 4, 7)
    assert cost.excess_visits == sum(n * len(members) for members, n, _ in classes) - cost.visits


def test_no_task_sorts_all_classes_or_publications_of_a_window(spark: "SparkSession") -> None:
    from regraft.measure.members import Brokers
    from regraft.measure.transforms.filter_similarity import filter_similarity
    from regraft.measure.transforms.top_classes import top_classes

    brokers = Brokers.of(["b1", "b2", "b3"])
    classes = spark.createDataFrame(
        [], "window timestamp, w0 long, demand long, variance double, classes long"
    )
    ranked = top_classes(classes.repartition("demand"), brokers, 10_000)
    schema = (
        "window timestamp, publisher string, seq long, numbers map<string, long>, strings map<string, string>"
    )
    used = spark.createDataFrame([], "window timestamp, filter string, subscribers long")
    similar = filter_similarity(spark.createDataFrame([], schema), used)
    for table, limits in ((ranked, 1), (similar, 2)):
        plan = table._jdf.queryExecution().executedPlan().toString()
        assert len(re.findall(r"WindowGroupLimit .*Partial", plan)) >= limits, plan


@pytest.mark.parametrize("starts", [[], [0], [0, 60, 120], [60, 0, 300, 180, 240], [10**15, 10**15 + 120]])
def test_records_of_some_windows_are_found_whether_these_follow_each_other_or_not(
    spark: "SparkSession", starts: list[int]
) -> None:
    from pyspark.sql import functions as f

    from regraft.measure.windows import among

    all_of_them = [*range(0, 600, 60), *range(10**15, 10**15 + 300, 60)]
    table = spark.createDataFrame([(start,) for start in all_of_them], "start long")
    table = table.withColumn("window", f.timestamp_micros("start"))
    found = table.where(among(starts, 60)).collect()
    assert sorted(row.start for row in found) == sorted(starts)
