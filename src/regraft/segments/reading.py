"""Looks at a segment without reading it, and reads its records back."""

import time
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from regraft.model.store import Store
from regraft.protocol.record_fields import COLUMNS, FIELDS
from regraft.protocol.telemetry import RECORD_VERSION, AnyRecord
from regraft.segments.schema import AT, RECORDS
from regraft.segments.writing import SUMMARY, Summary

_AHEAD = 60_000_000
"""How many microseconds a broker's clock may be ahead of this machine's."""
_LEAST = {field.name: field.least for field in COLUMNS if field.least is not None}
_MOST = {field.name: field.most for field in COLUMNS if field.most is not None}
_TIMES = ("at", "since")
_ALWAYS = ("v", "kind", "at", "broker")
"""Columns that have a value in every record."""
_TOLD = {*_TIMES, *_ALWAYS, *_LEAST, *_MOST}
"""Columns by whose bounds a segment is judged."""
_decode = msgspec.json.Decoder(Summary).decode


def summary_of(file: pq.ParquetFile, now: int | None = None) -> Summary | None:
    """The summary, if what the statistics of the columns say agrees with it and breaks no rule; otherwise
    None: its records have to be looked at one by one. `now` in microseconds."""
    held = (file.metadata.metadata or {}).get(SUMMARY)
    if held is None or not is_ours(file.schema_arrow):
        return None
    try:
        summary = _decode(held)
    except msgspec.MsgspecError:
        return None
    known = _bounds(file)
    latest = (time.time_ns() // 1000 if now is None else now) + _AHEAD
    since = known.get("since", (summary.first, summary.last))
    agrees = (
        summary.rows == file.metadata.num_rows > 0
        and known.get("broker") == (summary.broker, summary.broker)
        and known.get("at") == (summary.first, summary.last)
        and 0 <= summary.published <= min(summary.first, since[0])
        and max(summary.last, since[1]) <= latest
        and known.keys() >= {"v", "kind"}
        and known["v"][1] <= RECORD_VERSION
        and {*known["kind"]} <= FIELDS.keys()
        and all(known[name][0] >= least for name, least in _LEAST.items() if name in known)
        and all(known[name][1] <= most for name, most in _MOST.items() if name in known)
    )
    return summary if agrees and summary.broker else None


def records_of(store: Store, name: str) -> Iterator[AnyRecord]:
    """The records of a segment, in its order."""
    with store.open(name) as content:
        yield from records_in(content)


def records_in(content: BinaryIO) -> Iterator[AnyRecord]:
    table = pq.ParquetFile(content).read(use_threads=False)
    for place, field in enumerate(table.schema):
        if field.type == AT:
            table = table.set_column(place, field.name, table[field.name].cast(pa.int64()))
    for row in table.to_pylist():
        fields: dict[str, Any] = {"topic": None}  # the only field that may be null and has no default
        fields |= {key: value for key, value in row.items() if value is not None}
        for name_of_map in ("numbers", "strings", "rates", "links", "round_trips", "delivery_rates"):
            if name_of_map in fields:
                fields[name_of_map] = dict(fields[name_of_map])
        yield msgspec.convert(fields, AnyRecord)


def is_ours(schema: pa.Schema) -> bool:
    """Whether all columns are of records, and of their types. Those without a value are left out."""
    return all(
        (place := RECORDS.get_field_index(field.name)) >= 0 and RECORDS.field(place).type == field.type
        for field in schema
    )


def _bounds(file: pq.ParquetFile) -> dict[str, tuple[Any, Any]]:
    """The smallest and the largest value of each column, as far as the file says. Times are numbers."""
    found: dict[str, tuple[Any, Any]] = {}
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            statistics, name = column.statistics, column.path_in_schema
            if name not in _TOLD or statistics is None or not statistics.has_min_max:
                continue
            if name in _ALWAYS and statistics.null_count:
                continue
            is_time = name in _TIMES  # as a date, some numbers could not be shown
            low, high = (
                (statistics.min_raw, statistics.max_raw) if is_time else (statistics.min, statistics.max)
            )
            if name in found:
                low, high = min(low, found[name][0]), max(high, found[name][1])
            found[name] = (low, high)
    return found
