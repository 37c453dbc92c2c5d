"""Which attributes are worth a dimension of the dz index, and where to split them (Content routes §4.3).

A dimension helps if filters name it and events differ in it. Its score is the share of filters that name the
attribute, times the entropy of its histogram (1: all bins are equal). If no filter is known, the entropy
alone decides, and texts that hardly repeat are left out. `splits` cut the values of a number into `PARTS`
equally frequent parts.

No command reads the table yet; it is meant for the dimensions of live content routes.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from regraft.measure.conform import conform
from regraft.measure.schemas import TABLES

PARTS = 8
MOST = 16
_ROW = ("window", "attribute", "numeric")


def dimensions(attributes: DataFrame, asked: DataFrame) -> DataFrame:
    """`asked`: window, attribute, filters (that name it), of (all filters in force in the window)."""
    known = asked.groupBy("window").agg(f.max("of").alias("of"))
    share = f.when(f.col("of") > 0, f.coalesce("filters", f.lit(0)) / f.col("of"))
    repeats = f.col("numeric") | (f.element_at("histogram", -1) * 2 < f.col("publications"))
    scored = (
        attributes.join(_shapes(attributes), list(_ROW), "inner")
        .join(f.broadcast(known), "window", "left")
        .join(f.broadcast(asked.drop("of")), ["window", "attribute"], "left")
        .withColumn("score", f.col("entropy") * f.coalesce(share, f.when(repeats, 1.0).otherwise(0.0)))
        .where("score > 0")
    )
    order = Window.partitionBy("window").orderBy(f.desc("score"), "attribute", "numeric")
    ranked = scored.withColumn("rank", f.row_number().over(order)).where(f.col("rank") <= MOST)
    return conform(ranked, TABLES["dimensions"])


def asked_for(in_force: DataFrame, filters_read: DataFrame) -> DataFrame:
    """How many of the filters in force name an attribute. A filter counts once for each subscriber."""
    all_of = in_force.groupBy("window").agg(f.sum("subscribers").alias("of"))
    named = in_force.join(filters_read, "filter", "inner").select(
        "window", f.explode("attributes").alias("attribute"), "subscribers"
    )
    counted = named.groupBy("window", "attribute").agg(f.sum("subscribers").alias("filters"))
    return counted.join(all_of, "window", "inner")


def _shapes(attributes: DataFrame) -> DataFrame:
    """The entropy of every histogram, and its quantiles."""
    bins = attributes.select(
        *_ROW, "low", "high", f.size("histogram").alias("bins"), f.posexplode("histogram")
    )
    row = Window.partitionBy(*_ROW)
    upto = row.orderBy("pos").rowsBetween(Window.unboundedPreceding, 0)
    summed = bins.select(
        "*", f.sum("col").over(row).alias("total"), f.sum("col").over(upto).alias("upto")
    ).withColumn("share", f.col("col") / f.col("total"))
    information = f.when(f.col("share") > 0, -f.col("share") * f.log2("share")).otherwise(0.0)
    width = (f.col("high") - f.col("low")) / f.col("bins")

    def split(part: int) -> Column:
        wanted = f.col("total") * part / PARTS
        inside = (wanted - (f.col("upto") - f.col("col"))) / f.col("col")
        value = f.col("low") + (f.col("pos") + inside) * width
        reached = (f.col("col") > 0) & (f.col("upto") >= wanted)
        return f.min_by(value, f.when(reached, f.col("pos")))

    splits = f.array(*(split(part) for part in range(1, PARTS)))
    return summed.groupBy(*_ROW).agg(
        (f.sum(information) / f.log2(f.max("bins"))).alias("entropy"),
        f.when(f.first("numeric"), splits).alias("splits"),
    )
