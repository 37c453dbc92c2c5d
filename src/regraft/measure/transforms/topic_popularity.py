"""Topic popularity (kTCO §VIII): publications, their bytes, deliveries, and how many reached anybody."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import all_for, conform, of_kind, stands_for
from regraft.measure.schemas import TABLES


def topic_popularity(records: DataFrame, by_class_and_topic: DataFrame) -> DataFrame:
    """Publications without a topic stand under null."""
    published = (
        of_kind(records, "publication")
        .groupBy("window", "topic")
        .agg(all_for().alias("publications"), f.sum(f.col("size") * stands_for()).alias("bytes"))
    )
    reached = by_class_and_topic.groupBy("window", "topic_id").agg(
        f.sum("deliveries").alias("deliveries"), f.sum("demand").alias("delivered")
    )
    named = published.withColumn(
        "topic_id", f.when(f.col("topic").isNotNull(), f.xxhash64("topic")).otherwise(f.lit(0).cast("long"))
    )
    table = named.join(f.broadcast(reached), ["window", "topic_id"], "left").fillna(
        0, ["deliveries", "delivered"]
    )
    return conform(table, TABLES["topic_popularity"])
