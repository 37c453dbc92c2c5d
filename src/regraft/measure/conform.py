"""Selecting against a declared schema, on the way in and out of every transform."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType


def conform(table: DataFrame, schema: StructType) -> DataFrame:
    """Exactly the columns of the schema: others are left out, missing ones are null.

    As SQL text, which takes one call of Java; functions would take ten for each column.
    """
    there = {name: f"`{name}`" for name in table.columns}
    return table.selectExpr(
        *(
            f"CAST({there.get(field.name, 'NULL')} AS {field.dataType.simpleString()}) AS `{field.name}`"
            for field in schema.fields
        )
    )


def of_kind(records: DataFrame, *kinds: str) -> DataFrame:
    return records.where(f.col("kind").isin(*kinds))


def stands_for() -> Column:
    """How many publications, hops or deliveries a record stands for: brokers may record a sample."""
    return f.coalesce("one_in", f.lit(1).cast("long"))


def weighted_count(condition: Column | None = None) -> Column:
    """Aggregate: how many publications, hops or deliveries the records (with this condition) stand for."""
    each = stands_for()
    return f.coalesce(f.sum(each if condition is None else f.when(condition, each)), f.lit(0).cast("long"))


def sampling_variance(condition: Column | None = None) -> Column:
    """Aggregate: the variance of `weighted_count`, if each record is of a publication of its own.

    A publication that counts for N was in the sample with probability 1/N, each independently of the others.
    The count N of such a one has the estimated variance N (N - 1). It is a fraction, because the square of
    what a strange record says may be too large for a whole number.
    """
    each = stands_for().cast("double")
    square = each * (each - 1)
    return f.coalesce(f.sum(square if condition is None else f.when(condition, square)), f.lit(0.0))
