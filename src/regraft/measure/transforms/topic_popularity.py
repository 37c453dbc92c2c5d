"""Topic popularity (kTCO §VIII): publications, their bytes, deliveries, and how many were delivered."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind
from regraft.measure.sampled import how_many
from regraft.measure.schemas import TABLES
from regraft.measure.transforms.publications import topic_id


def topic_popularity(counted: DataFrame, by_class_and_topic: DataFrame) -> DataFrame:
    """Publications without a topic are in the row of topic null. Deliveries are estimated where publications
    were sampled: the broker that delivers knows the topic of recorded ones only."""
    published = (
        of_kind(counted, "publication")
        .groupBy("window", "topic")
        .agg(
            how_many().alias("publications"),
            f.sum("size").alias("bytes"),
        )
    )
    reached = by_class_and_topic.groupBy("window", "topic_id").agg(
        f.sum("deliveries").alias("deliveries"),
        f.sum("demand").alias("delivered"),
        f.sqrt(f.sum("variance")).alias("error"),
    )
    table = (
        published.withColumn("topic_id", topic_id())
        .join(f.broadcast(reached), ["window", "topic_id"], "left")
        .fillna(0, ["deliveries", "delivered", "error"])
    )
    return conform(table, TABLES["topic_popularity"])
