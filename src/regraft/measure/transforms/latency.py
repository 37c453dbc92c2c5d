"""Delivery latencies before, during and apart from transformations (IPITT §VI-B).

A delivery is `during` if its publication made a hop under a transformation; `before` if it did not and was
delivered before the first such hop of its window; otherwise `untouched`. Latencies are counted in buckets
(`protocol.latency_buckets`), so no group has to hold single latencies. What brokers have counted of a window
without any transformation is all `untouched`; in other windows, phases are those of recorded deliveries.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind
from regraft.measure.sampled import Seen, comparable, estimated, stands_for
from regraft.measure.schemas import TABLES
from regraft.measure.transforms.transformations import touched_hops
from regraft.measure.windows import among
from regraft.protocol.latency_buckets import GROWTH, LOG_GROWTH

MOST_BROADCAST = 1_000_000
PHASES = ("untouched", "before", "during")
QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


def phased(records: DataFrame, touched: DataFrame | None) -> DataFrame:
    """Deliveries with their phase: window, phase, latency, one_in. `touched` is the result of the function
    below.

    A delivery is looked up only in a window that saw a transformation, and by one 64-bit number, because
    Spark has a hash table for such keys that is twice as fast.
    """
    deliveries = of_kind(records, "delivery")
    if touched is None:
        return deliveries.select("window", f.lit("untouched").alias("phase"), "latency", "one_in")
    begun = touched.groupBy("start").agg(f.min("begun").alias("begun"))
    phase = (
        f.when(f.col("touched").isNotNull(), f.lit("during"))
        .when(f.col("at") < f.col("begun"), f.lit("before"))
        .otherwise(f.lit("untouched"))
    )
    return (
        deliveries.withColumn("start", f.unix_micros("window"))
        .join(f.broadcast(begun), "start", "left")
        .withColumn("publication", f.when(f.col("begun").isNotNull(), _publication()))
        .join(touched.select("publication", f.lit(1).alias("touched")), "publication", "left")
        .select("window", phase.alias("phase"), "latency", "one_in")
    )


def touched(records: DataFrame, hops: int) -> DataFrame | None:
    """The publications that made a hop under a transformation; `hops` is how many such hops there are.

    Their number decides how they are joined with the deliveries: not at all, by a broadcast, or by a shuffle
    of both.
    """
    if hops == 0:
        return None
    table = (
        touched_hops(records)
        .groupBy(f.unix_micros("window").alias("start"), _publication().alias("publication"))
        .agg(f.min("at").alias("begun"))
    )
    return f.broadcast(table) if hops <= MOST_BROADCAST else table


def _publication() -> Column:
    """A publication as a number. A collision is as unlikely as in `publications`."""
    return f.xxhash64("window", "publisher", "seq")


def bucket_of(latency: Column) -> Column:
    return f.ceil(f.log(f.greatest(latency, f.lit(1).cast("long"))) / LOG_GROWTH).cast("int")


def latency_counts(records: DataFrame, touched: DataFrame | None, seen: Seen, width: int) -> DataFrame:
    """window, phase, bucket, deliveries, sum and largest: few rows, from which both tables are made."""
    if not seen.has_samples:
        return _by_bucket(phased(records, touched))
    changed = among(seen.changed, width)
    # To know the phase of a delivery, all hops of its publication have to be on record.
    known = comparable(records.where(changed), seen, seen.on_ways)
    alone = of_kind(records, "delivery").where(~changed & (stands_for() == 1))
    recorded = _by_bucket(phased(known.unionByName(alone), touched))
    told = of_kind(records, "count").where((f.col("of") == "latency") & ~changed)
    by_brokers = told.groupBy("window", f.lit("untouched").alias("phase"), f.col("bucket").cast("int")).agg(
        f.sum("count").alias("deliveries"), f.sum("latency").alias("sum"), f.max("largest").alias("largest")
    )
    sums = [f.sum(name).alias(name) for name in ("deliveries", "sum")]
    both = recorded.unionByName(by_brokers).groupBy("window", "phase", "bucket")
    return both.agg(*sums, f.max("largest").alias("largest"))


def _by_bucket(phased: DataFrame) -> DataFrame:
    return phased.groupBy("window", "phase", bucket_of(f.col("latency")).alias("bucket")).agg(
        estimated().alias("deliveries"),
        f.sum(f.col("latency") * stands_for()).alias("sum"),
        f.max("latency").alias("largest"),
    )


def latency_histogram(latency_counts: DataFrame) -> DataFrame:
    return conform(latency_counts, TABLES["latency_histogram"])


def latency(latency_counts: DataFrame) -> DataFrame:
    """The quantile q is the value of rank ⌈q·n⌉, read off the bucket that holds it."""
    order = Window.partitionBy("window", "phase").orderBy("bucket").rowsBetween(Window.unboundedPreceding, 0)
    whole = Window.partitionBy("window", "phase")
    ranked = latency_counts.withColumn("upto", f.sum("deliveries").over(order)).withColumn(
        "total", f.sum("deliveries").over(whole)
    )
    middle = f.pow(f.lit(GROWTH), f.col("bucket")) * (2 / (1 + GROWTH))

    def quantile(share: float) -> Column:
        # The first bucket that reaches the rank: buckets before it are null, and `min` ignores them.
        return f.min(f.when(f.col("upto") >= f.ceil(f.col("total") * share), middle))

    table = ranked.groupBy("window", "phase").agg(
        f.sum("deliveries").alias("deliveries"),
        *(quantile(share).alias(name) for name, share in QUANTILES.items()),
        (f.sum("sum") / f.sum("deliveries")).alias("mean"),
        f.max("largest").alias("largest"),
    )
    return conform(table, TABLES["latency"])
