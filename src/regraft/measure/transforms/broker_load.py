"""What a broker handles in a window, and how it fares: messages, bytes, processor, memory, queue."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform
from regraft.measure.schemas import REQUIRED, TABLES

_COUNTS = ("publications", "bytes", "hops_in", "hops_out", "deliveries")


def broker_load(
    records: DataFrame, hops: DataFrame, width: int, deliveries: DataFrame | None = None
) -> DataFrame:
    """`rate`: publications in, hops in and out, and deliveries, a second. `hops` as from `link_load`;
    `deliveries` (window, broker, deliveries), where they are counted already.

    `cpu` is the processor seconds between the first and the last health record of the window, `queue` the
    largest one seen, `not_recorded` how many records the broker left out in that time (it says so itself).
    """
    sent = hops.groupBy("window", f.col("from").alias("broker")).agg(
        f.sum("messages").alias("hops_out"), f.max("queue").alias("queue_of_hops")
    )
    arrived = hops.groupBy("window", f.col("to").alias("broker")).agg(f.sum("messages").alias("hops_in"))
    key = ["window", "broker"]
    table = (
        _without_hops(records, deliveries)
        .join(sent, key, "full_outer")
        .join(arrived, key, "full_outer")
        .withColumn("queue", f.greatest("queue", "queue_of_hops"))
        .fillna(0, list(_COUNTS))
    )
    handled = sum((f.col(name) for name in ("hops_in", "hops_out", "deliveries")), f.col("publications"))
    return conform(table.withColumn("rate", handled * 1e6 / width), TABLES["broker_load"])


def _without_hops(records: DataFrame, deliveries: DataFrame | None) -> DataFrame:
    """First by kind: one count for each record, instead of a question for each kind of it."""
    kind = f.col("kind")
    counted = {"hop"} if deliveries is None else {"hop", "delivery"}
    by_kind = (
        records.where(kind.isin(*sorted(REQUIRED.keys() - counted)))
        .groupBy("window", "broker", "kind")
        .agg(
            f.count(f.lit(1)).alias("records"),
            f.sum("size").alias("size"),
            f.max("queue").alias("queue"),
            f.max("memory").alias("memory"),
            f.min("cpu").alias("least_cpu"),
            f.max("cpu").alias("most_cpu"),
            f.min("not_recorded").alias("least_left_out"),
            f.max("not_recorded").alias("most_left_out"),
        )
    )

    if deliveries is not None:
        delivered = deliveries.select(
            "window", "broker", f.lit("delivery").alias("kind"), f.col("deliveries").alias("records")
        )
        by_kind = by_kind.unionByName(delivered, allowMissingColumns=True)

    def records_of(name: str) -> Column:
        return f.coalesce(f.sum(f.when(kind == name, f.col("records"))), f.lit(0))

    return by_kind.groupBy("window", "broker").agg(
        records_of("publication").alias("publications"),
        f.coalesce(f.sum("size"), f.lit(0)).alias("bytes"),
        records_of("delivery").alias("deliveries"),
        f.max("queue").alias("queue"),
        f.max("memory").alias("memory"),
        (f.max("most_cpu") - f.min("least_cpu")).alias("cpu"),
        (f.max("most_left_out") - f.min("least_left_out")).alias("not_recorded"),
    )
