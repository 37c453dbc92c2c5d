"""Selecting against a declared schema, on the way in and out of every transform."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType


def conform(table: DataFrame, schema: StructType) -> DataFrame:
    """Exactly the columns of the schema: what it does not know is left out, what is missing is null.

    As text, which is one call of Java; with functions there are ten for each column.
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


def count_where(condition: Column) -> Column:
    return f.coalesce(f.sum(condition.cast("long")), f.lit(0))
