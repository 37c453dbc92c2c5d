"""HararyPT on Spark: the links of the one-machine algorithm in the order of names, and the check of both."""

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING

import networkx as nx
import pytest

from regraft.design.harary import build_harary
from regraft.model import BadInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from regraft.measure.scale.interest import Numbered

Interest = dict[str, set[str]]
COLUMNS = "node string, topic string"


def topics_of(seed: int) -> Interest:
    random = Random(seed)
    topics: Interest = {"solo": {"n3"}, "pair": {"n3", "n4"}, "four": {"n1", "n2", "n3", "n4"}}
    for node in range(40):
        for topic in random.sample(range(12), random.randint(1, 5)):
            topics.setdefault(f"t{topic}", set()).add(f"n{node}")
    return topics


@pytest.fixture(scope="module")
def topics() -> Interest:
    return topics_of(1)


@pytest.fixture(scope="module")
def tables(spark: "SparkSession", topics: Interest) -> Iterator["Numbered"]:
    from regraft.measure.scale.interest import numbered

    rows = [(node, topic) for topic, nodes in topics.items() for node in nodes]
    with numbered(spark.createDataFrame([*rows, *rows[:5]], COLUMNS)) as tables:
        yield tables


def links_of(table: "DataFrame") -> set[tuple[str, str]]:
    rows = [tuple(sorted(row)) for row in table.collect()]
    assert len(rows) == len(set(rows))
    return {(one, other) for one, other in rows}


@pytest.mark.parametrize("k", [1, 5])
def test_the_links_are_those_of_the_algorithm_on_one_machine(
    tables: "Numbered", topics: Interest, k: int
) -> None:
    from regraft.measure.scale.harary import harary

    wanted: set[tuple[str, str]] = set()
    for nodes in topics.values():
        order = sorted(nodes)
        wanted |= {(order[min(pair)], order[max(pair)]) for pair in build_harary(k, len(order)).tolist()}
    assert links_of(harary(tables, k)) == wanted


def test_a_k_below_one_is_refused(tables: "Numbered") -> None:
    from regraft.measure.scale.harary import harary

    with pytest.raises(BadInput, match="k: must be at least 1, not 0"):
        harary(tables, 0)


def test_every_topic_is_judged_as_networkx_does(
    spark: "SparkSession", tables: "Numbered", topics: Interest
) -> None:
    from regraft.measure.scale.topic_connectivity import topic_connectivity

    k, random = 3, Random(3)
    nodes = sorted(set().union(*topics.values()))
    pairs = [(a, b) for a in nodes for b in nodes if a < b and random.random() < 0.35]
    graph = nx.Graph(pairs)
    graph.add_nodes_from(nodes)
    links = spark.createDataFrame([*pairs, ("n1", "stranger")], "one string, other string")
    rows = topic_connectivity(tables, links, k).collect()
    assert {row.topic for row in rows} == set(topics)
    for row in rows:
        part = graph.subgraph(topics[row.topic])
        clique = part.number_of_edges() == len(part) * (len(part) - 1) // 2
        assert (row.nodes, row.links) == (len(part), part.number_of_edges())
        assert row.components == nx.number_connected_components(part)
        assert row.holds == (clique or nx.node_connectivity(part) >= k), row
    assert {row.holds for row in rows} == {True, False}


def test_for_a_connected_topic_that_is_too_large_k_is_unknown(
    spark: "SparkSession", tables: "Numbered"
) -> None:
    from regraft.measure.scale.topic_connectivity import topic_connectivity

    ring = [("n1", "n2"), ("n2", "n3"), ("n3", "n4"), ("n1", "n4")]
    links = spark.createDataFrame(ring, "one string, other string")
    rows = {row.topic: row.holds for row in topic_connectivity(tables, links, 2, largest=3).collect()}
    assert (rows["four"], rows["t1"], rows["solo"]) == (None, False, True)
