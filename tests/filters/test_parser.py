"""Reading filters: precedence, limits, messages; whatever comes in, only BadFilter comes out."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from regraft.filters import BadFilter, parse
from regraft.filters.parser import MAX_CALLS, MAX_DEPTH, MAX_LENGTH, MAX_PARTS
from regraft.model import BadInput

WORDS = ("AND", "or", "NOT", "LIKE", "IN", "EXISTS", "true", "XOR", "ABS", "<>")
ALPHABET = st.sampled_from([*"abx019'\"\\%_().,+-*/<>=! \n\té𝄞\x00", *WORDS])


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a AND b OR c", "a AND b OR c"),
        ("a AND (b OR c)", "a AND (b OR c)"),
        ("(a AND b) OR c", "(a AND b) OR c"),
        ("((a))", "a"),
        ("NOT a = b", "NOT a = b"),
        ("NOT (a = b)", "NOT (a = b)"),
        ("a not  like 'x' ", "a NOT LIKE 'x'"),
        ("a+1*-2", "a + 1 * -2"),
        ("(a+1)*2", "(a + 1) * 2"),
        ("a-1", "a - 1"),
        ("a - -1", "a - -1"),
        ("--1", "- -1"),
        ("- 1", "- 1"),
        ("a <> 1", "a != 1"),
        ("(a = b) = c", "(a = b) = c"),
        ("a = b = c", "a = b = c"),
        ("concat_ws ( ',' , A )", "CONCAT_WS(',', a)"),
        ("x IN (1,2.50, 'y')", "x IN (1, 2.5, 'y')"),
        ("android = nota", "android = nota"),
        ("5g = +7", "5g = 7"),
        ('"it\'s"', r"'it\'s'"),
        (r"'a\'b\"c\_'", r"'a\'b\"c\_'"),
        (r'"a\"b\'c"', r'''"a\"b\'c"'''),
        ("-2147483648", "-2147483648"),
        ("1.0e16", "1.0e+16"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
    assert parse(canonical).node == parse(text).node


def test_and_or_group_to_the_left() -> None:
    assert parse("TRUE OR TRUE AND FALSE").evaluate({}) == (False, None)
    assert parse("TRUE OR (TRUE AND FALSE)").evaluate({}) == (True, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "position 1: found the end, expected "),
        ("a = ", "position 5: found the end, expected "),
        ("a = = 1", "position 5: found '=', expected "),
        ("a = 'x", "position 5: the string is not closed"),
        ("a = 1 $", "position 7: found '$', expected "),
        ("a LIKE b", "position 8: found 'b', expected a string"),
        ("EXISTS not", "position 8: found 'not', expected an attribute"),
        ("a = 2147483648", "position 5: an integer has 32 bits"),
        ("a = 1.0e999", "position 5: the number is too large"),
        ("a = 1.", "position 5: found '1', expected "),
        ("x IN ()", "position 7: found ')', expected "),
        ("a b", "position 3: found 'b', expected "),
        ("my_attribute = 1", "position 1: found 'm', expected "),
    ],
)
def test_message_is_one_line_with_position_and_rule(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text)
    assert isinstance(caught.value, BadFilter)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 65_000 + "a" + ")" * 65_000,
        "(" * 65_000,
        "(" * 4_000 + "a" + ")" * 4_000,
        "NOT " * 2_000 + "a",
        "-" * 8_000 + "a",
        "ABS(" * 1_500 + "1" + ")" * 1_500,
        "a" + " LIKE 'x'" * 800,
        "a IN (" * 1_000 + "1" + ")" * 1_000,
        " AND ".join(["a = 1"] * 100_000),
        "1+" * 4_000 + "1",
    ],
)
def test_limits_are_named(text: str) -> None:
    with pytest.raises(
        BadFilter, match=rf"^position \d+: .*({MAX_DEPTH}|{MAX_LENGTH}|{MAX_PARTS}|{MAX_CALLS}|expected)"
    ):
        parse(text)


@pytest.mark.parametrize("operator", ["AND", "OR", "XOR"])
def test_long_chains_within_the_limits_are_answered(operator: str) -> None:
    f = parse(f" {operator} ".join(["a = 1"] * 700))
    assert f.matches({"a": 1}) is (operator != "XOR")
    assert f.matches({"a": 2}) is False
    # An even number of equal parts under XOR is never true.
    assert len(f.normal) == (operator != "XOR")


@pytest.mark.parametrize("shape", ["({})", "NOT ({})", "(b = 2 OR {})", "({} AND b = 2)", "(b = 2 XOR ({}))"])
def test_deepest_nesting_within_the_limits_is_answered(shape: str) -> None:
    text = "a = 1"
    deepest = text
    while True:
        try:
            parse(shape.format(text))
        except BadFilter:
            break
        deepest = text = shape.format(text)
    f = parse(deepest)
    value, fault = f.evaluate({"a": 1, "b": 2})
    assert f.matches({"a": 1, "b": 2}) is (value is True and fault is None)
    assert isinstance(f.normal, tuple)
    assert parse(str(f)) == f


@pytest.mark.parametrize("thing", [None, 5, b"a = 1", ["a"]])
def test_only_strings_are_expressions(thing: object) -> None:
    with pytest.raises(BadFilter):
        parse(thing)  # type: ignore[arg-type]


@given(
    st.text() | st.lists(ALPHABET, max_size=30).map("".join) | st.lists(ALPHABET, max_size=15).map(" ".join)
)
@example("'\\")
@example("1e5")
@example("\ud800")
@example("'\ud800' = a")
@settings(max_examples=600, deadline=None)
def test_any_text_is_a_filter_or_bad(text: str) -> None:
    try:
        f = parse(text)
    except BadFilter as fault:
        assert "\n" not in str(fault)  # noqa: PT017 - most texts are bad, some are not
        return
    assert parse(str(f)) == f
    f.matches({"a": 1, "b": "x"})
    f.evaluate({"a": 1, "b": "x"})
    assert isinstance(f.normal, tuple)
