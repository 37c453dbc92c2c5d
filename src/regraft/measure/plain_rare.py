"""Reads publications, interest and health line by line, because Arrow's JSON reader cannot read maps.

As in `plain_frequent`, the result for a line is the one that `checks` would give, or none.
"""

import time
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import attrgetter, or_
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta, Struct

from regraft.measure.plain_frequent import ARROW, AT, FEW, TIME
from regraft.measure.plain_frequent import KINDS as FREQUENT
from regraft.measure.record_fields import FIELDS, Holds, RecordField, columns

_LARGEST = (1 << 63) - 1
_KINDS = tuple(kind for kind in FIELDS if kind not in FREQUENT)
_PYTHON: dict[Holds, Any] = {
    Holds.TEXT: str,
    Holds.NUMBER: float,
    Holds.NUMBERS: dict[str, float],
    Holds.TEXTS: dict[str, str],
}
_TYPES = {field.name: ARROW[field.holds] for field in columns(_KINDS)}


def _type(field: RecordField) -> Any:
    """The type of this field in a plain line."""
    if field.holds is Holds.TIME:
        return Annotated[str, Meta(pattern=TIME)]
    if field.holds is Holds.SHORT:
        return Annotated[int, Meta(ge=-(1 << 31), lt=1 << 31)]
    if field.holds is Holds.WHOLE:
        return Annotated[int, Meta(ge=-_LARGEST if field.least is None else field.least, le=_LARGEST)]
    if field.name == "broker":
        return Annotated[str, Meta(min_length=1)]
    return Literal[field.words] if field.words else _PYTHON[field.holds]


def _struct(kind: str) -> type[Struct]:
    """The struct of plain lines of this kind: all their fields are known and have the right type."""
    members = [
        (field.name, _type(field)) if field.required else (field.name, _type(field) | None, None)
        for field in FIELDS[kind]
    ]
    return msgspec.defstruct(
        kind, members, tag_field="kind", tag=kind, forbid_unknown_fields=True, gc=False, kw_only=True
    )


_STRUCTS = {kind: _struct(kind) for kind in _KINDS}
_decoder: msgspec.json.Decoder[Struct] = msgspec.json.Decoder(reduce(or_, _STRUCTS.values()))


def rare(text: pa.StringArray) -> tuple[list[pa.RecordBatch], pa.BooleanArray]:
    """The records of the plain lines among these, by kind, and which lines they are."""
    found: dict[type[Struct], list[tuple[int, Struct]]] = {kind: [] for kind in _STRUCTS.values()}
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
    kind: type[Struct], records: Sequence[tuple[int, Struct]]
) -> Iterator[tuple[pa.RecordBatch, list[int]]]:
    """Batches of plain records. If one has an invalid time, those before and after it are read without it."""
    if records and (batch := _columns(kind, [record for _, record in records])):
        yield batch, [number for number, _ in records]
    elif len(records) > FEW:
        half = len(records) // 2
        yield from _parts(kind, records[:half])
        yield from _parts(kind, records[half:])


def _columns(kind: type[Struct], records: Sequence[Struct]) -> pa.RecordBatch | None:
    """None if a time is invalid, in the future or before 1970: `checks` then gives the reason."""
    names = [each.encode_name for each in msgspec.structs.fields(kind)]
    values = zip(*map(attrgetter(*names), records), strict=True)
    try:
        arrays = {name: _array(name, column) for name, column in zip(names, values, strict=True)}
    except pa.ArrowInvalid:
        return None
    first, last = pc.min_max(arrays["at"].cast(pa.int64())).values()
    if first.as_py() < 0 or last.as_py() > time.time_ns() // 1000:
        return None
    arrays["kind"] = pa.repeat(str(kind.__struct_config__.tag), len(records))
    return pa.RecordBatch.from_pydict(arrays)


def _array(name: str, column: Sequence[Any]) -> pa.Array:
    type = _TYPES[name]
    if type == AT:
        return pa.array(column, pa.string()).cast(AT)
    if pa.types.is_map(type):
        column = [None if each is None else list(each.items()) for each in column]
    return pa.array(column, type)
