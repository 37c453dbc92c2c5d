"""Filters as values: text, equality, matching against the reference evaluation, the normal form."""

import copy
import pickle
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.filters.expressions import Event, any_filters, box_filters, events, normal_passes, passes

from regraft.filters import Fault, Filter, parse
from regraft.filters.compiled import compiled

SAMPLES = st.lists(events, min_size=1, max_size=20)


@given(any_filters, SAMPLES)
@settings(max_examples=200, deadline=None)
def test_matches_agrees_with_the_reference_evaluation(text: str, sample: list[Event]) -> None:
    f = parse(text)
    fast = compiled(f.node)
    for e in sample:
        assert f.matches(e) is fast(e) is passes(f, e)


@given(any_filters, SAMPLES)
@settings(max_examples=200, deadline=None)
def test_normal_form_says_the_same_as_the_filter(text: str, sample: list[Event]) -> None:
    f = parse(text)
    for e in sample:
        assert normal_passes(f, e) is passes(f, e)


@given(box_filters)
@settings(max_examples=100, deadline=None)
def test_normal_form_of_single_attribute_tests_has_no_residue(text: str) -> None:
    assert parse(text).exact


@given(any_filters)
@settings(max_examples=150, deadline=None)
def test_text_of_a_filter_is_that_filter(text: str) -> None:
    f = parse(text)
    again = parse(str(f))
    assert again == f
    assert hash(again) == hash(f)
    assert again.node == f.node
    assert str(again) == str(f)


def test_filters_are_equal_if_their_canonical_text_is() -> None:
    f = parse("topic='temp' and VALUE>20")
    assert f == parse("(topic = 'temp') AND value > 20")
    assert str(f) == "topic = 'temp' AND value > 20"
    assert f != parse("topic = 'temp' AND value > 21")
    assert f.attributes == {"topic", "value"}


def test_filters_are_frozen_and_travel() -> None:
    f = parse("a = 1")
    with pytest.raises(AttributeError):
        f.text = "b = 1"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(f)) == f
    assert copy.deepcopy(f) == f


def test_parsing_the_same_text_again_gives_the_same_object() -> None:
    assert parse("a = 1 AND b = 2") is parse("a = 1 AND b = 2")


@pytest.mark.parametrize(
    ("text", "attributes", "expected"),
    [
        ("value > 20", {"value": 20.5}, True),
        ("value > 20.5", {"value": 21}, True),
        ("value = 5", {"value": 5.0}, True),
        ("value = '5'", {"value": 5.0}, True),
        ("value > 0", {"value": True}, True),
        ("value > 0", {"value": "007"}, True),
        ("value > 0", {"value": "7.5"}, False),
        ("value > 0", {"value": 3_000_000_000}, True),
        ("value > 0", {"value": "3000000000"}, False),
        ("value > 0", {"value": inf}, True),
        ("NOT (value > 0)", {"value": nan}, False),
        ("EXISTS value", {"value": nan}, False),
        ("EXISTS value", {"value": None}, False),
        ("value != 5", {"value": nan}, False),
        ("value != 5", {}, False),
        ("value", {"value": "true"}, False),
        ("value AND TRUE", {"value": "true"}, True),
        ("a = 1 OR b = 2", {"b": 2}, False),
        ("EXISTS a AND a = 1 OR b = 2", {"b": 2}, True),
        ("a OR b = 2", {"a": "no boolean", "b": 2}, False),
        ("TRUE AND 1", {}, True),
        ("1", {}, False),
        ("a * 1", {"a": 1}, False),
        ("BOOL(a)", {"a": 1}, True),
    ],
)
def test_casts_and_errors_decide_as_specified(text: str, attributes: Event, expected: bool) -> None:
    f = parse(text)
    assert f.matches(attributes) is expected
    assert passes(f, attributes) is expected
    assert normal_passes(f, attributes) is expected


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("2147483647 + 1", (0, Fault.MATH)),
        ("-7 / 2", (-3, None)),
        ("-7 % 2", (-1, None)),
        ("7 / 2.0", (3.5, None)),
        ("1.5 / 0", (0, Fault.MATH)),
        ("ABS(-2147483648)", (2147483647, Fault.MATH)),
        ("1.0e308 * 10", (0, Fault.MATH)),
        ("STRING(2.0)", ("2", None)),
        ("INT(2.9)", (2, None)),
        ("INT(3000000000.5)", (0, Fault.CAST)),
        ("CONCAT()", ("", None)),
        ("RIGHT('abc', 0)", ("", None)),
        ("TRIM(' \t\u2003x\x1c')", ("x\x1c", None)),
        ("NO_SUCH(1)", (False, Fault.MISSING_FUNCTION)),
        ("missing + 5", (0, Fault.MISSING_ATTRIBUTE)),
    ],
)
def test_values_and_errors_of_expressions(text: str, outcome: tuple[object, object]) -> None:
    assert parse(text).evaluate({}) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("true AND (1 != 1 / 0)", (False, Fault.MATH)),
        ("false OR (1 != 1 / 0)", (False, Fault.MATH)),
        ("false XOR (1 != 1 / 0)", (False, Fault.MATH)),
        ("(1 / 0 = 0) OR true", (False, Fault.MATH)),
        ("NOT (1 = 1 / 0)", (False, Fault.MATH)),
        ("1 != 1 / 0", (False, Fault.MATH)),
        ("1 / 0 < 1", (False, Fault.MATH)),
        ("1 % 0 + 5", (0, Fault.MATH)),
        ("-(1 / 0 + 5)", (0, Fault.MATH)),
        ("(1 / 0) NOT LIKE 'x%'", (False, Fault.MATH)),
        ("(1 / 0) IN (0)", (False, Fault.MATH)),
        ("5 IN (1 / 0, 5)", (False, Fault.MATH)),
        ("5 IN (5, 1 / 0)", (True, None)),
        ("5 NOT IN (1 / 0)", (False, Fault.MATH)),
        ("CONCAT('a', 1 / 0)", ("", Fault.MATH)),
        ("LENGTH(1 / 0)", (0, Fault.MATH)),
        ("LENGTH(LEFT('abc', -1))", (0, Fault.FUNCTION_EVALUATION)),
        ("ABS(-2147483648) + 1", (0, Fault.MATH)),
        ("ABS(1 / 0 - 4)", (0, Fault.MATH)),
        ("'x' != 5", (False, Fault.CAST)),
        ("'x' < 5", (False, Fault.CAST)),
        ("'x' + 1", (0, Fault.CAST)),
        ("'x' OR true", (False, Fault.CAST)),
        ("'x' XOR true", (False, Fault.CAST)),
        ("5 NOT IN ('x')", (False, Fault.CAST)),
        ("NO_SUCH() OR true", (False, Fault.MISSING_FUNCTION)),
        ("missing NOT LIKE 'x'", (False, Fault.MISSING_ATTRIBUTE)),
        ("missing OR 1 / 0 = 0", (False, Fault.MISSING_ATTRIBUTE)),
        ("1 / 0 = missing", (False, Fault.MATH)),
    ],
)
def test_what_meets_an_error_has_the_zero_value_of_its_type(
    text: str, outcome: tuple[object, object]
) -> None:
    """CESQL 1.0 §3.3: for an operand that fails, and for a cast that does."""
    value, fault = parse(text).evaluate({})
    assert (type(value), value, fault) == (type(outcome[0]), *outcome)


def test_like_takes_no_exponential_time() -> None:
    f = parse("a LIKE '" + "%a" * 40 + "%b'")
    assert not f.matches({"a": "a" * 5_000})


def test_everything_and_nothing_have_trivial_normal_forms() -> None:
    everything: Filter = parse("TRUE")
    assert [conjunction.box for conjunction in everything.normal] == [()]
    assert everything.exact
    assert parse("FALSE").normal == ()
