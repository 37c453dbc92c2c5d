"""What a filter says: the topics it pins (kTCO §III) and the attributes it asks for.

Reading CESQL is the business of `regraft.filters`, so this is one of the few places with Python inside
Spark; the plain form `topic = 'x'` is read by Spark itself, and every other text once.
"""

from collections.abc import Iterator

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

PLAIN = r"^\s*topic\s*=\s*'([^'\\]*)'\s*$"
READ = StructType(
    [
        StructField("filter", StringType()),
        StructField("topics", ArrayType(StringType())),
        StructField("attributes", ArrayType(StringType())),
    ]
)


def filters_read(filters: DataFrame) -> DataFrame:
    """filter → filter, topics, attributes; a text that is no filter has neither."""
    texts = filters.select("filter").distinct()
    plain = f.regexp_extract("filter", PLAIN, 1)
    is_plain = f.col("filter").rlike(PLAIN)
    simple = texts.where(is_plain).select(
        "filter", f.array(plain).alias("topics"), f.array(f.lit("topic")).alias("attributes")
    )
    return simple.unionByName(texts.where(~is_plain).mapInPandas(_read, READ))


def _read(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    # Loaded by the worker, when there is something to read.
    from regraft.broker.core.mesh_topics import topics_of  # noqa: PLC0415
    from regraft.filters import BadFilter, parse  # noqa: PLC0415

    for batch in batches:
        rows: list[tuple[str, list[str], list[str]]] = []
        for text in batch["filter"]:
            try:
                filter = parse(text)
            except BadFilter:
                rows.append((text, [], []))
                continue
            rows.append((text, sorted(topics_of(filter) or ()), sorted(filter.attributes)))
        yield pd.DataFrame(rows, columns=["filter", "topics", "attributes"])
