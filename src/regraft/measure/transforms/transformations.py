"""Which transformations a window saw, and what they did to the queues of brokers (IPITT §VI-B).

Records carry the id of a change of links, which begins with that of its transformation: `7-4f2a91c0:2.1:1:1`
is of run 7-4f2a91c0. A broker writes its health under this id when it begins to take part in the change and
when its part is over, and a hop under it if the change delayed the publication or sent it again. A broker's
queue is read at the first and at the last such record; the difference is the growth that the change caused,
as IPITT measures it for each shift.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind, stands_for, weighted_count
from regraft.measure.schemas import TABLES


def _touched(records: DataFrame) -> DataFrame:
    """Records under a change. `change` is its id, `transformation` the id of the whole run."""
    under = records.where(f.col("transformation").isNotNull()).withColumn("change", f.col("transformation"))
    return under.withColumn("transformation", f.substring_index("change", ":", 1))


def touched_hops(records: DataFrame) -> DataFrame:
    return of_kind(records, "hop").where(f.col("transformation").isNotNull())


def transformations(records: DataFrame) -> DataFrame:
    is_hop = f.col("kind") == "hop"
    by_publication = (
        _touched(records)
        .groupBy("window", "transformation", "publisher", "seq")
        .agg(
            f.min("at").alias("started"),
            f.max("at").alias("ended"),
            weighted_count(is_hop).alias("hops"),
            f.max(f.when(is_hop, stands_for())).alias("publications"),
        )
    )
    stand_for = f.col("publications").cast("double")
    table = by_publication.groupBy("window", "transformation").agg(
        f.min("started").alias("started"),
        f.max("ended").alias("ended"),
        f.sum("hops").alias("hops"),
        f.coalesce(f.sum("publications"), f.lit(0)).alias("publications"),
        f.sqrt(f.coalesce(f.sum(stand_for * (stand_for - 1)), f.lit(0.0))).alias("error"),
    )
    return conform(table, TABLES["transformations"])


def queue_growth(records: DataFrame) -> DataFrame:
    """Of two records at the same microsecond, the one with the larger queue counts as the later."""
    moment = f.struct("at", "queue")
    table = (
        _touched(records)
        .groupBy("window", "transformation", "change", "broker")
        .agg(f.min(moment).alias("first"), f.max(moment).alias("last"))
        .select("*", f.col("first.queue").alias("before"), f.col("last.queue").alias("after"))
        .withColumn("growth", f.col("after") - f.col("before"))
    )
    return conform(table, TABLES["queue_growth"])
