"""λ_{p,s}: the part of a publisher's stream that a subscriber receives (Content routes (4.2)).

λ_{p,s} = λ_p · |s ∩ p|; the overlap is what was measured: deliveries of p to s per publication of p.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind, sampling_variance, weighted_count
from regraft.measure.schemas import TABLES


def overlap(records: DataFrame, publisher_rates: DataFrame, width: int) -> DataFrame:
    """`share` is null for a publisher whose publications are not on record.

    A subscriber gets a publication once, so every delivery in a row is of a publication of its own.
    """
    delivered = (
        of_kind(records, "delivery")
        .groupBy("window", "publisher", "subscriber", "broker")
        .agg(weighted_count().alias("deliveries"), f.sqrt(sampling_variance()).alias("error"))
    )
    published = publisher_rates.groupBy("window", "publisher").agg(
        f.sum("publications").alias("publications")
    )
    table = (
        delivered.join(published, ["window", "publisher"], "left")
        .withColumn("rate", f.col("deliveries") * 1e6 / width)
        .withColumn("share", f.col("deliveries") / f.col("publications"))
    )
    return conform(table, TABLES["overlap"])
