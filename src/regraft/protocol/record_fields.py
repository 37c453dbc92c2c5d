"""The fields of telemetry records, read from their one definition (`telemetry`).

The schemas for Spark (`measure.schemas`) and Arrow (`segments.schema`) and the checks are made from these
fields, so a field that is added to a record becomes a column. This module knows neither Spark nor Arrow.
"""

from collections.abc import Iterable
from enum import Enum, auto
from typing import Any, NamedTuple

from msgspec import inspect

from regraft.protocol.telemetry import KINDS, Record


class Holds(Enum):
    """What a field holds. Every schema has one type for each of these."""

    TEXT = auto()
    WHOLE = auto()
    SHORT = auto()
    """A whole number of 32 bits."""
    NUMBER = auto()
    TIME = auto()
    NUMBERS = auto()
    """A map of texts to numbers."""
    TEXTS = auto()


class RecordField(NamedTuple):
    name: str
    """The name in a record."""
    holds: Holds
    required: bool = True
    """Without it, a record of its kind is rejected."""
    least: int | None = None
    most: int | None = None
    words: tuple[str, ...] = ()
    """The only texts that are allowed; empty if every text is."""


def fields_of(kind: type[Record]) -> tuple[RecordField, ...]:
    """The fields of records of this kind, in the order of the struct."""
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    return tuple(_field(each) for each in described.fields)


def _field(field: inspect.Field) -> RecordField:
    held, nullable = field.type, isinstance(field.type, inspect.UnionType)
    extra: dict[str, Any] = {}
    if isinstance(held, inspect.UnionType):
        (held,) = (each for each in held.types if not isinstance(each, inspect.NoneType))
    if isinstance(held, inspect.Metadata):
        extra, held = held.extra or {}, held.type
    return RecordField(
        field.encode_name,
        Holds.TIME if extra.get("time") else _holds(held, extra.get("bits", 64)),
        field.required and not nullable and extra.get("required", True),
        extra.get("least"),
        extra.get("most"),
        tuple(map(str, held.values)) if isinstance(held, inspect.LiteralType) else (),
    )


def _holds(held: inspect.Type, bits: int) -> Holds:
    match held:
        case inspect.StrType() | inspect.LiteralType():
            return Holds.TEXT
        case inspect.IntType():
            return Holds.SHORT if bits == 32 else Holds.WHOLE
        case inspect.FloatType():
            return Holds.NUMBER
        case inspect.DictType(value_type=inspect.FloatType()):
            return Holds.NUMBERS
        case inspect.DictType(value_type=inspect.StrType()):
            return Holds.TEXTS
    raise TypeError(f"records do not hold {held}: give it a member of Holds and a type in each schema")


def columns(kinds: Iterable[str]) -> tuple[RecordField, ...]:
    """The columns of a flat table of records of these kinds: each field once, and the kind beside `v`."""
    version, *others = {field.name: field for kind in kinds for field in FIELDS[kind]}.values()
    return (version, RecordField("kind", Holds.TEXT), *others)


FIELDS = {str(kind.__struct_config__.tag): fields_of(kind) for kind in KINDS}
"""The fields of each kind."""

COMMON = frozenset(field.name for field in fields_of(Record))
"""The fields that every record has."""

REQUIRED = {
    kind: tuple(field.name for field in fields if field.required and field.name not in COMMON)
    for kind, fields in FIELDS.items()
}
"""The fields that a record of a kind must have, in addition to `at`, `broker` and `kind`."""

COLUMNS = columns(FIELDS)
"""The columns of a table of records of all kinds."""

FRACTIONAL = frozenset({"latency"})
"""Whole numbers that readers accept with a fraction: other writers measure in floating point."""
