"""Selecting against a declared schema, on the way in and out of every transform."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType


def conform(table: DataFrame, schema: StructType) -> DataFrame:
    """Exactly the columns of the schema: what it does not know is left out, what is missing is null."""
    there = set(table.columns)
    return table.select(
        *(
            (f.col(f"`{field.name}`") if field.name in there else f.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in schema.fields
        )
    )


def of_kind(records: DataFrame, *kinds: str) -> DataFrame:
    return records.where(f.col("kind").isin(*kinds))


def count_where(condition: Column) -> Column:
    return f.coalesce(f.sum(condition.cast("long")), f.lit(0))
