"""What to look up to find the single boxes that hold a filter, or lie within it.

Everything here is a necessary condition, as tight as a lookup can use; `covers` decides.
"""

from collections.abc import Hashable, Mapping, Sequence
from math import inf, nextafter

from regraft.filters.index_places import role_of
from regraft.filters.intervals import Interval
from regraft.filters.normal import ANYTHING, Conjunction, Constraint
from regraft.filters.values import Number, integer_of

Hull = Mapping[str, Constraint]
Span = tuple[float, float]


def hull(normal: Sequence[Conjunction]) -> Hull:
    """The smallest box around all boxes of a normal form that has some."""
    box = dict(normal[0].box)
    for conjunction in normal[1:]:
        other = conjunction.constraints
        box = {name: allowed.or_(other[name]) for name, allowed in box.items() if name in other}
    return {name: allowed for name, allowed in box.items() if allowed != ANYTHING}


def pinned(constraint: Constraint | None, role: str) -> Hashable:
    """The one value that the constraint allows, as the key of an attribute in this role, or None."""
    if constraint is None:
        return None
    found, values = role_of(constraint)
    return values[0] if found == role and len(values) == 1 else None


def sample(constraint: Constraint) -> Number | None:
    """The number that one of the allowed values casts to: the only one, if all cast to the same number."""
    if constraint.numbers:
        return constraint.numbers[0].low
    if constraint.strings.integers:
        return constraint.strings.integers[0].low
    for text in constraint.strings.exceptions:
        return integer_of(text)
    for value in constraint.bools:
        return int(value)
    return None


def contained_span(constraint: Constraint) -> Span | None:
    """From the least to the greatest number that an allowed value casts to; None if one does not cast."""
    numbers, strings, bools, missing = constraint
    if missing or strings.others:
        return None
    ends = [_ends(interval) for interval in numbers]
    # Integers are kept half-open: the last one is one below the end.
    ends += [(float(interval.low), float(interval.high - 1)) for interval in strings.integers]
    for text in strings.exceptions:
        if not strings.base(text):
            number = integer_of(text)
            if number is None:
                return None
            ends.append((float(number), float(number)))
    ends += [(float(value), float(value)) for value in bools]
    return min(low for low, _ in ends), max(high for _, high in ends)


def containing_span(constraint: Constraint | None) -> Span | None:
    """Numbers outside this span are not allowed; None if none is."""
    if constraint is None:
        return -inf, inf
    ends = [_ends(interval) for interval in constraint.numbers]
    return (ends[0][0], ends[-1][1]) if ends else None


def _ends(interval: Interval) -> Span:
    low, high = _double(interval.low), _double(interval.high)
    first = nextafter(low, inf) if interval.low_open else low
    return first, high if interval.high_closed else nextafter(high, -inf)


def _double(end: Number) -> float:
    try:
        return float(end)
    except OverflowError:
        return inf if end > 0 else -inf
