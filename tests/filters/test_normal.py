"""Constraints: sets of attribute values, closed under and, or and not."""

from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.filters.expressions import CELLS, comparisons

from regraft.filters import Conjunction, Constraint, Interval, parse
from regraft.filters.intervals import (
    EVERY_NUMBER,
    complement,
    holds,
    integers_in,
    intersect,
    meet,
    unite,
    within,
)
from regraft.filters.normal import ABSENT, ANYTHING, NEVER, PRESENT
from regraft.filters.values import INT_MAX, INT_MIN, integer_of, number_with_text, text_of


def constraint_of(text: str) -> Constraint:
    """The values for which a filter on `a` is true; it has at most one conjunction."""
    normal = parse(text).normal
    return normal[0].constraints.get("a", ANYTHING) if normal else NEVER


constraints = st.lists(comparisons(names=("a",)), min_size=1, max_size=3).map(
    lambda texts: constraint_of(" OR ".join(texts))
)


@given(constraints, constraints)
@settings(max_examples=80, deadline=None)
def test_operations_agree_with_membership(p: Constraint, q: Constraint) -> None:
    for value in (*CELLS, inf, -inf, INT_MAX + 1, nan):
        x, y = p.allows(value), q.allows(value)
        assert p.and_(q).allows(value) is (x and y)
        assert p.or_(q).allows(value) is (x or y)
        assert p.not_().allows(value) is not x
    shared = [value for value in CELLS if p.allows(value) and q.allows(value)]
    assert p.meets(q) is bool(shared)
    assert p.within(q) is all(q.allows(value) for value in CELLS if p.allows(value))


@given(constraints, constraints)
@settings(max_examples=50, deadline=None)
def test_equal_sets_have_one_representation(p: Constraint, q: Constraint) -> None:
    assert p.not_().not_() == p
    assert p.and_(q) == q.and_(p)
    assert p.or_(q) == p.not_().and_(q.not_()).not_()
    assert p.and_(p.not_()) == NEVER
    assert p.or_(p.not_()) == ANYTHING


def test_present_and_absent_part_everything() -> None:
    assert PRESENT.not_() == ABSENT
    assert PRESENT.or_(ABSENT) == ANYTHING


def test_a_number_test_holds_for_everything_that_casts() -> None:
    found = constraint_of("a >= 1 AND a < 3")
    assert found.numbers == (Interval(1, False, 3, False),)
    assert found.bools == {True}
    assert found.strings.integers == (Interval(1, False, 3, False),)
    assert found.strings.finite is None
    assert constraint_of("a = 'x' OR a = 'y'").strings.finite == frozenset(("x", "y"))


def test_neighbours_become_one_conjunction() -> None:
    assert parse("a = 1 OR a = 2 OR a > 2").normal == parse("a = 1 OR a >= 2").normal
    assert len(parse("(a = 1 AND b = 2) OR (a = 1 AND b = 3)").normal) == 1


def test_short_circuit_shows_in_the_normal_form() -> None:
    first, second = parse("a = 1 OR b = 2").normal
    assert set(first.constraints) == {"a"}
    assert set(second.constraints) == {"a", "b"}
    assert not second.constraints["a"].allows(1)
    assert not second.constraints["a"].missing


def test_too_large_a_normal_form_stays_a_condition() -> None:
    text = " AND ".join(f"(a{i} = 1 OR b{i} = 2)" for i in range(12))
    (only,) = parse(text).normal
    assert isinstance(only, Conjunction)
    assert not only.exact
    assert [outcome for _, outcome in only.residue] == [True]


bounds = st.integers(-6, 6) | st.sampled_from((-2.5, 0.5, 1.5, -inf, inf, 2**40, -(2**40)))
intervals = st.lists(st.tuples(bounds, st.booleans(), bounds, st.booleans()), max_size=4).map(
    lambda drawn: tuple(i for t in drawn for i in ((Interval(*t),) if t[:2] < t[2:] else ()))
)
POINTS = (-inf, -(2**40), -7, *(i / 4 for i in range(-28, 29)), 2**40, inf)


@given(intervals, intervals)
@settings(max_examples=200, deadline=None)
def test_interval_sets_agree_with_membership(a: tuple[Interval, ...], b: tuple[Interval, ...]) -> None:
    p: tuple[Interval, ...] = ()
    q: tuple[Interval, ...] = ()
    for interval in a:
        p = unite(p, (interval,))
    for interval in b:
        q = unite(q, (interval,))
    for x in POINTS:
        in_p, in_q = any(holds((i,), x) for i in a), any(holds((i,), x) for i in b)
        assert holds(unite(p, q), x) is (in_p or in_q)
        assert holds(intersect(p, q), x) is (in_p and in_q)
        assert holds(complement(p), x) is not in_p
        if x == x // 1 and INT_MIN <= x <= INT_MAX:
            assert holds(integers_in(p), x) is in_p
    assert meet(p, q) is bool(intersect(p, q))
    assert within(p, q) is (not intersect(p, complement(q)))
    assert unite(p, complement(p)) == EVERY_NUMBER


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5),
        ("+005", 5),
        ("-0", 0),
        ("2147483648", None),
        ("-2147483648", INT_MIN),
        ("0" * 5_000 + "7", 7),
        ("-" + "0" * 5_000 + "7", -7),
        ("-" + "0" * 20, 0),
        ("-00" + "2147483648", INT_MIN),
        ("9" * 5_000, None),
        ("5.0", None),
        (" 5", None),
        ("٥", None),
        ("", None),
        ("-", None),
        ("5\n", None),
    ],
)
def test_strings_that_spell_integers(text: str, number: int | None) -> None:
    assert integer_of(text) == number


@given(st.floats(allow_nan=False) | st.integers(-(2**70), 2**70))
def test_text_of_a_number_leads_back_to_it(number: float) -> None:
    assert number_with_text(text_of(number)) == number
