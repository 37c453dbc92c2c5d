"""λ_p: how many publications a second a publisher makes (Content routes §4)."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind
from regraft.measure.sampled import how_many
from regraft.measure.schemas import TABLES


def publisher_rates(records: DataFrame, width: int) -> DataFrame:
    """Of `counted` records. `width` of a window in microseconds. A publisher that moved has a row for each
    broker."""
    table = (
        of_kind(records, "publication")
        .groupBy("window", "publisher", "broker")
        .agg(
            how_many().alias("publications"),
            f.sum("size").alias("bytes"),
        )
        .withColumn("rate", f.col("publications") * 1e6 / width)
    )
    return conform(table, TABLES["publisher_rates"])
