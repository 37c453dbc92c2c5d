"""Event spaces and the covering of boxes, against a grid of events."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.filters.dz import DzSet
from regraft.filters.dz_cover import dz_cover, union_mass
from regraft.filters.dz_space import Box, Dimension, EventSpace, Span
from regraft.model import BadInput

SPACE = EventSpace((Dimension("x", 0, 8), Dimension("y", -4, 4)), maximum=12)
GRID = [(x / 2, y / 2 - 4) for x, y in itertools.product(range(16), range(16))]

spans = st.tuples(st.integers(0, 16), st.integers(0, 16)).map(lambda two: Span(min(two) / 16, max(two) / 16))
boxes = st.lists(st.tuples(spans, spans), max_size=4)


def position(x: float, y: float) -> tuple[float, float]:
    return SPACE.dimensions[0].position(x), SPACE.dimensions[1].position(y)


def holds(some: list[Box], x: float, y: float) -> bool:
    place = position(x, y)
    return any(all(s.low <= p <= s.high for s, p in zip(box, place, strict=True)) for box in some)


def test_digits_halve_the_attributes_in_turn() -> None:
    assert SPACE.event({"x": 5, "y": -3}, 4) == "1000"
    assert SPACE.event({"x": 5, "y": 3}, 3) == "110"
    assert SPACE.event({"x": 7.9, "y": 3.9}) == "1" * 12
    assert SPACE.box("110") == (Span(0.5, 0.75), Span(0.5, 1.0))


@given(st.floats(-20, 20), st.floats(-20, 20), st.integers(1, 12))
def test_an_event_lies_in_the_part_that_its_expression_names(x: float, y: float, length: int) -> None:
    dz = SPACE.event({"x": x, "y": y}, length)
    assert len(dz) == length
    assert SPACE.event({"x": x, "y": y}).startswith(dz)
    for span, at in zip(SPACE.box(dz), position(x, y), strict=True):
        assert span.low <= at <= span.high


def test_outside_values_count_as_the_ends_and_missing_ones_as_the_lowest() -> None:
    assert SPACE.event({"x": 10**400, "y": -(10**400)}, 4) == "1010"
    assert SPACE.event({"y": 9.5}, 4) == SPACE.event({"x": "text", "y": 4}, 4) == "0101"


def test_choices_have_places_of_their_own() -> None:
    space = EventSpace((Dimension("class", choices=("a", "b", "c")),))
    assert [space.event({"class": name}, 2) for name in "abcd"] == ["00", "01", "10", "11"]


@given(boxes, st.integers(1, 12), st.integers(1, 20))
def test_every_event_of_the_boxes_is_covered_within_the_limits(
    some: list[Box], length: int, count: int
) -> None:
    found = dz_cover(SPACE, some, length, count)
    assert len(found.expressions) <= count
    assert all(len(dz) <= length for dz in found.expressions)
    for x, y in GRID:
        if holds(some, x, y):
            assert SPACE.event({"x": x, "y": y}) in found.expressions


@given(boxes, st.integers(1, 10), st.integers(1, 20))
def test_false_positives_are_the_volume_that_was_added(some: list[Box], length: int, count: int) -> None:
    found = dz_cover(SPACE, some, length, count)
    cells = itertools.product(range(16), range(16))
    wanted = sum(holds(some, (i + 0.5) / 2, (j + 0.5) / 2 - 4) for i, j in cells) / 256
    assert union_mass(SPACE, some) == pytest.approx(wanted)
    assert found.false_positives == pytest.approx(found.expressions.volume - wanted, abs=1e-9)


@given(boxes)
def test_more_digits_or_expressions_never_add_false_positives_at_full_count(some: list[Box]) -> None:
    rates = [dz_cover(SPACE, some, length, None).false_positives for length in (2, 4, 8, 12)]
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(rates))


def test_a_histogram_weighs_the_false_positives() -> None:
    wanted = [(Span(0.0, 0.25),)]
    flat = EventSpace((Dimension("x", 0, 4),))
    skewed = EventSpace((Dimension("x", 0, 4, histogram=(6, 2, 1, 1)),))
    for space, false_positives in ((flat, 0.25), (skewed, 0.2)):
        found = dz_cover(space, wanted, length=1)
        assert found.expressions == DzSet(["0"])
        assert found.false_positives == pytest.approx(false_positives)


def test_nothing_is_covered_by_nothing() -> None:
    assert dz_cover(SPACE, []) == (DzSet(), 0.0)


def test_very_long_expressions_stay_sound() -> None:
    space = EventSpace((Dimension("x", 0, 1000),))
    point = space.dimensions[0].position(333.3)
    found = dz_cover(space, [(Span(point, point),)])
    assert space.event({"x": 333.3}) in found.expressions
    assert found.false_positives < 1e-12


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dimension("x", 5, 5),
        lambda: Dimension("x", 0, float("inf")),
        lambda: Dimension("x", 0, 1, histogram=(0, 0)),
        lambda: Dimension("x", 0, 1, histogram=(1, -1)),
        lambda: EventSpace(()),
        lambda: EventSpace((Dimension("x"), Dimension("x"))),
        lambda: EventSpace((Dimension("x"),), maximum=0),
        lambda: SPACE.event({}, 13),
        lambda: dz_cover(SPACE, [], length=0),
        lambda: dz_cover(SPACE, [], count=0),
    ],
)
def test_impossible_spaces_and_limits_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(BadInput):
        make()
