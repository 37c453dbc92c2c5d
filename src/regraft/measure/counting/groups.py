"""Groups of rows: the group of each row, and one row of each group."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DENSE = 1 << 22
"""Up to this many possible groups are found with an array, more by sorting."""
_LARGEST = 1 << 62


class Codes(NamedTuple):
    """A column as numbers from 0 up to `size`; `values` are what they stand for."""

    codes: Ints
    size: int
    values: pa.Array


class Groups(NamedTuple):
    """`place`: the group of each row; `rows`: one row of each group."""

    place: Ints
    rows: Ints

    def sums(self, values: Ints) -> Ints:
        """Exact up to 2⁵³."""
        return self.totals(values).astype(np.int64)

    def totals(self, values: Ints | Floats) -> Floats:
        return np.bincount(self.place, values, len(self.rows)).astype(np.float64, copy=False)

    def largest(self, values: Ints) -> Ints:
        found = values[self.rows]
        np.maximum.at(found, self.place, values)
        return found


def coded(column: pa.Array) -> Codes:
    """The codes of a column, which must have no nulls."""
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    return Codes(whole(column.indices), len(column.dictionary), column.dictionary)


def whole(column: pa.Array) -> Ints:
    """Numbers and times as 64-bit integers; null becomes 0."""
    if column.null_count:
        column = pc.fill_null(column, pa.scalar(0, column.type))
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    numbers: Ints = column.to_numpy().astype(np.int64, copy=False)
    return numbers


def weights(batch: pa.RecordBatch) -> Ints:
    """How many each record stands for, as `conform.stands_for`."""
    return np.maximum(whole(batch.column("one_in")), 1)


def variances(each: Ints) -> Floats:
    """What each record adds to the variance of a count, as `conform.sampling_variance`."""
    stand_for = each.astype(np.float64)
    return stand_for * (stand_for - 1)


def spread(numbers: Ints) -> tuple[Ints, int]:
    """Numbers as codes from 0: by subtraction if they lie close together, else by their rank."""
    least = int(numbers.min())
    count = int(numbers.max()) - least + 1
    if count <= max(DENSE, 4 * len(numbers)):
        return numbers - least, count
    values, places = np.unique(numbers, return_inverse=True)
    return places, len(values)


def grouped(parts: Sequence[tuple[Ints, int]]) -> Groups:
    """Rows are in one group if they agree in all parts. A part has a code for every row, below a count."""
    key, span = parts[0]
    for codes, count in parts[1:]:
        if span * count > _LARGEST:
            values, key = np.unique(key, return_inverse=True)
            span = len(values)
        key, span = key * count + codes, span * count
    if span > max(DENSE, 4 * len(key)):
        _, rows, place = np.unique(key, return_index=True, return_inverse=True)
        return Groups(place, rows)
    last = np.full(span, -1, np.int64)
    last[key] = np.arange(len(key))
    there = np.flatnonzero(last >= 0)
    place_of = np.empty(span, np.int64)
    place_of[there] = np.arange(len(there))
    return Groups(place_of[key], last[there])
