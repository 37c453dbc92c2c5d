"""How many messages a link carries in each direction, and how many of them during a transformation."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind, sampling_variance, weighted_count
from regraft.measure.schemas import TABLES


def hops(records: DataFrame) -> DataFrame:
    """window, from, to, messages, transformed, queue, variance (of messages).

    Most records are hops, so they are read only once. The result has few rows, from which the loads of links
    and of brokers are made.
    """
    return (
        of_kind(records, "hop")
        .groupBy("window", "from", "to")
        .agg(
            weighted_count().alias("messages"),
            weighted_count(f.col("transformation").isNotNull()).alias("transformed"),
            f.max("queue").alias("queue"),
            sampling_variance().alias("variance"),
        )
    )


def link_load(hops: DataFrame, width: int) -> DataFrame:
    """A publication crosses a link once, so every message is of a publication of its own."""
    more = {"rate": f.col("messages") * 1e6 / width, "error": f.sqrt("variance")}
    return conform(hops.withColumns(more), TABLES["link_load"])
