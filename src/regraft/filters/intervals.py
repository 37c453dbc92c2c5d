"""Sets of numbers as sorted, disjoint, non-adjacent intervals.

An interval lies between two cuts of the number line. A cut is a pair (v, after): just before v if `after`
is false, just behind v if it is true. `Interval` spells out both cuts, so that `interval[:2]` is the lower
one and `interval[2:]` the upper one, and all set operations are comparisons of cuts.
"""

from bisect import bisect_right
from collections.abc import Iterable
from math import ceil, floor, inf
from typing import NamedTuple

from regraft.filters.values import INT_MAX, INT_MIN, Number


class Interval(NamedTuple):
    """Numbers between `low` (left out if `low_open`) and `high` (included if `high_closed`)."""

    low: Number
    low_open: bool
    high: Number
    high_closed: bool


Intervals = tuple[Interval, ...]

NOTHING: Intervals = ()
EVERY_NUMBER: Intervals = (Interval(-inf, False, inf, True),)
# As sets of integers, intervals are kept half-open, [low, high): neighbours then join by themselves.
EVERY_INTEGER: Intervals = (Interval(INT_MIN, False, INT_MAX + 1, False),)


def point(value: Number) -> Intervals:
    return (Interval(value, False, value, True),)


def holds(intervals: Intervals, value: Number) -> bool:
    i = bisect_right(intervals, (value, False, inf, True)) - 1
    return i >= 0 and (value, False) < intervals[i][2:]


def intersect(a: Intervals, b: Intervals) -> Intervals:
    if a is b or b is EVERY_NUMBER:
        return a
    if a is EVERY_NUMBER:
        return b
    found = []
    i = j = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][:2], b[j][:2]), min(a[i][2:], b[j][2:])
        if low < high:
            found.append(Interval(*low, *high))
        if a[i][2:] < b[j][2:]:
            i += 1
        else:
            j += 1
    return tuple(found)


def meet(a: Intervals, b: Intervals) -> bool:
    """Whether some number is in both."""
    i = j = 0
    while i < len(a) and j < len(b):
        p, q = a[i], b[j]
        if p[2:] <= q[:2]:
            i += 1
        elif q[2:] <= p[:2]:
            j += 1
        else:
            return True
    return False


def unite(a: Intervals, b: Intervals) -> Intervals:
    if not b or a is b:
        return a
    if not a:
        return b
    return joined(a + b)


def joined(intervals: Iterable[Interval]) -> Intervals:
    """The numbers of any of them."""
    found: list[Interval] = []
    for interval in sorted(intervals):
        if found and interval[:2] <= found[-1][2:]:
            if found[-1][2:] < interval[2:]:
                found[-1] = Interval(*found[-1][:2], *interval[2:])
        else:
            found.append(interval)
    return tuple(found)


def complement(a: Intervals, whole: Intervals = EVERY_NUMBER) -> Intervals:
    """What of `whole` (one interval) is not in `a`."""
    if not a:
        return whole
    found = []
    low = whole[0][:2]
    for interval in a:
        if low < interval[:2]:
            found.append(Interval(*low, *interval[:2]))
        low = interval[2:]
    if low < whole[0][2:]:
        found.append(Interval(*low, *whole[0][2:]))
    return tuple(found)


def within(b: Intervals, a: Intervals) -> bool:
    """Whether every number of b is in a."""
    if a is b or a is EVERY_NUMBER:
        return True
    i = 0
    for interval in b:
        while i < len(a) and a[i][2:] < interval[2:]:
            i += 1
        if i == len(a) or interval[:2] < a[i][:2]:
            return False
    return True


def integers_in(a: Intervals) -> Intervals:
    """The 32-bit integers of a, as half-open intervals."""
    found: Intervals = ()
    for low, low_open, high, high_closed in a:
        first = INT_MIN if low < INT_MIN else _above(low, low_open)
        last = INT_MAX if high > INT_MAX else _below(high, high_closed)
        if first <= last:
            found = unite(found, (Interval(first, False, last + 1, False),))
    return found


def _above(low: Number, low_open: bool) -> int:
    if low > INT_MAX:
        return INT_MAX + 1
    return floor(low) + 1 if low_open else ceil(low)


def _below(high: Number, high_closed: bool) -> int:
    if high < INT_MIN:
        return INT_MIN - 1
    return floor(high) if high_closed else ceil(high) - 1
