"""Event streams from real data as publication records: stock quotes, taxi trips, weather, air, motes.

The file's name tells the format. Every line is one publication, in the file's order: its publisher is the
file (or the stock that the line names), `seq` its number. Numbers and texts are attributes; missing values
(NA) are left out. The times of the files are not used: publications are one second apart.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from regraft.measure.conform import conform
from regraft.measure.faults import one_line
from regraft.measure.schemas import RECORDS
from regraft.model import BadInput
from regraft.model.files import shown
from regraft.protocol.telemetry import RECORD_VERSION

START = datetime(2026, 1, 1, tzinfo=UTC)
TAXI = [
    "medallion",
    "hack_license",
    "pickup_datetime",
    "dropoff_datetime",
    "trip_time_in_secs",
    "trip_distance",
    "pickup_longitude",
    "pickup_latitude",
    "dropoff_longitude",
    "dropoff_latitude",
    "payment_type",
    "fare_amount",
    "surcharge",
    "mta_tax",
    "tip_amount",
    "tolls_amount",
    "total_amount",
]
MISSING = ("", "NA")

Read = Callable[[SparkSession, str], DataFrame]


def real_events(session: SparkSession, place: str | Path, broker: str = "b0") -> DataFrame:
    """The publications of one file, as `broker` would have recorded them, with the columns of `RECORDS`."""
    path = Path(place)
    if not path.is_file():
        raise BadInput(shown(path), "there is no such file")
    topic = path.name.split(".")[0]
    read = next((read for start, read in READERS.items() if topic.startswith(start)), None)
    if read is None and path.parent.name == "padres_stockquotes":
        read = _quotes
    if read is None:
        raise BadInput(
            shown(path), f"unknown events; known are {', '.join(READERS)} and padres_stockquotes/*"
        )
    with one_line(shown(path)):
        events = read(session, str(path))
    return _records(events, f.coalesce(f.try_element_at("said", f.lit("symbol")), f.lit(topic)), broker)


def _records(events: DataFrame, topic: Column, broker: str) -> DataFrame:
    """`events` have `line` (their place in the file) and `said`, a map of texts."""
    number = f.row_number().over(Window.orderBy("line"))
    publication = events.select("said", topic.alias("topic"), number.cast("long").alias("seq"))
    start = int(START.timestamp() * 1e6)
    there = f.map_filter("said", lambda _, value: ~f.trim(value).isin(*MISSING))
    is_number = f.map_filter(there, lambda _, value: value.try_cast("double").isNotNull())
    is_text = f.map_filter(there, lambda _, value: value.try_cast("double").isNull())
    columns = {
        "v": f.lit(RECORD_VERSION),
        "kind": f.lit("publication"),
        "at": f.timestamp_micros(f.lit(start) + f.col("seq") * 1_000_000),
        "broker": f.lit(broker),
        "publisher": f.col("topic"),
        "numbers": f.transform_values(is_number, lambda _, value: value.cast("double")),
        "strings": f.map_concat(is_text, f.create_map(f.lit("topic"), f.col("topic"))),
        "size": f.length(f.to_json("said")).cast("long"),
    }
    return conform(publication.withColumns(columns), RECORDS)


def _lines(session: SparkSession, path: str) -> DataFrame:
    """The lines in the file's order."""
    return session.read.text(path).coalesce(1).withColumn("line", f.monotonically_increasing_id())


def _quotes(session: SparkSession, path: str) -> DataFrame:
    """[class,'STOCK'],[symbol,'AMAT'],[open,16.86] …"""
    inner = f.regexp_replace("value", r"^\s*\[|\]\s*$", "")
    said = f.str_to_map(inner, f.lit(r"\],\s*\["), f.lit(","))
    bare = f.transform_values(said, lambda _, value: f.regexp_replace(f.trim(value), "^'|'$", ""))
    return _lines(session, path).where(f.trim("value") != "").select("line", bare.alias("said"))


def _with_header(session: SparkSession, path: str) -> DataFrame:
    lines = _lines(session, path)
    names = lines.orderBy("line").limit(1).collect()[0].value.split(",")
    return _columns(lines.where("line > 0"), names)


def _taxi(session: SparkSession, path: str) -> DataFrame:
    return _columns(_lines(session, path), TAXI)


def _columns(lines: DataFrame, names: Sequence[str]) -> DataFrame:
    keys = f.array(*map(f.lit, names))
    values = f.split("value", ",")
    whole = lines.where(f.size(values) == len(names))
    return whole.select("line", f.map_from_arrays(keys, values).alias("said"))


def _motes(session: SparkSession, path: str) -> DataFrame:
    """A row for each mote, a column for each half hour: one event for each cell, by time."""
    what = "humidity" if "humidity" in Path(path).name else "temperature"
    cells = _lines(session, path).select("line", f.posexplode(f.split("value", ",")).alias("time", "cell"))
    mote = f.concat(f.lit("mote"), f.col("line").cast("string"))
    said = f.create_map(f.lit(what), f.col("cell"), f.lit("mote"), mote)
    return cells.select((f.col("time") * 1_000_000 + f.col("line")).alias("line"), said.alias("said"))


READERS: dict[str, Read] = {
    "debs2015_taxi": _taxi,
    "nyc_weather": _with_header,
    "beijing_pm25": _with_header,
    "intel_lab": _motes,
}
