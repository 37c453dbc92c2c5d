"""Windows of time: their length, and the window in which a record counts."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column
from pyspark.sql import functions as f

from regraft.model import BadInput
from regraft.model.quantities import seconds

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(text: str, option: str = "--window") -> int:
    """`60s`, `5m`, `1h`; a number alone is seconds."""
    try:
        length = round(seconds(text, default_unit="s") * 1e6)
    except (ValueError, OverflowError):  # a number of hundreds of digits becomes infinite
        length = 0
    if not 1_000 <= length <= 366 * 86_400_000_000:
        raise BadInput(f"{option} {text}", "a length such as 60s, 5m or 1h, of 1 ms to 366 days")
    return length


def counts_at() -> Column:
    """The time by which a record belongs to a window, in microseconds: a delivery counts when its publication
    was made, a count in the second that it is about, and any other record when it was made."""
    at, kind = f.unix_micros("at"), f.col("kind")
    return (
        f.when(kind == "delivery", at - f.col("latency"))
        .when(kind == "count", f.unix_micros("since"))
        .otherwise(at)
    )


def window_of(micros: Column, width: int) -> Column:
    """The start of the window that holds a time."""
    return f.timestamp_micros(micros - f.pmod(micros, f.lit(width).cast("long")))


def among(starts: Collection[int], width: int) -> Column:
    """Whether `window` is one of these, given in microseconds. Windows that follow each other are one
    condition: Spark needs seconds to plan with ten thousands of them, for each table again."""
    first, last = {start - width for start in starts}, {start + width for start in starts}
    begins, ends = sorted(set(starts) - last), sorted(set(starts) - first)
    spans = (f"w BETWEEN {begin} AND {end}" for begin, end in zip(begins, ends, strict=True))
    text = " OR ".join(spans).replace("w ", "unix_micros(window) ")
    return f.expr(text or "false")


def date_of(micros: int) -> str:
    """The date by which tables are partitioned."""
    return shown(micros)[:10]


def shown(micros: int) -> str:
    """A time as people read it, e.g. 2026-11-16T00:05:00Z."""
    at = _EPOCH + timedelta(microseconds=micros)
    return at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{at.microsecond:06}" if at.microsecond else "") + "Z"
