"""Filters as dz-expressions, against events on a grid and of every kind."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.filters.dz import DzSet
from regraft.filters.dz_filter import boxes_of, dz_of_filter
from regraft.filters.dz_space import Dimension, EventSpace
from regraft.filters.expression import parse

SPACE = EventSpace((Dimension("x", 0, 8), Dimension("kind", choices=("a", "b", True)), Dimension("y", -2, 6)))
KINDS = ("a", "b", "c", True, False, 7, None)
NUMBERS = (0, 1, 2, 2.5, 3, 5, 7.75, 8, 100, -3, "3", "zero", True, None)

COMPARISONS = [
    *("x > 2", "x >= 2", "x < 5", "x <= 7.75", "x = 3", "x != 3", "x IN (1, 3, 100)", "x < y", "NOT (x > 2)"),
    *(
        "y > 1",
        "y < -2",
        "y >= 6",
        "kind = 'a'",
        "kind != 'b'",
        "kind IN ('a', 'c')",
        "kind = TRUE",
        "kind = '7'",
    ),
    *("EXISTS x", "NOT EXISTS y", "NOT EXISTS kind", "kind LIKE 'a%'", "z > 3", "TRUE", "FALSE"),
]
filters = st.lists(
    st.lists(st.sampled_from(COMPARISONS), min_size=1, max_size=3), min_size=1, max_size=3
).map(lambda some: parse(" OR ".join(f"({' AND '.join(one)})" for one in some)))


@settings(max_examples=100, deadline=None)
@given(filters, st.integers(1, 15), st.integers(1, 30))
def test_every_event_that_matches_is_held(filter: object, length: int, count: int) -> None:
    found = dz_of_filter(SPACE, filter, length, count)  # type: ignore[arg-type]
    assert len(found.expressions) <= count
    assert 0 <= found.false_positives <= 1
    for kind, x, y in product(KINDS, NUMBERS, (-3, 0, 1.5, 6, "4", None)):
        given = {"kind": kind, "x": x, "y": y, "z": 5}
        event = {name: value for name, value in given.items() if value is not None}
        if filter.matches(event):  # type: ignore[attr-defined]
            assert SPACE.event(event) in found.expressions


@pytest.mark.parametrize(
    ("text", "length", "expressions", "false_positives"),
    [
        ("x >= 4", 1, ["1"], 0.0),
        ("x >= 4 AND x < 6", 2, ["10"], 0.0),
        ("x >= 4 AND x < 5", 2, ["10"], 0.125),
        ("x < 2 OR x >= 6", 2, ["00", "11"], 0.0),
        ("x < 3", 1, ["0"], 0.125),
        ("TRUE", 4, [""], 0.0),
        ("FALSE", 4, [], 0.0),
    ],
)
def test_parts_and_false_positives(
    text: str, length: int, expressions: list[str], false_positives: float
) -> None:
    space = EventSpace((Dimension("x", 0, 8),))
    found = dz_of_filter(space, parse(text), length)
    assert found.expressions == DzSet(expressions)
    assert found.false_positives == pytest.approx(false_positives)


def test_fewer_expressions_let_more_through_and_a_histogram_says_how_much() -> None:
    flat = EventSpace((Dimension("x", 0, 8),))
    skewed = EventSpace((Dimension("x", 0, 8, histogram=(9, 1, 0, 0, 0, 0, 0, 90)),))
    wanted = parse("x < 1 OR x >= 7")
    assert dz_of_filter(flat, wanted, count=2).false_positives == pytest.approx(0)
    assert dz_of_filter(flat, wanted, count=1).false_positives == pytest.approx(0.75)
    assert dz_of_filter(skewed, wanted, count=1).false_positives == pytest.approx(0.01)


def test_many_ranges_are_taken_together_rather_than_multiplied() -> None:
    space = EventSpace((Dimension("x", 0, 100), Dimension("y", 0, 100)))
    odd = ", ".join(str(number) for number in range(1, 100, 2))
    assert 1 <= len(boxes_of(space, parse(f"x IN ({odd}) AND y IN ({odd})"))) <= 256
