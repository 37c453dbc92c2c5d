"""Selecting against a declared schema, on the way in and out of every transform."""

from pyspark.sql import DataFrame
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
