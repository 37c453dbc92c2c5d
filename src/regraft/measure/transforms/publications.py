"""Every publication once: at which brokers it was published and delivered (OCBR §2).

This is the one large shuffle of the pipeline; traffic classes and the popularity of topics are made from it.
A 64-bit hash stands for the publisher: a wrong merge would need two publishers with the same hash and the
same sequence number in one window (a probability of 10⁻⁸ with a million publishers).
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from regraft.measure.members import Brokers, with_bits
from regraft.measure.sampled import estimated, stands_for, variance

NO_TOPIC = 0


def publications(records: DataFrame, brokers: Brokers) -> DataFrame:
    """window, publisher_id, seq, one_in, the brokers of its class, topic_id, deliveries; of `comparable`
    records, so that those of a publication at several brokers count once."""
    seen = records.select(
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
            estimated(f.col("delivery")).alias("deliveries"),
        )
    )


def topic_id() -> Column:
    return f.when(f.col("topic").isNotNull(), f.xxhash64("topic")).otherwise(f.lit(NO_TOPIC).cast("long"))


def by_class_and_topic(publications: DataFrame, brokers: Brokers) -> DataFrame:
    """How many publications of each class and topic; small enough to be kept for both tables. `variance` is
    that of the demand."""
    delivered = f.col("deliveries") > 0
    return publications.groupBy("window", *brokers.columns, "topic_id").agg(
        estimated(delivered).alias("demand"),
        variance(delivered).alias("variance"),
        f.sum("deliveries").alias("deliveries"),
    )
