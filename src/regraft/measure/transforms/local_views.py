"""Each broker's own view of the traffic classes (OCBR §3.1).

A broker cannot see beyond its neighbours: members behind a neighbour are replaced by it, classes that lie
behind a single neighbour are dropped, and classes that have become equal are merged. The broker itself
stands for its own clients.
"""

from collections.abc import Mapping
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from regraft.measure.conform import conform
from regraft.measure.members import BITS, Brokers
from regraft.measure.schemas import TABLES
from regraft.model import Topology


class Behind(NamedTuple):
    """Seen from `broker`: what lies behind `neighbour`, itself included."""

    broker: str
    neighbour: str
    brokers: frozenset[str]


def behind(tree: Topology) -> list[Behind]:
    """Both directions of every link of a tree."""
    found = []
    for broker in tree.ids:
        for neighbour in sorted(tree.neighbours[broker]):
            seen, waiting = {broker, neighbour}, [neighbour]
            while waiting:
                for next in tree.neighbours[waiting.pop()] - seen:
                    seen.add(next)
                    waiting.append(next)
            found.append(Behind(broker, neighbour, frozenset(seen - {broker})))
    return found


def sides(spark: SparkSession, trees: Mapping[int, Topology], brokers: Brokers) -> DataFrame:
    """window, broker, the bit of the neighbour or of the broker itself, and the brokers on that side."""
    rows = []
    for window, tree in trees.items():
        own = [Behind(broker, broker, frozenset({broker})) for broker in tree.ids]
        for broker, neighbour, beyond in behind(tree) + own:
            known = [name for name in beyond if name in brokers.number]
            if known and neighbour in brokers.number:
                number = brokers.number[neighbour]
                bit = brokers.words([neighbour])[number // BITS] if brokers.as_words else 0
                side = brokers.words(known) if brokers.as_words else sorted(brokers.number[n] for n in known)
                rows.append((window, broker, number, number // BITS, bit, side))
    kind = "long" if brokers.as_words else "int"
    table = spark.createDataFrame(
        rows, f"start long, broker string, number int, word int, bit long, side array<{kind}>"
    )
    return table.withColumn("window", f.timestamp_micros("start")).drop("start")


def local_views(class_sets: DataFrame, sides: DataFrame, brokers: Brokers) -> DataFrame:
    """Classes of windows without a tree have no view."""
    classes = class_sets.withColumn("class", f.struct(*brokers.columns))
    seen = classes.join(f.broadcast(sides), "window", "inner").where(_reaches(brokers))
    views = (
        seen.groupBy("window", "broker", "class", "demand", "variance")
        .agg(*brokers.folded(), f.count(f.lit(1)).alias("sides"), f.max("number").alias("only"))
        .join(f.broadcast(_numbers(sides, brokers)), "broker", "inner")
        # A class behind a single neighbour is dropped: the broker cannot change anything for it.
        .where((f.col("sides") > 1) | (f.col("only") == f.col("own")))
    )
    table = views.groupBy("window", "broker", *brokers.columns).agg(
        f.sum("demand").alias("demand"), f.sqrt(f.sum("variance")).alias("error")
    )
    return conform(table.withColumn("members", brokers.decoded()), TABLES["local_views"])


def _reaches(brokers: Brokers) -> Column:
    """Whether the class has a member on the side."""
    if not brokers.as_words:
        return f.arrays_overlap("set", "side")
    some = f.lit(False)
    for number, name in enumerate(brokers.columns):
        some = some | (f.col(name).bitwiseAND(f.get("side", f.lit(number))) != 0)
    return some


def _numbers(sides: DataFrame, brokers: Brokers) -> DataFrame:
    rows = list(brokers.number.items())
    return sides.sparkSession.createDataFrame(rows, "broker string, own int")
