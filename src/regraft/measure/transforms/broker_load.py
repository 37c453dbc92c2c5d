"""The load of a broker in a window: messages, bytes, processor, memory, queue."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform
from regraft.measure.sampled import how_many
from regraft.measure.schemas import NUMBER, TABLES, TEXT, TIME, WHOLE, struct

BY_BROKER = struct(
    window=TIME,
    broker=TEXT,
    publications=WHOLE,
    bytes=WHOLE,
    deliveries=WHOLE,
    queue=WHOLE,
    memory=WHOLE,
    least_cpu=NUMBER,
    most_cpu=NUMBER,
    least_left_out=WHOLE,
    most_left_out=WHOLE,
)
"""A broker may have several rows for a window."""
_COUNTS = ("publications", "bytes", "hops_in", "hops_out", "deliveries")


def broker_load(by_broker: DataFrame, hops: DataFrame, width: int) -> DataFrame:
    """`rate` is publications in, hops in and out, and deliveries per second. `hops` is that of `link_load`.

    `cpu` is the processor seconds between the first and the last health record of the window, `queue` the
    largest one seen, `not_recorded` how many records the broker says that it left out in that time.
    """
    sent = hops.select("window", f.col("from").alias("broker"), f.col("messages").alias("hops_out"), "queue")
    arrived = hops.select("window", f.col("to").alias("broker"), f.col("messages").alias("hops_in"))
    # Each table has few rows. A union and one aggregation is one step; joins would be several.
    rows = by_broker.unionByName(sent, allowMissingColumns=True)
    rows = rows.unionByName(arrived, allowMissingColumns=True)
    table = rows.groupBy("window", "broker").agg(
        *(f.coalesce(f.sum(name), f.lit(0)).alias(name) for name in _COUNTS),
        f.max("queue").alias("queue"),
        f.max("memory").alias("memory"),
        (f.max("most_cpu") - f.min("least_cpu")).alias("cpu"),
        (f.max("most_left_out") - f.min("least_left_out")).alias("not_recorded"),
    )
    handled = sum((f.col(name) for name in ("hops_in", "hops_out", "deliveries")), f.col("publications"))
    return conform(table.withColumn("rate", handled * 1e6 / width), TABLES["broker_load"])


def by_broker(records: DataFrame) -> DataFrame:
    """What brokers record besides hops, of `counted` records. All kinds are aggregated at once, and told
    apart afterwards."""
    kind = f.col("kind")

    def records_of(name: str) -> Column:
        return f.when(kind == name, f.col("records"))

    table = (
        records.where(kind.isin("publication", "delivery", "health"))
        .groupBy("window", "broker", "kind")
        .agg(
            how_many().alias("records"),
            f.sum("size").alias("bytes"),
            f.max("queue").alias("queue"),
            f.max("memory").alias("memory"),
            f.min("cpu").alias("least_cpu"),
            f.max("cpu").alias("most_cpu"),
            f.min("not_recorded").alias("least_left_out"),
            f.max("not_recorded").alias("most_left_out"),
        )
        .withColumns({"publications": records_of("publication"), "deliveries": records_of("delivery")})
    )
    return conform(table, BY_BROKER)
