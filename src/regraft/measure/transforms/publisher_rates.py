"""λ_p: how many publications a second a publisher makes (Content routes §4)."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import all_for, conform, of_kind, stands_for
from regraft.measure.schemas import TABLES


def publisher_rates(records: DataFrame, width: int) -> DataFrame:
    """`width` of a window in microseconds; a publisher that moved stands once for each broker."""
    table = (
        of_kind(records, "publication")
        .groupBy("window", "publisher", "broker")
        .agg(all_for().alias("publications"), f.sum(f.col("size") * stands_for()).alias("bytes"))
        .withColumn("rate", f.col("publications") * 1e6 / width)
    )
    return conform(table, TABLES["publisher_rates"])
