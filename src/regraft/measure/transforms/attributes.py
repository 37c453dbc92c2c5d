"""What events hold: a histogram for every attribute (Content routes §4.3).

Numbers are counted in `BINS` equal bins between the smallest and the largest. For texts, the histogram
counts the `CHOICES` most frequent ones, and in its last entry all others.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from regraft.measure.conform import conform, of_kind
from regraft.measure.schemas import TABLES

BINS = 64
CHOICES = 32


def sampled(records: DataFrame, one_in: int) -> DataFrame:
    """One publication in `one_in`; the same ones on every run."""
    published = of_kind(records, "publication")
    return published if one_in <= 1 else published.where(f.pmod(f.xxhash64("publisher", "seq"), one_in) == 0)


def attributes(publications: DataFrame) -> DataFrame:
    return numeric(publications).unionByName(textual(publications))


def numeric(publications: DataFrame) -> DataFrame:
    values = publications.select("window", f.explode("numbers").alias("attribute", "value")).where(
        ~f.isnan("value") & (f.abs("value") < float("inf"))
    )
    bounds = values.groupBy("window", "attribute").agg(
        f.count(f.lit(1)).alias("publications"), f.min("value").alias("low"), f.max("value").alias("high")
    )
    width = (f.col("high") - f.col("low")) / BINS
    place = f.floor((f.col("value") - f.col("low")) / width)
    bin = f.when(width > 0, f.least(place, f.lit(BINS - 1))).otherwise(0).cast("int")
    counted = (
        values.join(f.broadcast(bounds), ["window", "attribute"], "inner")
        .groupBy("window", "attribute", bin.alias("bin"))
        .agg(f.count(f.lit(1)).alias("count"))
        .groupBy("window", "attribute")
        .agg(f.map_from_entries(f.collect_list(f.struct("bin", "count"))).alias("counts"))
    )
    histogram = f.transform(
        f.sequence(f.lit(0), f.lit(BINS - 1)),
        lambda bin: f.coalesce(f.try_element_at("counts", bin), f.lit(0)),
    )
    table = bounds.join(counted, ["window", "attribute"], "inner").select(
        "*", f.lit(True).alias("numeric"), histogram.alias("histogram")
    )
    return conform(table, TABLES["attributes"])


def textual(publications: DataFrame) -> DataFrame:
    values = publications.select("window", f.explode("strings").alias("attribute", "value"))
    counts = values.groupBy("window", "attribute", "value").agg(f.count(f.lit(1)).alias("count"))
    order = Window.partitionBy("window", "attribute").orderBy(f.desc("count"), "value")
    ranked = counts.withColumn("rank", f.row_number().over(order))
    chosen = f.col("rank") <= CHOICES
    pairs = f.array_sort(f.collect_list(f.when(chosen, f.struct("rank", "value", "count"))))
    table = (
        ranked.groupBy("window", "attribute")
        .agg(
            f.sum("count").alias("publications"),
            pairs.alias("pairs"),
            f.coalesce(f.sum(f.when(~chosen, f.col("count"))), f.lit(0)).alias("others"),
        )
        .select(
            "*",
            f.lit(False).alias("numeric"),
            f.col("pairs.value").alias("choices"),
            f.concat("pairs.count", f.array("others")).alias("histogram"),
        )
    )
    return conform(table, TABLES["attributes"])
