"""Who is interested in what, from when to when (kTCO §III, the function Int over time).

Interest records tell when interest was added and removed; a row of the table is a time during which it held.
`since` is null if the first record is a removal: the interest was added before anything was recorded.
"""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from regraft.measure.conform import conform
from regraft.measure.schemas import TABLES, TIME, struct
from regraft.measure.windows import window_of

KEY = ("broker", "client", "role", "filter")
MATRIX = struct(node=TABLES["interest"]["broker"].dataType, topic=TABLES["interest"]["topic"].dataType)


def _changes(records: DataFrame) -> DataFrame:
    """Alternating additions and removals: of equal ones in a row the first. `next`: when it changed again."""
    order = Window.partitionBy(*KEY).orderBy("at", "change")
    said = records.where(f.col("kind") == "interest").withColumn("previous", f.lag("change").over(order))
    turns = said.where(f.col("previous").isNull() | (f.col("previous") != f.col("change")))
    return turns.withColumn("next", f.lead("at").over(order))


def told_by(interest: DataFrame) -> DataFrame:
    """Records that say what the rows of the table say."""
    held = interest.select(*KEY, "since", "until").distinct()
    added = held.where("since IS NOT NULL").select(
        *KEY, f.col("since").alias("at"), f.lit("added").alias("change")
    )
    removed = held.where("until IS NOT NULL").select(
        *KEY, f.col("until").alias("at"), f.lit("removed").alias("change")
    )
    kind = f.lit("interest").alias("kind")
    return added.unionByName(removed).select(kind, *KEY, "at", "change")


def interest(records: DataFrame, filters_read: DataFrame, width: int) -> DataFrame:
    """A filter that pins several topics has a row for each; one that pins none has null."""
    changes = _changes(records.select("kind", *KEY, "at", "change"))
    added = f.col("change") == "added"
    held = changes.where(added | f.col("previous").isNull()).select(
        *KEY,
        f.when(added, f.col("at")).alias("since"),
        f.when(added, f.col("next")).otherwise(f.col("at")).alias("until"),
    )
    start = window_of(f.unix_micros(f.coalesce("since", "until")), width)
    topics = f.broadcast(filters_read.select("filter", f.explode_outer("topics").alias("topic")))
    return conform(held.join(topics, "filter", "left").withColumn("window", start), TABLES["interest"])


def interest_at(interest: DataFrame, at: datetime | None = None) -> DataFrame:
    """The rows that hold at a time; by default now."""
    if at is None:
        return interest.where(f.col("until").isNull())
    moment = f.lit(at).cast(TIME)
    begun = f.col("since").isNull() | (f.col("since") <= moment)
    return interest.where(begun & (f.col("until").isNull() | (f.col("until") > moment)))


def interest_matrix(interest: DataFrame, at: datetime | None = None) -> DataFrame:
    """The pairs (node, topic) for which Int is true: brokers with a client that subscribes to the topic, or
    publishes on it, because in a mesh its events travel over such brokers alone."""
    wanted = interest_at(interest, at).where("topic IS NOT NULL")
    return conform(wanted.select(f.col("broker").alias("node"), "topic").distinct(), MATRIX)


def in_force(interest: DataFrame, windows: Sequence[int], width: int) -> DataFrame:
    """window, filter, subscribers: the filters that hold at the end of each window."""
    starts = interest.sparkSession.createDataFrame([(start,) for start in windows], "start long")
    of = starts.select(f.timestamp_micros("start").alias("window"))
    end = f.timestamp_micros(f.unix_micros("w.window") + width)
    begun = f.col("i.since").isNull() | (f.col("i.since") < end)
    held = begun & (f.col("i.until").isNull() | (f.col("i.until") >= end)) & (f.col("i.role") == "subscriber")
    found = interest.alias("i").join(f.broadcast(of).alias("w"), held, "inner")
    return found.groupBy("w.window", "i.filter").agg(f.count_distinct("i.client").alias("subscribers"))
