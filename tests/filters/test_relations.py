"""Covering and overlap: sound for every filter, exact for comparisons on one attribute each."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.filters.expressions import GRID, Event, any_filters, box_filters, events, passes, simple_filters

from regraft.filters import covers, overlaps, parse


@pytest.mark.parametrize(
    ("f", "g"),
    [
        ("TRUE", "a < b"),
        ("a > 1", "a > 2"),
        ("a >= 2", "a > 2"),
        ("a > 1", "a > 1.5 AND b = 'x'"),
        ("a > 1 OR a < 1", "a > 3"),
        ("a > 1 OR b = 2 OR a <= 1", "a = 5"),
        ("EXISTS a", "a = 'x'"),
        ("a != 'x'", "a = 'y'"),
        ("a IN ('x', 'y', 'z')", "a = 'z' OR a = 'x'"),
        ("a <= 5", "a <= 3 OR (a > 3 AND a <= 5)"),
        ("a LIKE 'x%'", "a LIKE 'x%' AND b = 1"),
        ("a LIKE 'x%'", "a LIKE 'xy%z'"),
        ("a LIKE '%z'", "a LIKE 'x%_yz'"),
        ("a LIKE 'x%'", "a IN ('x', 'xyz')"),
        ("a NOT LIKE 'x%'", "a = 'y'"),
        ("a LIKE '1_'", "a = '17'"),
        ("a < b", "c = 1 AND a < b"),
        ("(a < 5 AND b < 5) OR (a < 5 AND b >= 5)", "a < 3 AND b = 7"),
        ("a = 1", "FALSE"),
        ("a = 1", "a > 2 AND a < 1"),
        ("a > 0", "a = TRUE AND a = 1"),
    ],
)
def test_covering_is_seen(f: str, g: str) -> None:
    assert covers(parse(f), parse(g))


@pytest.mark.parametrize(
    ("f", "g"),
    [
        ("a > 2", "a > 1"),
        ("a > 2", "a >= 2"),
        ("a > 2", "TRUE"),
        # Without b the filter is an error, and the event does not match.
        ("b = 1 OR a = 1", "a = 1"),
        # '03' is 3 as a number, but not as a string.
        ("a = '3'", "a = 3"),
        # A number is no string that casts to a number, and 'x' > 0 is an error.
        ("a > 0 OR a <= 0", "EXISTS a"),
        ("a < b", "b > a"),
        ("a LIKE 'x%'", "a IN ('x', 'y')"),
        ("a LIKE 'xy%'", "a LIKE 'x%'"),
        # 'aba' is in the second only.
        ("a LIKE 'ab%ba'", "a LIKE 'ab%a'"),
        ("a LIKE 'x%y%'", "a LIKE 'xa%'"),
    ],
)
def test_covering_is_not_claimed(f: str, g: str) -> None:
    assert not covers(parse(f), parse(g))


@pytest.mark.parametrize(
    ("f", "g"),
    [
        ("a > 2", "a < 2"),
        ("a > 2", "a <= 2"),
        ("a = 'x'", "a = 'y' AND b = 1"),
        ("a = 'x'", "NOT EXISTS a"),
        ("a = 'x'", "a > 0"),
        ("a LIKE 'x%'", "a NOT LIKE 'x%'"),
        ("a LIKE 'x/%'", "a LIKE 'y/%'"),
        ("a LIKE '%.error'", "a LIKE '%.warning'"),
        ("a LIKE 'x%'", "a IN ('y', 'ax')"),
        ("a NOT LIKE 'x%'", "a LIKE 'xy%'"),
        ("a NOT LIKE 'x%'", "a = 'xy'"),
        ("TRUE", "FALSE"),
        ("a = 1 OR a = 2", "a > 2"),
    ],
)
def test_disjointness_is_seen(f: str, g: str) -> None:
    assert not overlaps(parse(f), parse(g))
    assert not overlaps(parse(g), parse(f))


@pytest.mark.parametrize(
    ("f", "g"),
    [
        ("a > 2", "a > 5"),
        ("a = 'x'", "b = 'y'"),
        ("a LIKE 'x%'", "a LIKE '%y'"),
        ("a LIKE 'x%'", "a LIKE 'xy%'"),
        ("a LIKE 'x%'", "b LIKE 'y%'"),
        ("TRUE", "a < b"),
    ],
)
def test_overlap_is_kept(f: str, g: str) -> None:
    assert overlaps(parse(f), parse(g))


def test_a_search_beyond_its_budget_is_careful() -> None:
    names = [f"n{i}" for i in range(12)]
    halves = " OR ".join(f"({p} > 0 AND {q} > 0)" for p, q in pairwise(names))
    present = " AND ".join(f"{name} < 100" for name in names)
    assert not covers(parse(halves), parse(present))


@given(simple_filters, simple_filters)
@settings(max_examples=100, deadline=None)
def test_exact_for_comparisons_on_one_attribute_each(first: str, second: str) -> None:
    f, g = parse(first), parse(second)
    in_f, in_g = [f.matches(e) for e in GRID], [g.matches(e) for e in GRID]
    assert f.exact
    assert covers(f, g) is all(x for x, y in zip(in_f, in_g, strict=True) if y)
    assert overlaps(f, g) is any(x and y for x, y in zip(in_f, in_g, strict=True))


@given(any_filters, any_filters, st.lists(events, min_size=1, max_size=30))
@settings(max_examples=200, deadline=None)
def test_sound_for_every_filter(first: str, second: str, sample: list[Event]) -> None:
    f, g = parse(first), parse(second)
    for e in sample:
        x, y = passes(f, e), passes(g, e)
        assert not (covers(f, g) and y and not x)
        assert not (covers(g, f) and x and not y)
        assert overlaps(f, g) or not (x and y)


@given(any_filters, any_filters)
@settings(max_examples=200, deadline=None)
def test_laws(first: str, second: str) -> None:
    f, g = parse(first), parse(second)
    everything, nothing = parse("TRUE"), parse("FALSE")
    assert covers(f, f)
    assert covers(everything, f)
    assert covers(f, nothing)
    assert not overlaps(f, nothing)
    assert overlaps(f, g) is overlaps(g, f)
    assert overlaps(everything, f) is bool(f.normal)
    if g.normal and covers(f, g):
        assert overlaps(f, g)


@given(box_filters, box_filters)
@settings(max_examples=100, deadline=None)
def test_conjunction_is_covered_by_its_parts(first: str, second: str) -> None:
    # A lone attribute is cast to a boolean inside AND, but is no boolean by itself.
    f, g = parse(f"TRUE AND ({first})"), parse(f"TRUE AND ({second})")
    assert covers(f, parse(f"({first}) AND ({second})"))
    assert covers(g, parse(f"({first}) AND ({second})"))
    assert covers(parse(f"({first}) OR ({second})"), f)
