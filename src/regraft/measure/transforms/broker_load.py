"""What a broker handles in a window, and how it fares: messages, bytes, processor, memory, queue."""

from functools import reduce

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
    sent = hops.select("window", f.col("from").alias("broker"), f.col("messages").alias("hops_out"), "queue")
    arrived = hops.select("window", f.col("to").alias("broker"), f.col("messages").alias("hops_in"))
    counted = {"hop"} if deliveries is None else {"hop", "delivery"}
    parts = [_by_kind(records, sorted(REQUIRED.keys() - counted)), sent, arrived]
    if deliveries is not None:
        parts.append(deliveries.select("window", "broker", "deliveries"))
    # Few rows of each; put under each other, and not joined, they meet in one step.
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    table = rows.groupBy("window", "broker").agg(
        *(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in _COUNTS),
        f.max("queue").alias("queue"),
        f.max("memory").alias("memory"),
        (f.max("most_cpu") - f.min("least_cpu")).alias("cpu"),
        (f.max("most_left_out") - f.min("least_left_out")).alias("not_recorded"),
    )
    handled = sum((f.col(name) for name in ("hops_in", "hops_out", "deliveries")), f.col("publications"))
    return conform(table.withColumn("rate", handled * 1e6 / width), TABLES["broker_load"])


def _by_kind(records: DataFrame, kinds: list[str]) -> DataFrame:
    """One count for each record, instead of a question for each kind of it."""
    kind = f.col("kind")

    def records_of(name: str) -> Column:
        return f.when(kind == name, f.col("records"))

    return (
        records.where(kind.isin(*kinds))
        .groupBy("window", "broker", "kind")
        .agg(
            f.count(f.lit(1)).alias("records"),
            f.sum("size").alias("bytes"),
            f.max("queue").alias("queue"),
            f.max("memory").alias("memory"),
            f.min("cpu").alias("least_cpu"),
            f.max("cpu").alias("most_cpu"),
            f.min("not_recorded").alias("least_left_out"),
            f.max("not_recorded").alias("most_left_out"),
        )
        .withColumns({"publications": records_of("publication"), "deliveries": records_of("delivery")})
        .drop("kind", "records")
    )
