"""The schema of every table of the pipeline: columns, types, and a version.

`RECORDS` is a telemetry record of any kind, flat, as it is in segments and other Parquet files
(`record_fields` knows its columns). `CLEAN` is a record that has passed the checks, with its window.
`TABLES` are the tables of a snapshot. Readers select these columns: an unknown column is left out, a missing
one is null.
"""

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from regraft.protocol.record_fields import COLUMNS, Holds

SNAPSHOT_VERSION = 2
"""The version of the tables below, the clean records and the state. A run continues only the same one."""

TEXT, WHOLE, NUMBER, TIME = StringType(), LongType(), DoubleType(), TimestampType()


def struct(**columns: DataType) -> StructType:
    """Columns in the given order. A name that is a keyword of Python has a trailing underscore."""
    return StructType([StructField(name.rstrip("_"), kind) for name, kind in columns.items()])


SPARK: dict[Holds, DataType] = {
    Holds.TEXT: TEXT,
    Holds.WHOLE: WHOLE,
    Holds.SHORT: IntegerType(),
    Holds.NUMBER: NUMBER,
    Holds.TIME: TIME,
    Holds.NUMBERS: MapType(TEXT, NUMBER),
    Holds.TEXTS: MapType(TEXT, TEXT),
}

RECORDS = StructType([StructField(field.name, SPARK[field.holds]) for field in COLUMNS])

LINES = struct(source=TEXT, line=WHOLE, text=TEXT)
"""The place of a record: its file, its number there (from 1), and what it says, if it is rejected."""

CLEAN = StructType([StructField("window", TIME), *RECORDS.fields])
"""`window` is the start of the window in which the record counts: a delivery in that of its publication."""

TABLES: dict[str, StructType] = {
    # OCBR §2. `classes`: how many traffic classes are merged in the row (1: exact, see --top).
    "traffic_classes": struct(
        window=TIME, members=ArrayType(TEXT), demand=WHOLE, classes=WHOLE, error=NUMBER
    ),
    # OCBR §3.1: the classes as `broker` perceives them; members are neighbours or the broker itself.
    "local_views": struct(window=TIME, broker=TEXT, members=ArrayType(TEXT), demand=WHOLE, error=NUMBER),
    # kTCO §III, over time. `until` is null if the interest still holds, `since` if its beginning is unknown.
    "interest": struct(
        window=TIME, broker=TEXT, client=TEXT, role=TEXT, filter=TEXT, topic=TEXT, since=TIME, until=TIME
    ),
    "topic_popularity": struct(
        window=TIME,
        topic=TEXT,
        publications=WHOLE,
        bytes=WHOLE,
        deliveries=WHOLE,
        delivered=WHOLE,
        error=NUMBER,
    ),
    # Content routes §4: λ_p in publications a second.
    "publisher_rates": struct(
        window=TIME,
        publisher=TEXT,
        broker=TEXT,
        publications=WHOLE,
        bytes=WHOLE,
        rate=NUMBER,
    ),
    # Content routes (4.2): λ_{p,s} in deliveries a second, and the share of p's publications.
    "overlap": struct(
        window=TIME,
        publisher=TEXT,
        subscriber=TEXT,
        broker=TEXT,
        deliveries=WHOLE,
        rate=NUMBER,
        share=NUMBER,
    ),
    "link_load": struct(window=TIME, from_=TEXT, to=TEXT, messages=WHOLE, rate=NUMBER, transformed=WHOLE),
    # Microseconds, and bytes a second if known; `linked`: the two were neighbours.
    "link_costs": struct(
        window=TIME, from_=TEXT, to=TEXT, round_trip=WHOLE, bytes_per_second=WHOLE, linked=BooleanType()
    ),
    "broker_load": struct(
        window=TIME,
        broker=TEXT,
        publications=WHOLE,
        bytes=WHOLE,
        hops_in=WHOLE,
        hops_out=WHOLE,
        deliveries=WHOLE,
        rate=NUMBER,
        cpu=NUMBER,
        memory=WHOLE,
        queue=WHOLE,
        not_recorded=WHOLE,
    ),
    # IPITT §VI-B: a transformation, as far as the hops of the window show it.
    "transformations": struct(
        window=TIME,
        transformation=TEXT,
        started=TIME,
        ended=TIME,
        hops=WHOLE,
        publications=WHOLE,
        error=NUMBER,
    ),
    "queue_growth": struct(
        window=TIME, transformation=TEXT, change=TEXT, broker=TEXT, before=WHOLE, after=WHOLE, growth=WHOLE
    ),
    # IPITT §VI-B: microseconds; p50, p99, p999 within the stated error, the others exact.
    "latency": struct(
        window=TIME,
        phase=TEXT,
        deliveries=WHOLE,
        p50=NUMBER,
        p99=NUMBER,
        p999=NUMBER,
        mean=NUMBER,
        largest=WHOLE,
    ),
    "latency_histogram": struct(window=TIME, phase=TEXT, bucket=IntegerType(), deliveries=WHOLE),
    # Content routes §4.3: what the events hold, and the dimensions that are worth an index.
    "attributes": struct(
        window=TIME,
        attribute=TEXT,
        numeric=BooleanType(),
        publications=WHOLE,
        low=NUMBER,
        high=NUMBER,
        histogram=ArrayType(WHOLE),
        choices=ArrayType(TEXT),
    ),
    "dimensions": struct(
        window=TIME,
        rank=IntegerType(),
        attribute=TEXT,
        low=NUMBER,
        high=NUMBER,
        choices=ArrayType(TEXT),
        histogram=ArrayType(WHOLE),
        splits=ArrayType(NUMBER),
        score=NUMBER,
    ),
    # Content routes §6.3: of the publications that at least one filter matches, the share that both match.
    "filter_similarity": struct(window=TIME, one=TEXT, other=TEXT, similarity=NUMBER),
}
"""`window` is the start of a window; every table is partitioned by its date.

`error` is the standard error of what is estimated where publications were sampled (demand, `delivered`, the
publications of a transformation); 0: it is exact. Tables of older versions lack it."""

REJECTED = struct(run=WHOLE, source=TEXT, line=WHOLE, reason=TEXT, text=TEXT)
"""Rejected records. `run` is the commit that read them; line 0 stands for a whole file."""

WINDOWS = struct(window=TIME)
"""The windows that were measured."""

INDEX = struct(
    window=TIME,
    last_window=TIME,
    name=TEXT,
    rows=WHOLE,
    last=WHOLE,
    plain=BooleanType(),
    ours=BooleanType(),
    limits=TEXT,
)
"""The files that were taken in: the first and the last window that they may have records of, the time of the
newest record (microseconds), and how they are read (`taking_in.TakenFile`)."""

HISTORY = struct(hour=TEXT, members=ArrayType(TEXT), demand=WHOLE, windows=WHOLE)
"""The demand of each traffic class in an hour such as 2026-01-05T12, and how many windows the hour had."""
