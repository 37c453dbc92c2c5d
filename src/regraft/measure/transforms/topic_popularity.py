"""Topic popularity (kTCO §VIII): publications, their bytes, deliveries, and how many were delivered."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind, sampling_variance, stands_for, weighted_count
from regraft.measure.schemas import TABLES
from regraft.measure.transforms.publications import topic_id


def topic_popularity(records: DataFrame, by_class_and_topic: DataFrame) -> DataFrame:
    """Publications without a topic are in the row of topic null."""
    published = (
        of_kind(records, "publication")
        .groupBy("window", "topic")
        .agg(
            weighted_count().alias("publications"),
            f.sum(f.col("size") * stands_for()).alias("bytes"),
            f.sqrt(sampling_variance()).alias("error"),
        )
    )
    reached = by_class_and_topic.groupBy("window", "topic_id").agg(
        f.sum("deliveries").alias("deliveries"), f.sum("demand").alias("delivered")
    )
    table = (
        published.withColumn("topic_id", topic_id())
        .join(f.broadcast(reached), ["window", "topic_id"], "left")
        .fillna(0, ["deliveries", "delivered"])
    )
    return conform(table, TABLES["topic_popularity"])
