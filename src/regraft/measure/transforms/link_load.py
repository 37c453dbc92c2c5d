"""How many messages a link carries in each direction, and how many of them during a transformation."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind
from regraft.measure.sampled import how_many
from regraft.measure.schemas import TABLES


def hops(records: DataFrame) -> DataFrame:
    """window, from, to, messages, transformed, queue; of `counted` records.

    Most records are hops, so they are read only once. The result has few rows, from which the loads of links
    and of brokers are made.
    """
    return (
        of_kind(records, "hop")
        .groupBy("window", "from", "to")
        .agg(
            how_many().alias("messages"),
            how_many(f.col("transformation").isNotNull()).alias("transformed"),
            f.max("queue").alias("queue"),
        )
    )


def link_load(hops: DataFrame, width: int) -> DataFrame:
    return conform(hops.withColumn("rate", f.col("messages") * 1e6 / width), TABLES["link_load"])
