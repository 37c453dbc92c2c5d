"""What a broker handles in a window, and how it fares: messages, bytes, processor, memory, queue."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, count_where
from regraft.measure.schemas import TABLES

_COUNTS = ("publications", "bytes", "hops_in", "hops_out", "deliveries")


def broker_load(records: DataFrame, link_load: DataFrame, width: int) -> DataFrame:
    """`rate`: publications in, hops in and out, and deliveries, a second.

    `cpu` is the processor seconds between the first and the last health record of the window, `queue` the
    largest one seen, `not_recorded` how many records the broker left out in that time (it says so itself).
    """
    kind = f.col("kind")
    local = records.groupBy("window", "broker").agg(
        count_where(kind == "publication").alias("publications"),
        f.coalesce(f.sum("size"), f.lit(0)).alias("bytes"),
        count_where(kind == "hop").alias("hops_out"),
        count_where(kind == "delivery").alias("deliveries"),
        f.max("queue").alias("queue"),
        f.max("memory").alias("memory"),
        (f.max("cpu") - f.min("cpu")).alias("cpu"),
        (f.max("not_recorded") - f.min("not_recorded")).alias("not_recorded"),
    )
    arriving = link_load.groupBy("window", f.col("to").alias("broker")).agg(
        f.sum("messages").alias("hops_in")
    )
    table = local.join(arriving, ["window", "broker"], "full_outer").fillna(0, list(_COUNTS))
    handled = sum((f.col(name) for name in ("hops_in", "hops_out", "deliveries")), f.col("publications"))
    return conform(table.withColumn("rate", handled * 1e6 / width), TABLES["broker_load"])
