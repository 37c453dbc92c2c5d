"""Which transformations a window saw, and what they did to the queues of brokers (IPITT §VI-B).

A hop carries the id of the transformation under which it was made. A broker's queue is read at the first
and at the last such hop; the difference is the growth that the transformation brought.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind
from regraft.measure.schemas import TABLES


def touched_hops(records: DataFrame) -> DataFrame:
    return of_kind(records, "hop").where(f.col("transformation").isNotNull())


def transformations(records: DataFrame) -> DataFrame:
    table = (
        touched_hops(records)
        .groupBy("window", "transformation")
        .agg(
            f.min("at").alias("started"),
            f.max("at").alias("ended"),
            f.count(f.lit(1)).alias("hops"),
            f.count_distinct("publisher", "seq").alias("publications"),
        )
    )
    return conform(table, TABLES["transformations"])


def queue_growth(records: DataFrame) -> DataFrame:
    """Of two hops at the same microsecond, the one with the larger queue counts as the later."""
    moment = f.struct("at", "queue")
    table = (
        touched_hops(records)
        .groupBy("window", "transformation", "broker")
        .agg(f.min(moment).alias("first"), f.max(moment).alias("last"))
        .select("*", f.col("first.queue").alias("before"), f.col("last.queue").alias("after"))
        .withColumn("growth", f.col("after") - f.col("before"))
    )
    return conform(table, TABLES["queue_growth"])
