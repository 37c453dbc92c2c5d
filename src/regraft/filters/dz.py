"""dz-expressions: binary strings that name parts of the event space (Content routes §4.3).

A dz-expression is a `str` of '0' and '1' (4.21). Each digit halves the space that the digits before
it left, so a prefix names the larger part and the empty string the whole space. Strings, not numbers:
"has this prefix" is then one call, and the sorted order is the order of the tree of halvings.

A `DzSet` is a part of the space as the least set of such strings: none is a prefix of another, and
two halves of one part never stand beside each other. What the digits mean is not known here (see
`dz_space`).
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

Dz = str


def shared(one: Dz, other: Dz) -> Dz:
    """DzS, (4.33)–(4.36): the digits that both begin with; empty if the first digits differ already."""
    for place, (digit, second) in enumerate(zip(one, other, strict=False)):
        if digit != second:
            return one[:place]
    return min(one, other, key=len)


def volume(dz: Dz) -> float:
    """The share of the event space that it names."""
    return 0.5 ** len(dz)


@dataclass(frozen=True, init=False)
class DzSet:
    """A part of the event space; equal parts are equal values."""

    expressions: tuple[Dz, ...]

    def __init__(self, expressions: Iterable[Dz] = ()) -> None:
        object.__setattr__(self, "expressions", _least(expressions))

    def __iter__(self) -> Iterator[Dz]:
        return iter(self.expressions)

    def __len__(self) -> int:
        return len(self.expressions)

    def __contains__(self, dz: Dz) -> bool:
        """Whether it covers this one expression, for example that of an event."""
        # A covering prefix sorts directly before everything that it covers.
        after = bisect_right(self.expressions, dz)
        return after > 0 and dz.startswith(self.expressions[after - 1])

    def __or__(self, other: "DzSet") -> "DzSet":
        return DzSet((*self.expressions, *other.expressions))

    def __and__(self, other: "DzSet") -> "DzSet":
        return DzSet([dz for dz in self if dz in other] + [dz for dz in other if dz in self])

    def covers(self, other: "DzSet") -> bool:
        # In a least set, what several expressions cover together is covered by one of them alone.
        return all(dz in self for dz in other)

    def overlaps(self, other: "DzSet") -> bool:
        return any(dz in other for dz in self) or any(dz in self for dz in other)

    @cached_property
    def volume(self) -> float:
        """The share of the event space that it fills."""
        return sum(map(volume, self.expressions))

    @property
    def shared(self) -> Dz:
        """The longest expression that covers all of it: (4.35) over more than two."""
        # In sorted order, all between the first and the last begin with the digits that these two share.
        return shared(self.expressions[0], self.expressions[-1]) if self.expressions else ""


def _least(expressions: Iterable[Dz]) -> tuple[Dz, ...]:
    least: list[Dz] = []
    for dz in sorted(expressions):
        if least and dz.startswith(least[-1]):
            continue
        half = dz
        # Sorted, so the other half of a part is always the last one kept.
        while least and half.endswith("1") and least[-1] == half[:-1] + "0":
            half = half[:-1]
            least.pop()
        least.append(half)
    return tuple(least)
