"""Boxes of the event space -> the dz-expressions that cover them, few and short (Content routes §4.3).

Starts from the whole space and always halves the part that holds the most foreign events, until every part
is exact or as long as allowed, or the number of expressions is used up. What remains is counted:
`false_positives` is the share of all events that the expressions hold and the boxes do not.
"""

import heapq
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from regraft.filters.dz import Dz, DzSet
from regraft.filters.dz_space import Box, EventSpace, Span
from regraft.model import BadInput

HALVINGS = 48
"""The most halvings of one dimension; a position is a double with 53 bits."""

NOTHING = 1e-12
"""A part with a smaller share of foreign events than this is exact."""


class DzCover(NamedTuple):
    """A part of the space that holds every wanted event, and the share of events it holds besides."""

    expressions: DzSet
    false_positives: float


class _Part(NamedTuple):
    """A part still in play; the heap gives out the one with most foreign events, then the shortest."""

    foreign: float
    length: int
    dz: Dz
    boxes: tuple[Box, ...]


def dz_cover(
    space: EventSpace, boxes: Sequence[Box], length: int | None = None, count: int | None = 64
) -> DzCover:
    """Cover the boxes with expressions of at most this length, at most `count` of them."""
    longest = min(space.maximum if length is None else length, HALVINGS * len(space.dimensions))
    if longest < 1 or (count is not None and count < 1):
        raise BadInput("dz-expressions", "at least one expression of at least one digit must be allowed")
    whole = _part(space, "", tuple(boxes))
    if whole is None:
        return DzCover(DzSet(), 0.0)
    open_parts, false_positives = [whole], 0.0
    done: list[Dz] = []
    while open_parts:
        part = heapq.heappop(open_parts)
        halves = _halves(space, part) if part.foreign < 0 and part.length < longest else []
        room = count is None or len(open_parts) + len(done) + len(halves) <= count
        if halves and room:
            for half in halves:
                heapq.heappush(open_parts, half)
        else:
            done.append(part.dz)
            false_positives -= part.foreign
    return DzCover(DzSet(done), false_positives)


def _halves(space: EventSpace, part: _Part) -> list[_Part]:
    halves = (_part(space, part.dz + digit, part.boxes) for digit in "01")
    return [half for half in halves if half is not None]


def _part(space: EventSpace, dz: Dz, boxes: tuple[Box, ...]) -> _Part | None:
    """The part with the boxes clipped to it; None if no box reaches into it."""
    cell = space.box(dz)
    inside = tuple(dict.fromkeys(clipped for box in boxes if (clipped := _clipped(box, cell)) is not None))
    if not inside:
        return None
    mass = space.mass(cell)
    foreign = mass - union_mass(space, inside)
    return _Part(-foreign if foreign > NOTHING * mass else 0.0, len(dz), dz, inside)


def _clipped(box: Box, cell: Box) -> Box | None:
    spans = []
    for span, side in zip(box, cell, strict=True):
        # A cell holds its lower end; its upper end only where the space itself ends.
        if span.high < side.low or span.low > side.high or (span.low == side.high and side.high < 1.0):
            return None
        spans.append(Span(max(span.low, side.low), min(span.high, side.high)))
    return tuple(spans)


def union_mass(space: EventSpace, boxes: Sequence[Box], dimension: int = 0) -> float:
    """The share of events in at least one box: slabs of one dimension, and the others inside each slab."""
    if len(boxes) == 1:
        sides = zip(space.dimensions[dimension:], boxes[0][dimension:], strict=True)
        share = 1.0
        for side, span in sides:
            share *= side.mass(span)
        return share
    if dimension == len(space.dimensions):
        return 1.0 if boxes else 0.0
    ends = sorted({end for box in boxes for end in box[dimension]})
    total = 0.0
    for low, high in pairwise(ends):
        within = [box for box in boxes if box[dimension].low <= low and high <= box[dimension].high]
        if within:
            share = space.dimensions[dimension].mass(Span(low, high))
            total += share * union_mass(space, within, dimension + 1)
    return total
