"""Where a filter belongs in an index: one place for every box of its normal form.

Each attribute of a box gets a role:

- *exact*: finitely many values (`class = 'temp'`); the box goes to one group for each of them;
- *cast*: finitely many numbers, in any spelling (`floor = 3` also holds for the string "3");
- *ranged*: an interval of numbers, in any spelling (`value > 20`);
- none of these: the index cannot use it, and the filter itself is evaluated in the end (`check`).

Boxes with the same attributes in the same roles have the same `Shape`. What an event must look up in
a shape follows from `exact_token`, `cast_number` and `ranged_number`.
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import product
from math import inf, isnan, nextafter
from typing import Any, NamedTuple

from regraft.filters.intervals import Interval, Intervals, holds, integers_in
from regraft.filters.normal import Conjunction, Constraint, Strings
from regraft.filters.values import Number, as_value, integer_of

MOST = 64
"""The most places of one box; attributes with more values than that are left to the check."""

EXACT_UP_TO = 2**53
"""Integers below this convert to doubles and back exactly; larger bounds are left to the check."""

TRUE, FALSE = ("true",), ("false",)
"""Stand for the booleans: as dictionary keys, True and 1 would be the same."""


class Shape(NamedTuple):
    """The attributes of a box by their roles."""

    exact: tuple[str, ...]
    cast: tuple[str, ...]
    ranged: tuple[str, ...]


class Place(NamedTuple):
    """`key`: the values of the exact and the cast attributes; `bounds`: low, high of each ranged one."""

    shape: Shape
    key: tuple[Hashable, ...]
    bounds: tuple[float, ...]
    check: bool


def places(normal: Sequence[Conjunction]) -> Iterator[Place]:
    """An event matches exactly if it is in a place that needs no check, or in one whose filter matches."""
    for conjunction in normal:
        yield from _places(conjunction)


def _places(conjunction: Conjunction) -> Iterator[Place]:
    roles: dict[str, list[tuple[str, Sequence[Any]]]] = {"exact": [], "cast": [], "ranged": []}
    check, room = bool(conjunction.residue), MOST
    for attribute, constraint in conjunction.box:
        role, values = role_of(constraint)
        if not role or len(values) > room:
            check = True
            continue
        room //= len(values)
        roles[role].append((attribute, values))
    exact, cast, ranged = roles.values()
    shape = Shape(*(tuple([name for name, _ in those]) for those in (exact, cast, ranged)))
    spans = list(product(*[values for _, values in ranged]))
    for key in product(*[values for _, values in exact + cast]):
        for ends in spans:
            yield Place(shape, key, tuple([end for span in ends for end in span]), check)


def role_of(constraint: Constraint) -> tuple[str, Sequence[Any]]:
    """The role of a constraint and its values or closed ranges, disjoint; "" if there is none."""
    numbers, strings, bools, missing = constraint
    if missing or len(numbers) > MOST:  # with so many values the box would be left to the check anyway
        return "", ()
    texts = strings.finite
    points = [interval.low for interval in numbers if interval.low == interval.high]
    if len(points) == len(numbers):
        if texts is not None:
            return "exact", [*texts, *points, *(TRUE if value else FALSE for value in bools)]
        return ("cast", points) if _casts(numbers, strings, bools) else ("", ())
    ranges = [closed for interval in numbers if (closed := closed_range(interval)) is not None]
    if len(ranges) == len(numbers) and _casts(numbers, strings, bools):
        return "ranged", ranges
    return "", ()


def _casts(numbers: Intervals, strings: Strings, bools: frozenset[bool]) -> bool:
    """Whether strings and booleans are allowed exactly as the numbers they cast to."""
    return (
        not (strings.others or strings.exceptions)
        and strings.integers == integers_in(numbers)
        and (False in bools) == holds(numbers, 0)
        and (True in bools) == holds(numbers, 1)
    )


def closed_range(interval: Interval) -> tuple[float, float] | None:
    """The same numbers as a closed range between two doubles; None if there is no such exact range."""
    low, low_open, high, high_closed = interval
    for end, left_out in ((low, low_open), (high, not high_closed)):
        if left_out if end in (inf, -inf) else abs(end) >= EXACT_UP_TO:
            return None
    lowest, highest = float(low), float(high)
    return nextafter(lowest, inf) if low_open else lowest, highest if high_closed else nextafter(
        highest, -inf
    )


def exact_token(value: object) -> Hashable:
    """The dictionary key of an event's value; None if the value is missing."""
    if type(value) is str:
        return value
    seen = as_value(value)
    return (TRUE if seen else FALSE) if isinstance(seen, bool) else seen


def cast_number(value: object) -> Number | None:
    """The number that an event's value is, spells or stands for."""
    kind = type(value)
    if kind is int:
        return value  # type: ignore[return-value]
    if kind is float:
        return None if isnan(value) else value  # type: ignore[arg-type, return-value]
    seen = as_value(value)
    if isinstance(seen, str):
        return integer_of(seen)
    return int(seen) if isinstance(seen, bool) else seen


def ranged_number(value: object) -> float | None:
    """`cast_number` as a double. Rounding never moves it across a bound below 2^53, however large it is."""
    number = cast_number(value)
    if number is None:
        return None
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf
