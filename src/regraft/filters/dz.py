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

from regraft.model import BadInput

Dz = str


def covers(wide: Dz, narrow: Dz) -> bool:
    """Whether every event of `narrow` is one of `wide`: the wider expression is a prefix."""
    return narrow.startswith(wide)


def overlaps(one: Dz, other: Dz) -> bool:
    """Parts made by halving are never shared in part: one covers the other, or nothing is shared."""
    return one.startswith(other) or other.startswith(one)


def shared(one: Dz, other: Dz) -> Dz:
    """DzS, (4.33)–(4.36): the digits both begin with; empty where the first digits differ already."""
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
        # In a least set a part is covered by one expression, never only by several together.
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
        # What the first and the last share in sorted order, all between them share.
        return shared(self.expressions[0], self.expressions[-1]) if self.expressions else ""

    def at_least(self, minimum: int) -> tuple[Dz, ...]:
        """The same part in expressions of at least this length: (4.31) asks for 1.

        Not a `DzSet`, which would put the halves together again.
        """
        return tuple(longer for dz in self for longer in _halved(dz, minimum))

    def at_most(self, maximum: int) -> "DzSet":
        """The least larger part whose expressions are at most this long (4.32)."""
        return DzSet(dz[:maximum] for dz in self)

    def fewer(self, count: int) -> "DzSet":
        """A larger part in at most `count` expressions.

        Neighbours give way to what they share, each time the two that add the least volume.
        """
        if count < 1:
            raise BadInput("count", f"a part of the event space needs at least one expression, not {count}")
        least = self
        while len(least) > count:
            prefixes = map(shared, least.expressions, least.expressions[1:])
            best = min(prefixes, key=lambda prefix: (least._added(prefix), prefix))
            least = DzSet((*least.expressions, best))
        return least

    def _added(self, prefix: Dz) -> float:
        first = bisect_right(self.expressions, prefix)
        added = volume(prefix)
        for dz in self.expressions[first:]:
            if not dz.startswith(prefix):
                break
            added -= volume(dz)
        return added


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


def _halved(dz: Dz, minimum: int) -> Iterator[Dz]:
    free = minimum - len(dz)
    if free <= 0:
        yield dz
        return
    for number in range(1 << free):
        yield dz + format(number, f"0{free}b")
