"""Every publication once: at which brokers it was published and delivered (OCBR §2).

The one large shuffle of the pipeline, and what traffic classes and the popularity of topics are read from.
Publishers are numbered by a 64-bit hash: a wrong merge would need two publishers of one hash and the same
number in one window (odds of 10⁻⁸ with a million publishers).
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import all_for, of_kind, stands_for
from regraft.measure.members import Brokers, with_bits

NO_TOPIC = 0


def publications(records: DataFrame, brokers: Brokers) -> DataFrame:
    """window, publisher_id, seq, one_in, the brokers of its class, topic_id, deliveries.

    A sample has the same publications on every broker, so those of all brokers stand for as many as one.
    """
    seen = of_kind(records, "publication", "delivery").select(
        "window",
        f.xxhash64("publisher").alias("publisher_id"),
        "seq",
        "broker",
        stands_for().alias("one_in"),
        (f.col("kind") == "delivery").alias("delivery"),
        topic_id().alias("topic_id"),
    )
    return (
        with_bits(seen, brokers)
        .groupBy("window", "publisher_id", "seq")
        .agg(
            f.max("one_in").alias("one_in"),
            *brokers.folded(),
            f.bit_or("topic_id").alias("topic_id"),
            all_for(f.col("delivery")).alias("deliveries"),
        )
    )


def topic_id() -> Column:
    return f.when(f.col("topic").isNotNull(), f.xxhash64("topic")).otherwise(f.lit(NO_TOPIC).cast("long"))


def by_class_and_topic(publications: DataFrame, brokers: Brokers) -> DataFrame:
    """How many publications of each class and topic; small enough to be kept for both tables."""
    return publications.groupBy("window", *brokers.columns, "topic_id").agg(
        all_for(f.col("deliveries") > 0).alias("demand"), f.sum("deliveries").alias("deliveries")
    )
