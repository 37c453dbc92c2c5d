"""Interest tables for Spark: which node is interested in which topic (kTCO §III), and ids as numbers.

Names are numbered once, in sorted order: comparing, sorting and joining numbers stays inside Spark's
generated code, and one 64-bit number can stand for a link.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from regraft.measure.faults import one_line
from regraft.measure.transforms.interest import interest_matrix
from regraft.model import BadInput

ROWS_PER_PARTITION = 2_000_000
BROADCAST = 5_000_000
"""A table of at most this many names fits into a worker's memory beside everything else."""


def read_interest(session: SparkSession, place: str | Path) -> DataFrame:
    """Columns `node` and `topic` as text, from Parquet, or CSV with a header (also compressed), or from the
    measured table `interest`: what holds now."""
    path = str(place)
    with one_line(path):
        table = (
            session.read.option("header", True).csv(path)
            if Path(path.removesuffix(".gz")).suffix.lower() == ".csv"
            else session.read.parquet(path)
        )
    if "node" not in table.columns and {"broker", "topic", "since", "until"} <= set(table.columns):
        return interest_matrix(table)
    for column in ("node", "topic"):
        if table.columns.count(column) != 1:
            raise BadInput(path, f"there must be one column {column!r}")
    return table.select(f.col("node").cast("string"), f.col("topic").cast("string")).dropna()


class Numbered(NamedTuple):
    """`pairs`: distinct (topic, node) as numbers; `nodes`: (id, name), ids from 0 in the order of names."""

    pairs: DataFrame
    nodes: DataFrame
    topics: DataFrame
    node_count: int
    partitions: int


@contextmanager
def numbered(interest: DataFrame) -> Iterator[Numbered]:
    """The interest as numbers, partitioned by topic. Tables of names stay in memory until the block ends."""
    nodes, topics = (_names(interest, column).persist() for column in ("node", "topic"))
    try:
        node_count, topic_count = nodes.count(), topics.count()
        partitions = max(interest.count() // ROWS_PER_PARTITION, shuffle_partitions(interest.sparkSession))
        pairs = (
            interest.join(hinted(_as(nodes, "node"), node_count), "node")
            .join(hinted(_as(topics, "topic"), topic_count), "topic")
            .select(f.col("topic_id").alias("topic"), f.col("node_id").alias("node"))
            .repartition(partitions, "topic")
            .dropDuplicates(["topic", "node"])
        )
        yield Numbered(pairs, nodes, topics, node_count, partitions)
    finally:
        nodes.unpersist()
        topics.unpersist()


def named(links: DataFrame, tables: Numbered) -> DataFrame:
    """`one` and `other` by their names instead of their numbers."""
    for end in ("one", "other"):
        names = tables.nodes.select(f.col("id").alias(end), f.col("name").alias(f"{end}_name"))
        links = links.join(hinted(names, tables.node_count), end)
    return links.select(f.col("one_name").alias("one"), f.col("other_name").alias("other"))


def hinted(table: DataFrame, rows: int) -> DataFrame:
    return f.broadcast(table) if rows <= BROADCAST else table


def shuffle_partitions(session: SparkSession) -> int:
    return int(session.conf.get("spark.sql.shuffle.partitions") or 2)


def _names(interest: DataFrame, column: str) -> DataFrame:
    number = f.row_number().over(Window.orderBy(column)) - f.lit(1)
    return (
        interest.select(column)
        .distinct()
        .select(number.cast("long").alias("id"), f.col(column).alias("name"))
    )


def _as(names: DataFrame, column: str) -> DataFrame:
    return names.select(f.col("name").alias(column), f.col("id").alias(f"{column}_id"))
