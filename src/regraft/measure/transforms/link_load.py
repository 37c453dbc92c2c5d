"""How many messages a link carries in each direction, and how many of them during a transformation."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind
from regraft.measure.schemas import TABLES


def link_load(records: DataFrame, width: int) -> DataFrame:
    table = (
        of_kind(records, "hop")
        .groupBy("window", "from", "to")
        .agg(f.count(f.lit(1)).alias("messages"), f.count("transformation").alias("transformed"))
        .withColumn("rate", f.col("messages") * 1e6 / width)
    )
    return conform(table, TABLES["link_load"])
