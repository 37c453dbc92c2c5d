"""Publications, interest and health, one line at a time: maps are more than Arrow's reader of JSON reads.

As in `plain_frequent`: what `checks` would make of a line, or nothing.
"""

import time
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta, Struct

from regraft.measure.plain_frequent import AT, FEW, TIME

_NUMBERS, _TEXTS = pa.map_(pa.string(), pa.float64()), pa.map_(pa.string(), pa.string())
_LARGEST = (1 << 63) - 1
_Long = Annotated[int, Meta(ge=-_LARGEST, le=_LARGEST)]
_Count = Annotated[int, Meta(ge=0, le=_LARGEST)]
_Version = Annotated[int, Meta(ge=-(1 << 31), lt=1 << 31)]


class _Plain(Struct, tag_field="kind", tag="", forbid_unknown_fields=True, gc=False, kw_only=True):
    at: Annotated[str, Meta(pattern=TIME)]
    broker: Annotated[str, Meta(min_length=1)]
    v: _Version | None = None


class _Publication(_Plain, tag="publication", gc=False, kw_only=True):
    publisher: str
    seq: _Count
    size: _Count
    topic: str | None = None
    numbers: dict[str, float] | None = None
    strings: dict[str, str] | None = None
    one_in: Annotated[int, Meta(ge=1, le=_LARGEST)] | None = None


class _Interest(_Plain, tag="interest", gc=False, kw_only=True):
    client: str
    role: Literal["publisher", "subscriber"]
    filter: str
    change: Literal["added", "removed"]


class _Health(_Plain, tag="health", gc=False, kw_only=True):
    cpu: float
    memory: _Count
    queue: _Count
    rates: dict[str, float] | None = None
    links: dict[str, str] | None = None
    not_recorded: _Long | None = None
    transformation: str | None = None


_TYPES = {
    "v": pa.int32(),
    "seq": pa.int64(),
    "one_in": pa.int64(),
    "size": pa.int64(),
    "cpu": pa.float64(),
    "memory": pa.int64(),
    "queue": pa.int64(),
    "not_recorded": pa.int64(),
} | {"numbers": _NUMBERS, "rates": _NUMBERS, "strings": _TEXTS, "links": _TEXTS}
"""Of the columns that are not text."""
_decoder = msgspec.json.Decoder(_Publication | _Interest | _Health)


def rare(text: pa.StringArray) -> tuple[list[pa.RecordBatch], pa.BooleanArray]:
    """The records of the plain lines among these, by kind, and which lines those are."""
    found: dict[type[_Plain], list[tuple[int, _Plain]]] = {_Publication: [], _Interest: [], _Health: []}
    for number, line in enumerate(text.cast(pa.binary()).to_pylist()):
        try:
            record = _decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeError):
            continue
        found[type(record)].append((number, record))
    parts = [part for kind, records in found.items() for part in _parts(kind, records)]
    plain = np.zeros(len(text), np.bool_)
    for _, numbers in parts:
        plain[numbers] = True
    return [batch for batch, _ in parts], pa.array(plain)


def _parts(
    kind: type[_Plain], records: Sequence[tuple[int, _Plain]]
) -> Iterator[tuple[pa.RecordBatch, list[int]]]:
    """Where the time of one is none, those before and after it still are plain."""
    if records and (batch := _columns(kind, [record for _, record in records])):
        yield batch, [number for number, _ in records]
    elif len(records) > FEW:
        half = len(records) // 2
        yield from _parts(kind, records[:half])
        yield from _parts(kind, records[half:])


def _columns(kind: type[_Plain], records: Sequence[_Plain]) -> pa.RecordBatch | None:
    """None if a time is none, or of the future or before 1970: what is said of that, is said by `checks`."""
    names = [each.encode_name for each in msgspec.structs.fields(kind)]
    columns = zip(*map(attrgetter(*names), records), strict=True)
    try:
        arrays = {name: _array(name, column) for name, column in zip(names, columns, strict=True)}
    except pa.ArrowInvalid:
        return None
    first, last = pc.min_max(arrays["at"].cast(pa.int64())).values()
    if first.as_py() < 0 or last.as_py() > time.time_ns() // 1000:
        return None
    arrays["kind"] = pa.repeat(str(kind.__struct_config__.tag), len(records))
    return pa.RecordBatch.from_pydict(arrays)


def _array(name: str, column: Sequence[Any]) -> pa.Array:
    if name == "at":
        return pa.array(column, pa.string()).cast(AT)
    if name in ("numbers", "strings", "rates", "links"):
        column = [None if each is None else list(each.items()) for each in column]
    return pa.array(column, _TYPES.get(name, pa.string()))
