"""Filters read step by step: the same result, small steps, and what is kept of it."""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.filters import BadFilter, Filter, parse, prepare_in_steps
from regraft.filters.compiled import compiled, in_boxes, passing
from regraft.filters.evaluate import evaluator
from regraft.filters.expression import FilterCache
from regraft.filters.functions import LONGEST_TEXT
from regraft.filters.like import MAX_WILD, matcher
from regraft.filters.parser import MAX_CALLS, MAX_PARTS, read_in_steps
from regraft.filters.steps import finish

CONSTANTS = st.sampled_from(("0", "1", "-2", "2.5", "'1'", "'x'", "'true'", "TRUE", "FALSE"))
COMPARISONS = st.tuples(st.sampled_from(("=", "!=", "<", "<=", ">", ">=")), CONSTANTS)
VALUES = (None, 0, 1, -2, 2.5, 3, True, False, "1", "01", "x", "true", "", "y")


@given(
    st.sampled_from(("AND", "OR", "XOR")),
    st.lists(COMPARISONS, min_size=9, max_size=14),
    st.sampled_from(("{}", "NOT ({})", "({}) AND TRUE", "({}) OR b = 1")),
)
@settings(max_examples=60, deadline=None)
def test_long_runs_of_comparisons_are_normalised_as_they_are_evaluated(
    operator: str, comparisons: list[tuple[str, str]], shape: str
) -> None:
    run = f" {operator} ".join(f"a {each} {constant}" for each, constant in comparisons)
    f = parse(shape.format(run))
    assert f.exact
    for value in VALUES:
        event = {} if value is None else {"a": value}
        expected = f.evaluate(event) == (True, None)
        assert in_boxes(f.normal)(event) is expected
        assert compiled(f.node)(event) is expected


def test_runs_of_one_type_are_no_more_than_one_conjunction() -> None:
    for comparison in ("a = {}", "a != {}", "a < {}", "a = 'x{}'", "a != 'x{}'"):
        for operator in (" OR ", " AND "):
            f = parse(operator.join(comparison.format(n) for n in range(400)))
            assert f.exact
            assert len(f.normal) <= 1


def steps_of(text: str) -> int:
    return sum(1 for _ in prepare_in_steps(text))


def test_long_filters_take_many_steps_and_known_ones_none() -> None:
    text = " OR ".join(f"steps = {n}" for n in range(400))
    kept = []

    def steps() -> Iterator[None]:
        kept.append((yield from prepare_in_steps(text)))

    assert sum(1 for _ in steps()) > 400
    assert parse(text) is kept[0]
    assert "normal" in kept[0].__dict__
    assert steps_of(text) == 0


@pytest.mark.parametrize("text", ["a >", "a = 'x", "$", "a IN ()"])
def test_a_refusal_is_the_same_again(text: str) -> None:
    said = []
    for _ in range(2):
        with pytest.raises(BadFilter) as caught:
            finish(prepare_in_steps(text))
        said.append((caught.value.place, caught.value.rule))
    assert said[0] == said[1]


def test_a_filter_that_is_still_held_is_found_though_no_longer_kept() -> None:
    cache = FilterCache(characters=10)
    first, second = parse("one = 1"), parse("two = 2")
    cache.keep("one = 1", first)
    cache.keep("two = 2", second)
    assert cache.get("one = 1") is first
    cache.keep("gone = 1", Filter("gone = 1", first.node))
    cache.keep("two = 2 ", second)
    gc.collect()
    assert cache.get("gone = 1") is None


def test_the_number_of_parts_and_calls_of_a_filter_is_limited() -> None:
    with pytest.raises(BadFilter, match=f"more than {MAX_PARTS} values"):
        finish(read_in_steps("+".join(["1"] * (MAX_PARTS + 1))))
    with pytest.raises(BadFilter, match=f"or {MAX_CALLS} functions"):
        finish(read_in_steps(" OR ".join(["a LIKE 'x%'"] * (MAX_CALLS + 1))))


def test_values_do_not_grow_without_bound() -> None:
    long = "y" * LONGEST_TEXT
    f = parse("LENGTH(CONCAT(a, a)) > 0")
    assert f.matches({"a": "y"})
    assert not f.matches({"a": long})
    assert parse("LENGTH(a) > 0").matches({"a": long})
    assert not parse("LENGTH(a) > 0").matches({"a": long + "y"})
    assert not parse("LENGTH(CONCAT_WS(a, 'x', 'y')) > 0").matches({"a": long})


@pytest.mark.parametrize("text", ["a LIKE 'y%'", "a NOT LIKE 'y%'", "a NOT LIKE 'z%'"])
def test_a_text_too_long_for_patterns_is_an_error_everywhere(text: str) -> None:
    f = parse(text)
    event = {"a": "y" * (LONGEST_TEXT + 1)}
    assert f.evaluate(event)[1] is not None
    for test in (f.matches, compiled(f.node), passing(evaluator(f.node))):
        assert test(event) is False


def test_a_plain_text_is_like_itself_however_long() -> None:
    event = {"a": "y" * (LONGEST_TEXT + 1)}
    f = parse("a NOT LIKE 'z'")
    assert f.evaluate(event) == (True, None)
    assert f.matches(event)
    assert compiled(f.node)(event)


@given(st.text("ab%_", max_size=7), st.text("abc", max_size=7))
@settings(max_examples=400)
def test_like_agrees_with_the_definition(pattern: str, text: str) -> None:
    def defined(p: str, t: str) -> bool:
        if not p:
            return not t
        if p[0] == "%":
            return defined(p[1:], t) or (bool(t) and defined(p, t[1:]))
        return bool(t) and p[0] in ("_", t[0]) and defined(p[1:], t[1:])

    assert matcher(pattern)(text) is defined(pattern, text)


def test_like_escapes_stay_what_they_are() -> None:
    assert matcher(r"\%a%\_")("%ab_")
    assert not matcher(r"\%a%\_")("xab_")
    assert not matcher(r"a\_c")("abc")


def test_a_pattern_that_would_be_tried_everywhere_is_refused() -> None:
    parse("a LIKE '%" + "_" * MAX_WILD + "%'")
    parse("a LIKE '" + "_" * 500 + "%'")
    with pytest.raises(BadFilter, match=r"^position 8: .*64"):
        parse("a LIKE '%" + "_b" * MAX_WILD + "%'")


def test_a_filter_that_is_asked_often_answers_the_same() -> None:
    f = parse("hot >= 3 AND topic LIKE 'a/%'")
    for n in range(600):
        assert f.matches({"hot": n % 7, "topic": "a/b"}) is (n % 7 >= 3)
