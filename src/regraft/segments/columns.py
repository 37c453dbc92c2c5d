"""Columns of records of one kind: of whole runs of publications, and of single records.

What a run has in common is stored once while a segment is gathered, and repeated by Arrow when it is closed.
Making a struct of each record first takes five times the processor time, and the event loop of the broker
has to wait for most of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from regraft.protocol.record_fields import FIELDS, Holds, RecordField
from regraft.protocol.telemetry import RECORD_VERSION, Record
from regraft.segments.schema import ARROW, AT

Columns: TypeAlias = dict[str, pa.Array]
"""By name. The columns that are not there are null."""
SMALLEST, LARGEST = -(2**63), 2**63 - 1
"""What a whole number of a column may be."""


class Runs:
    """Runs of publications that one kind of records is about. A run has consecutive times from `at` on."""

    def __init__(self, kind: str, shared: Sequence[str]) -> None:
        """`shared`: the columns that have one value for all records of a run."""
        self.kind = kind
        self._shared = [_field(kind, name) for name in ("publisher", *shared)]
        self._runs: list[tuple[Any, ...]] = []
        self._seqs: list[int] = []

    def __len__(self) -> int:
        """The number of records."""
        return len(self._seqs)

    def add(self, at: int, seqs: Sequence[int], *shared: Any) -> None:
        """`OverflowError` if it does not fit into the columns; nothing is added then."""
        if seqs[0] < SMALLEST or seqs[-1] > LARGEST:
            raise OverflowError("the number of a publication has more than 64 bits")
        self._seqs += seqs
        self._runs.append((at, len(seqs), *shared))

    def take(self, broker: str, one_in: int) -> Columns:
        """The columns of all runs, which are forgotten."""
        runs, seqs, self._runs, self._seqs = self._runs, self._seqs, [], []
        at, counts, *shared = zip(*runs, strict=True)
        rows = len(seqs)
        columns: Columns = {
            "v": pa.repeat(pa.scalar(RECORD_VERSION, ARROW[Holds.SHORT]), rows),
            "kind": pa.repeat(self.kind, rows),
            "broker": pa.repeat(broker, rows),
            "seq": pa.array(seqs, pa.int64()),
        }
        if self.kind == "hop":  # hops are recorded where they begin
            columns["from"] = columns["broker"]
        if one_in > 1:
            columns["one_in"] = pa.repeat(pa.scalar(one_in, pa.int64()), rows)
        first = np.array(at, np.int64)
        place = None
        if len(runs) < rows:
            repeated = np.array(counts, np.int64)
            before = np.cumsum(repeated) - repeated  # records of earlier runs
            first = np.repeat(first - before, repeated) + np.arange(rows, dtype=np.int64)
            place = pa.array(np.repeat(np.arange(len(runs), dtype=np.int32), repeated))
        columns["at"] = pa.array(first).cast(AT)
        for field, values in zip(self._shared, shared, strict=True):
            found = pa.array(values, ARROW[field.holds])
            columns[field.name] = found if place is None else found.take(place)
        return columns


class Maps:
    """A column of maps, one for each record, gathered flat."""

    def __init__(self, holds: Holds) -> None:
        self._type = ARROW[holds]
        self.keys: list[str] = []
        self.values: list[Any] = []
        self._ends = [0]

    def end(self) -> None:
        """The map of this record is complete."""
        self._ends.append(len(self.keys))

    def take(self) -> pa.Array:
        keys, values = pa.array(self.keys, pa.string()), pa.array(self.values, self._type.item_type)
        found = pa.MapArray.from_arrays(pa.array(self._ends, pa.int32()), keys, values)
        self.keys, self.values, self._ends = [], [], [0]
        return found


class PublicationRuns(Runs):
    """Runs with the attributes of each publication."""

    def __init__(self) -> None:
        super().__init__("publication", ())
        self._topics: list[str | None] = []
        self._sizes: list[int] = []
        self._numbers, self._strings = Maps(Holds.NUMBERS), Maps(Holds.TEXTS)

    def describe(self, attributes: Iterable[Mapping[str, Any]], sizes: Iterable[int]) -> None:
        """The publications of the run that was added last, in its order."""
        numbers, strings = self._numbers, self._strings
        for each in attributes:
            for key, value in each.items():
                kind = type(value)  # a bool is no number here
                if kind is str:
                    strings.keys.append(key)
                    strings.values.append(value)
                elif kind is float or kind is int:
                    numbers.keys.append(key)
                    numbers.values.append(float(value))
            numbers.end()
            strings.end()
            topic = each.get("topic")
            self._topics.append(topic if type(topic) is str else None)
        self._sizes += sizes

    def take(self, broker: str, one_in: int) -> Columns:
        columns = super().take(broker, one_in)
        columns["topic"] = pa.array(self._topics, pa.string())
        columns["size"] = pa.array(self._sizes, pa.int64())
        columns["numbers"], columns["strings"] = self._numbers.take(), self._strings.take()
        self._topics, self._sizes = [], []
        return columns


def of_records(kind: type[Record], records: Sequence[Record]) -> Columns:
    """The columns of single records of one kind."""
    tag = str(kind.__struct_config__.tag)
    columns: Columns = {"kind": pa.repeat(tag, len(records))}
    members = _members(kind)
    for field in FIELDS[tag]:
        columns[field.name] = _array(field.holds, map(attrgetter(members[field.name]), records))
    return columns


@cache
def _members(kind: type[Record]) -> Mapping[str, str]:
    """The name of each field in a record → its name in the struct."""
    return {each.encode_name: each.name for each in msgspec.structs.fields(kind)}


def _array(holds: Holds, values: Iterable[Any]) -> pa.Array:
    if holds is Holds.TIME:
        return pa.array(values, pa.int64()).cast(AT)
    if holds is Holds.NUMBERS:  # Arrow refuses to round large whole numbers
        return pa.array(([(key, float(one)) for key, one in each.items()] for each in values), ARROW[holds])
    if holds is Holds.TEXTS:
        return pa.array((list(each.items()) for each in values), ARROW[holds])
    return pa.array((None if each is msgspec.UNSET else each for each in values), ARROW[holds])


def _field(kind: str, name: str) -> RecordField:
    return next(field for field in FIELDS[kind] if field.name == name)
