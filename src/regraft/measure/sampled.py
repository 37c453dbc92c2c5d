"""Records of which some are a sample: what is counted, and what is comparable.

Brokers that record only one publication in N count all of them (`protocol.telemetry.Counted`), so sums are
exact, and a sampled record adds nothing to them. What a sample is needed for is a publication as a whole: the
brokers that it reaches, and what delayed it. Brokers choose N by their own budgets, so in a window the
coarsest N counts: what it keeps, all brokers have recorded (`protocol.sampling`).
"""

from collections.abc import Mapping
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from regraft.measure.conform import of_kind
from regraft.protocol.telemetry import TRACES


class Seen(NamedTuple):
    """What the records of some windows hold; windows by their start in microseconds."""

    published: int
    """Publications on record."""
    touched: int
    """Hops under a transformation that are on record."""
    changed: frozenset[int]
    """Windows in which a transformation has held up publications."""
    finest: dict[int, int]
    """How many publications one stands for, by the finest sample that brokers have recorded of a window."""
    at_ends: dict[int, int]
    """By the coarsest sample of brokers that had publishers or subscribers of a publication in the window."""
    on_ways: dict[int, int]
    """By the coarsest sample of all brokers."""

    @property
    def has_samples(self) -> bool:
        return any(one_in > 1 for one_in in self.on_ways.values())


def seen(records: DataFrame) -> Seen:
    """Goes through the records once."""
    kind, under = f.col("kind"), f.col("transformation").isNotNull()
    told = f.when(kind == "count", f.col("of")).otherwise(kind)
    traffic, ends = told.isin(*TRACES, "latency"), told.isin("publication", "delivery", "latency")
    table = records.groupBy(f.unix_micros("window").alias("start")).agg(
        f.count_if(kind == "publication").alias("published"),
        f.count_if((kind == "hop") & under).alias("touched"),
        f.bool_or(under & (told == "hop")).alias("changed"),
        f.min(f.when(traffic, stands_for())).alias("finest"),
        f.max(f.when(ends, stands_for())).alias("at_ends"),
        f.max(f.when(traffic, stands_for())).alias("on_ways"),
    )
    rows = table.collect()
    return Seen(
        sum(row.published for row in rows),
        sum(row.touched for row in rows),
        frozenset(row.start for row in rows if row.changed),
        *({row.start: row[name] or 1 for row in rows} for name in ("finest", "at_ends", "on_ways")),
    )


def counted(records: DataFrame) -> DataFrame:
    """Counts take the place of what they count: they are records of its kind, and records of a sample are
    left out. `how_many` adds them up."""
    kind = f.when(f.col("kind") == "count", f.col("of")).when(
        ~f.col("kind").isin(*TRACES) | (stands_for() == 1), f.col("kind")
    )
    return records.withColumn("kind", kind).where(f.col("kind").isNotNull())


def how_many(condition: Column | None = None) -> Column:
    """Aggregate over `counted` records: how many publications, hops or deliveries (with this condition)."""
    each = f.coalesce("count", f.lit(1).cast("long"))
    return f.coalesce(f.sum(each if condition is None else f.when(condition, each)), f.lit(0).cast("long"))


def stands_for() -> Column:
    """How many publications, hops or deliveries a record of a sample stands for."""
    return f.coalesce("one_in", f.lit(1).cast("long"))


def estimated(condition: Column | None = None) -> Column:
    """Aggregate over records of a sample: how many (with this condition) there were, about."""
    each = stands_for()
    return f.coalesce(f.sum(each if condition is None else f.when(condition, each)), f.lit(0).cast("long"))


def variance(condition: Column | None = None) -> Column:
    """Aggregate: at most the variance of `estimated`, if each record is of a publication of its own.

    A publication that counts for N was in the sample with probability 1/N. Were each chosen for itself, the
    count N of one would have the estimated variance N (N - 1). It is a fraction, because the square of what a
    strange record says may be too large for a whole number.
    """
    each = stands_for().cast("double")
    square = each * (each - 1)
    return f.coalesce(f.sum(square if condition is None else f.when(condition, square)), f.lit(0.0))


def comparable(records: DataFrame, found: Seen, coarsest: Mapping[int, int]) -> DataFrame:
    """The publications and deliveries in the coarsest sample of their windows, standing for as many as it
    says. `coarsest`: that of all brokers whose records of them are wanted."""
    traces = of_kind(records, "publication", "delivery")
    mixed = {start: one_in for start, one_in in coarsest.items() if one_in > found.finest[start]}
    if not mixed:
        return traces
    table = records.sparkSession.createDataFrame(sorted(mixed.items()), "start long, coarsest long")
    joined = traces.withColumn("start", f.unix_micros("window")).join(f.broadcast(table), "start", "left")
    wanted = f.coalesce("coarsest", stands_for())
    kept = reduce(
        Column.__or__,
        [(wanted == one_in) & in_sample(one_in) for one_in in sorted(set(mixed.values()))],
        stands_for() == wanted,
    )
    return joined.where(kept).withColumn("one_in", wanted).drop("start", "coarsest")


def in_sample(one_in: int) -> Column:
    """Whether the publication is in the sample of one in so many: `protocol.sampling.chosen` as columns."""
    seq = f.col("seq")
    rules, size = [], one_in
    while size % 2 == 0:
        rules.append(_digest(size) % 2 == _div(size // 2) % 2)
        size //= 2
    if size > 1:
        rules.append(_digest(size) % size == seq % size)
    return reduce(Column.__and__, rules, f.lit(True))


def _digest(size: int) -> Column:
    text = f.concat_ws("/", "publisher", f.lit(str(size)), _div(size).cast("string"))
    return f.conv(f.substring(f.md5(text.cast("binary")), 1, 8), 16, 10).cast("long")


def _div(size: int) -> Column:
    return f.expr(f"seq div {size}")
