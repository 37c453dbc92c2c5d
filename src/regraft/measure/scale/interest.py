"""Interest tables for Spark: which node is interested in which topic (kTCO §III), and ids as numbers.

Names are numbered once, in sorted order: comparing, sorting and joining numbers stays inside Spark's
generated code, and one 64-bit number can stand for a link.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from regraft.measure.faults import one_line
from regraft.measure.scale.measured_tables import measured_table
from regraft.measure.transforms.interest import interest_matrix
from regraft.model import BadInput

ROWS_PER_PARTITION = 2_000_000
PARTITIONS = "spark.sql.shuffle.partitions"
BROADCAST = 5_000_000
"""A table of at most this many names fits into a worker's memory beside everything else."""


def read_interest(session: SparkSession, place: str | Path) -> DataFrame:
    """Columns `node` and `topic` as text, from Parquet, or CSV with a header (also compressed), or from the
    measured table `interest`: what holds now."""
    path = str(place)
    with one_line(path):
        if (measured := measured_table(session, place, "interest")) is not None:
            return interest_matrix(measured)
        table = (
            session.read.option("header", True).csv(path)
            if Path(path.removesuffix(".gz")).suffix.lower() == ".csv"
            else session.read.parquet(path)
        )
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
    with ExitStack() as stack:
        nodes, node_count = _names(interest, "node", stack)
        topics, topic_count = _names(interest, "topic", stack)
        partitions = max(interest.count() // ROWS_PER_PARTITION, shuffle_partitions(interest.sparkSession))
        pairs = (
            interest.join(hinted(_as(nodes, "node"), node_count), "node")
            .join(hinted(_as(topics, "topic"), topic_count), "topic")
            .select(f.col("topic_id").alias("topic"), f.col("node_id").alias("node"))
            .repartition(partitions, "topic")
            .dropDuplicates(["topic", "node"])
        )
        yield Numbered(pairs, nodes, topics, node_count, partitions)


def named(links: DataFrame, tables: Numbered) -> DataFrame:
    """`one` and `other` by their names instead of their numbers."""
    for end in ("one", "other"):
        names = tables.nodes.select(f.col("id").alias(end), f.col("name").alias(f"{end}_name"))
        links = links.join(hinted(names, tables.node_count), end)
    return links.select(f.col("one_name").alias("one"), f.col("other_name").alias("other"))


def hinted(table: DataFrame, rows: int) -> DataFrame:
    return f.broadcast(table) if rows <= BROADCAST else table


def shuffle_partitions(session: SparkSession) -> int:
    return int(session.conf.get(PARTITIONS) or 2)


def _names(interest: DataFrame, column: str, stack: ExitStack) -> tuple[DataFrame, int]:
    """(id, name), and how many there are. Tasks sort parts of the order, each part for itself, and the sizes
    of the parts before it say where its numbers begin: no task has all names.

    The parts are persisted until the stack ends, because Spark would find other bounds the next time.
    """
    partitions = shuffle_partitions(interest.sparkSession)
    names = interest.select(f.col(column).alias("name")).distinct().repartitionByRange(partitions, "name")
    parts = _persisted(names.withColumn("part", f.spark_partition_id()), stack)
    sizes = {row["part"]: row["count"] for row in parts.groupBy("part").count().collect()}
    *firsts, count = accumulate((sizes.get(part, 0) for part in range(partitions)), initial=0)
    first = f.get(f.from_json(f.lit(json.dumps(firsts)), "array<long>"), f.col("part"))
    number = f.row_number().over(Window.partitionBy("part").orderBy("name")) - f.lit(1)
    return _persisted(parts.select((first + number).alias("id"), "name"), stack), count


def _persisted(table: DataFrame, stack: ExitStack) -> DataFrame:
    kept = table.persist()
    stack.callback(kept.unpersist)
    return kept


def _as(names: DataFrame, column: str) -> DataFrame:
    return names.select(f.col("name").alias(column), f.col("id").alias(f"{column}_id"))
