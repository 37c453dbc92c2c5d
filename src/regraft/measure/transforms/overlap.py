"""λ_{p,s}: the part of a publisher's stream that a subscriber receives (Content routes (4.2)).

λ_{p,s} = λ_p · |s ∩ p|; the overlap is what was measured: deliveries of p to s per publication of p.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind
from regraft.measure.sampled import how_many
from regraft.measure.schemas import TABLES


def overlap(records: DataFrame, publisher_rates: DataFrame, width: int) -> DataFrame:
    """Of `counted` records. `share` is null for a publisher whose publications are not on record."""
    delivered = (
        of_kind(records, "delivery")
        .groupBy("window", "publisher", "subscriber", "broker")
        .agg(how_many().alias("deliveries"))
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
