"""Which transformations a window saw, and what they did to the queues of brokers (IPITT §VI-B).

Records carry the id of a change of links, which begins with that of its transformation: `7-4f2a91c0:2.1:1:1`
is of run 7-4f2a91c0. A broker writes its health under this id when it begins to take part in the change and
when its part is over, and a hop under it if the change delayed the publication or sent it again. A broker's
queue is read at the first and at the last such record; the difference is the growth that the change caused,
as IPITT measures it for each shift.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind
from regraft.measure.sampled import stands_for, variance
from regraft.measure.schemas import TABLES


def _touched(records: DataFrame) -> DataFrame:
    """Records under a change. `change` is its id, `transformation` the id of the whole run."""
    under = records.where(f.col("transformation").isNotNull()).withColumn("change", f.col("transformation"))
    return under.withColumn("transformation", f.substring_index("change", ":", 1))


def touched_hops(records: DataFrame) -> DataFrame:
    return of_kind(records, "hop").where(f.col("transformation").isNotNull())


def transformations(records: DataFrame) -> DataFrame:
    """Hops are counted; publications, which may make several of them, are estimated where they were
    sampled."""
    is_hop, is_count = f.col("kind") == "hop", f.col("kind") == "count"
    told = f.when(~is_count, f.col("at"))
    by_publication = (
        _touched(records)
        .groupBy("window", "transformation", "publisher", "seq")
        .agg(
            f.min(told).alias("started"),
            f.max(told).alias("ended"),
            f.sum(f.when(is_count, f.col("count")).when(is_hop & (stands_for() == 1), 1)).alias("hops"),
            # It is on record if the finest sample on its way has it.
            f.min(f.when(is_hop, stands_for())).alias("one_in"),
        )
    )
    table = by_publication.groupBy("window", "transformation").agg(
        f.min("started").alias("started"),
        f.max("ended").alias("ended"),
        f.coalesce(f.sum("hops"), f.lit(0)).alias("hops"),
        f.coalesce(f.sum("one_in"), f.lit(0)).alias("publications"),
        f.sqrt(variance()).alias("error"),
    )
    return conform(table, TABLES["transformations"])


def queue_growth(records: DataFrame) -> DataFrame:
    """Of two records at the same microsecond, the one with the larger queue counts as the later."""
    moment = f.struct("at", "queue")
    table = (
        _touched(of_kind(records, "hop", "health"))
        .groupBy("window", "transformation", "change", "broker")
        .agg(f.min(moment).alias("first"), f.max(moment).alias("last"))
        .select("*", f.col("first.queue").alias("before"), f.col("last.queue").alias("after"))
        .withColumn("growth", f.col("after") - f.col("before"))
    )
    return conform(table, TABLES["queue_growth"])
