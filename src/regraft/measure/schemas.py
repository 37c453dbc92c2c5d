"""The schema of every table of the pipeline: columns, types, and a version.

`RECORDS` is a telemetry record of any kind, flat, as it is read from the spools and from compacted Parquet
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

from regraft.measure.record_fields import COLUMNS, Holds

SNAPSHOT_VERSION = 1
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
"""A line of a spool: its file, its number (from 1), its text."""

TRAFFIC, INTEREST, REJECT, LATE, UNREAD = "traffic", "interest", "rejected", "late", "unread"
"""The parts of a commit: good records (two parts), rejected ones, late ones, lines not parsed yet."""

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
        error=NUMBER,
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
        error=NUMBER,
    ),
    "link_load": struct(
        window=TIME, from_=TEXT, to=TEXT, messages=WHOLE, rate=NUMBER, transformed=WHOLE, error=NUMBER
    ),
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
        error=NUMBER,
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
"""Every table is partitioned by `window`, the start of its window.

`error` is the standard error of the row's main number (demand; publications, else deliveries, else messages),
where publications were sampled; 0: it is exact. Tables of older versions lack it."""

REJECTED = struct(run=WHOLE, source=TEXT, line=WHOLE, reason=TEXT, text=TEXT)
"""Rejected records, partitioned by `run`: the commit that read them."""
