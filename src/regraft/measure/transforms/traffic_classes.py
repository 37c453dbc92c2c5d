"""Traffic classes and their demand (OCBR §2): which sets of brokers exchange messages, and how many.

A class is the broker of the publisher and those of all subscribers that were reached; its demand is the
number of such publications. A publication without a delivery adds no demand.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform
from regraft.measure.members import Brokers
from regraft.measure.schemas import TABLES


def class_sets(by_class_and_topic: DataFrame, brokers: Brokers) -> DataFrame:
    """window, the set as `brokers.columns`, demand, its variance, classes."""
    return (
        by_class_and_topic.where("demand > 0")
        .groupBy("window", *brokers.columns)
        .agg(f.sum("demand").alias("demand"), f.sum("variance").alias("variance"))
        .withColumn("classes", f.lit(1).cast("long"))
    )


def traffic_classes(class_sets: DataFrame, brokers: Brokers) -> DataFrame:
    more = {"members": brokers.decoded(), "error": f.sqrt("variance")}
    return conform(class_sets.withColumns(more), TABLES["traffic_classes"])
