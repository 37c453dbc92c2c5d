"""A filter as dz-expressions: through the boxes of its normal form to parts of an event space.

Attributes that are not dimensions of the space, values of another kind and conditions outside the normal form
are not restricted, so the expressions hold every event that matches. The false positives that are counted are
those of the digits: events that the expressions hold and the filter's boxes, seen in the space, do not.

No command uses it yet; it is made for content filters of live content routes.
"""

from itertools import product
from math import inf, nextafter

from regraft.filters.dz_cover import DzCover, dz_cover
from regraft.filters.dz_space import WHOLE, Box, Dimension, EventSpace, Span
from regraft.filters.expression import Filter
from regraft.filters.intervals import Interval
from regraft.filters.normal import Constraint

MOST_BOXES = 256
"""Beyond this, ranges of one attribute are joined: the cost of covering a union grows with its boxes."""


def dz_of_filter(
    space: EventSpace, filter: Filter, length: int | None = None, count: int | None = 64
) -> DzCover:
    """At most `count` expressions of at most this length that hold every event the filter matches."""
    return dz_cover(space, boxes_of(space, filter), length, count)


def boxes_of(space: EventSpace, filter: Filter) -> list[Box]:
    """The filter's part of the space, box by box."""
    boxes: dict[Box, None] = {}
    for conjunction in filter.normal:
        constraints = conjunction.constraints
        sides = [_spans(side, constraints.get(side.attribute)) for side in space.dimensions]
        size = 1
        for number, spans in enumerate(sides):
            if size * max(len(spans), 1) > MOST_BOXES:
                sides[number] = [Span(min(spans).low, max(span.high for span in spans))]
            size *= max(len(sides[number]), 1)
        boxes |= dict.fromkeys(product(*sides))
    return list(boxes)


def _spans(dimension: Dimension, constraint: Constraint | None) -> list[Span]:
    """The positions that events with an allowed value can have."""
    if constraint is None:
        return [WHOLE]
    spans = _chosen(dimension, constraint) if dimension.choices else _numbers(dimension, constraint)
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.low <= merged[-1].high:
            merged[-1] = Span(merged[-1].low, max(merged[-1].high, span.high))
        else:
            merged.append(span)
    return merged


def _numbers(dimension: Dimension, constraint: Constraint) -> list[Span]:
    numbers, strings, bools, missing = constraint
    ends = [_closed(interval) for interval in numbers]
    ends += [(interval.low, interval.high - 1) for interval in strings.integers]

    ends += [(value, value) for value in bools]
    spans = [Span(dimension.position(low), dimension.position(high)) for low, high in ends]
    for text in strings.exceptions:
        if not strings.base(text):
            spans.append(Span(dimension.position(text), dimension.position(text)))
    # A value that is no number and spells none has the lowest position, like a missing one.
    if missing or strings.others:
        spans.append(Span(0.0, 0.0))
    return spans


def _closed(interval: Interval) -> tuple[int | float, int | float]:
    low, low_open, high, high_closed = interval
    return nextafter(low, inf) if low_open else low, high if high_closed else nextafter(high, -inf)


def _chosen(dimension: Dimension, constraint: Constraint) -> list[Span]:
    """The places of the allowed choices, the last one if another value is allowed."""
    allowed = {place for place, choice in enumerate(dimension.choices) if constraint.allows(choice)}
    if constraint.missing:
        allowed.add(0)
    texts = constraint.strings.finite
    if constraint.numbers or texts is None or not texts <= set(dimension.choices):
        allowed.add(len(dimension.choices))
    if any(value not in dimension.choices for value in constraint.bools):
        allowed.add(len(dimension.choices))
    return [Span(place / dimension.high, nextafter((place + 1) / dimension.high, 0.0)) for place in allowed]
