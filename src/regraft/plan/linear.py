"""Linear constraints over numbered columns, written like formulas and kept as sparse arrays.

A block of columns is an integer array of any shape. `each(block)` is one expression per entry;
expressions add, subtract and compare row by row, so that a whole family of constraints is one line
beside its formula. Knows nothing of planning or of any solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """lower <= matrix @ columns <= upper; the matrix is given by its entries, which `stack` sorts."""

    row: Ints
    column: Ints
    value: Ints
    lower: Floats
    upper: Floats

    @property
    def number(self) -> int:
        return len(self.lower)


@dataclass(frozen=True)
class Expression:
    """`count` sums of columns: entry e adds value[e] * column[e] to the sum row[e]."""

    row: Ints
    column: Ints
    value: Ints
    count: int

    def __add__(self, other: "Expression") -> "Expression":
        if self.count != other.count:
            raise ValueError(f"{self.count} expressions and {other.count} do not add row by row")
        return Expression(
            np.concatenate([self.row, other.row]),
            np.concatenate([self.column, other.column]),
            np.concatenate([self.value, other.value]),
            self.count,
        )

    def __neg__(self) -> "Expression":
        return Expression(self.row, self.column, -self.value, self.count)

    def __sub__(self, other: "Expression") -> "Expression":
        return self + -other

    def __le__(self, other: "Expression | int") -> Rows:
        return self._between(other, -np.inf, 0.0)

    def __ge__(self, other: "Expression | int") -> Rows:
        return self._between(other, 0.0, np.inf)

    def equals(self, other: "Expression | int | Ints") -> Rows:
        return self._between(other, 0.0, 0.0)

    def _between(self, other: "Expression | int | Ints", below: float, above: float) -> Rows:
        if isinstance(other, Expression):
            return (self - other)._between(0, below, above)
        limit = np.full(self.count, other, dtype=np.float64)
        return Rows(self.row, self.column, self.value, limit + below, limit + above)


def each(columns: Ints) -> Expression:
    """One expression per entry of the block, in its order."""
    flat = columns.ravel()
    return Expression(np.arange(flat.size), flat, np.ones(flat.size, dtype=np.int64), flat.size)


def total(columns: Ints, group: Ints, groups: int) -> Expression:
    """For each group and step, the sum of the columns whose line belongs to the group.

    `columns` has one line per member and one column per step; the expressions are in the order of
    an array of shape (groups, steps).
    """
    steps = columns.shape[1]
    row = (group[:, None] * steps + np.arange(steps)).ravel()
    return Expression(row, columns.ravel(), np.ones(columns.size, dtype=np.int64), groups * steps)


def stack(families: Sequence[Rows]) -> Rows:
    """All the rows below each other, entries sorted by row and column, equal ones added up."""
    first = np.cumsum([0, *(rows.number for rows in families)])[:-1]
    row = np.concatenate([rows.row + start for rows, start in zip(families, first, strict=True)])
    column = np.concatenate([rows.column for rows in families])
    value = np.concatenate([rows.value for rows in families])
    order = np.lexsort((column, row))
    row, column, value = row[order], column[order], value[order]
    fresh = np.ones(len(row), dtype=np.bool_)
    fresh[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    summed = np.add.reduceat(value, np.flatnonzero(fresh))
    kept = summed != 0
    return Rows(
        row[fresh][kept],
        column[fresh][kept],
        summed[kept],
        np.concatenate([rows.lower for rows in families]),
        np.concatenate([rows.upper for rows in families]),
    )
