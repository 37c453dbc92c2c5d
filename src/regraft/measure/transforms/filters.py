"""What a filter says: the topics that it pins (kTCO §III) and the attributes that it names.

Only `regraft.filters` can parse CESQL, so this is one of the few places with Python inside Spark. Spark
itself reads the plain form `topic = 'x'`; every other text is parsed once.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

PLAIN = r"^\s*topic\s*=\s*'([^'\\]*)'\s*$"
READ = StructType(
    [
        StructField("filter", StringType()),
        StructField("topics", ArrayType(StringType())),
        StructField("attributes", ArrayType(StringType())),
    ]
)

_ARROW = to_arrow_schema(READ)


def filters_read(filters: DataFrame) -> DataFrame:
    """filter → filter, topics, attributes; an invalid filter has none of these."""
    texts = filters.select("filter").distinct()
    plain = f.regexp_extract("filter", PLAIN, 1)
    is_plain = f.col("filter").rlike(PLAIN)
    simple = texts.where(is_plain).select(
        "filter", f.array(plain).alias("topics"), f.array(f.lit("topic")).alias("attributes")
    )
    return simple.unionByName(texts.where(~is_plain).mapInArrow(_read, READ))


def _read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    # Imported here, so that a worker loads it only if there is something to parse.
    from regraft.broker.core.mesh_streams import topics_of  # noqa: PLC0415
    from regraft.filters import BadFilter, parse  # noqa: PLC0415

    for batch in batches:
        rows: list[tuple[str, list[str], list[str]]] = []
        for text in batch.column("filter").to_pylist():
            try:
                filter = parse(text)
            except BadFilter:
                rows.append((text, [], []))
                continue
            rows.append((text, sorted(topics_of(filter) or ()), sorted(filter.attributes)))
        columns = zip(*rows, strict=True) if rows else ((), (), ())
        arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
