"""Reduces very many classes: the heaviest are kept, the rest merged so that no link's load is understated.

A merged class has the members of all its parts and the sum of their demands. In every tree, the subtree that
spans a superset contains the subtree that spans each part. So on each link the merged class counts at least
what its parts do, and at most their whole demand. The few brokers that split the rest most evenly decide
which parts are merged: those that agree on these brokers.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from regraft.measure.members import BITS, Brokers


@dataclass(frozen=True)
class Merging:
    """What --top has changed. On a link, the shown load exceeds the true one by at most `merged_demand`
    messages; over all brokers, `excess_visits` more visits are shown than there were."""

    kept: int
    merged_classes: int
    merged_demand: int
    excess_visits: int
    visits: int

    @property
    def error(self) -> float:
        """The excess visits as a share of the true ones."""
        return self.excess_visits / self.visits if self.visits else 0.0


def top_classes(class_sets: DataFrame, brokers: Brokers, top: int) -> DataFrame:
    """At most `top` exact classes in each window, and at most as many merged ones."""
    order = Window.partitionBy("window").orderBy(f.desc("demand"), *brokers.columns)
    ranked = class_sets.withColumn("rank", f.row_number().over(order))
    kept = ranked.where(f.col("rank") <= top).drop("rank")
    # To ask for the other ranks as well would have one task sort all classes of a window.
    rest = class_sets.join(kept.select("window", *brokers.columns), ["window", *brokers.columns], "left_anti")
    bits = _splitting(rest, brokers, max(0, top.bit_length() - 1))
    signature = f.concat(f.lit(""), *(_has(brokers, number).cast("string") for number in bits))
    merged = (
        rest.groupBy("window", signature.alias("signature"))
        .agg(*brokers.united(), *_sums())
        .drop("signature")
    )
    # Two groups may have become the same set, or one that was kept.
    together = kept.unionByName(merged)
    return together.groupBy("window", *brokers.columns).agg(*_sums())


def _sums() -> list[Column]:
    """Aggregates: what classes that are merged add up to. Each publication is in one of them."""
    return [f.sum(name).alias(name) for name in ("demand", "variance", "classes")]


def merging(exact: DataFrame, shown: DataFrame, brokers: Brokers) -> Merging:
    """How much accuracy the merging costs, from the classes before and after."""
    demand, size = f.col("demand"), brokers.size()
    was = exact.agg(f.sum(demand * size).alias("visits"), f.count(f.lit(1)).alias("rows")).collect()[0]
    one = f.col("classes") == 1
    now = shown.agg(
        f.sum(demand * size).alias("visits"),
        f.sum(one.cast("long")).alias("kept"),
        f.sum(f.when(~one, demand)).alias("merged"),
    ).collect()[0]
    visits, kept = was.visits or 0, now.kept or 0
    return Merging(kept, was.rows - kept, now.merged or 0, (now.visits or 0) - visits, visits)


def _splitting(rest: DataFrame, brokers: Brokers, most: int) -> list[int]:
    """The numbers of the brokers whose share of the rest's demand is nearest to a half."""
    numbers = range(len(brokers.names))
    if most == 0 or not brokers.names:
        return []
    sums = [f.sum(f.col("demand") * _has(brokers, number)).alias(f"s{number}") for number in numbers]
    row = rest.agg(f.sum("demand").alias("all"), *sums).collect()[0]
    if not row["all"]:
        return []
    return sorted(numbers, key=lambda number: (abs((row[f"s{number}"] or 0) / row["all"] - 0.5), number))[
        :most
    ]


def _has(brokers: Brokers, number: int) -> Column:
    """1 if the set holds the broker, else 0."""
    if not brokers.as_words:
        return f.array_contains("set", number).cast("long")
    return f.call_function("getbit", f.col(brokers.columns[number // BITS]), f.lit(number % BITS)).cast(
        "long"
    )
