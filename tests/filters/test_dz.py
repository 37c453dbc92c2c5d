"""dz-expressions against the cells of a small grid: every set of strings is also a set of leaves."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.filters import dz
from regraft.filters.dz import DzSet

DEPTH = 6
LEAVES = [format(number, f"0{DEPTH}b") for number in range(1 << DEPTH)]

expressions = st.text("01", max_size=DEPTH)
sets = st.lists(expressions, max_size=12)


def leaves(strings: Iterable[str]) -> set[str]:
    parts = tuple(strings)
    return {leaf for leaf in LEAVES if leaf.startswith(parts)}


@given(expressions, expressions)
def test_prefixes_are_the_relations_of_the_named_parts(one: str, other: str) -> None:
    first, second = leaves([one]), leaves([other])
    assert DzSet([one]).covers(DzSet([other])) == (first >= second)
    assert DzSet([one]).overlaps(DzSet([other])) == bool(first & second)
    assert dz.volume(one) == len(first) / len(LEAVES)


@given(expressions, expressions)
def test_shared_prefix_is_the_smallest_part_that_covers_both(one: str, other: str) -> None:
    prefix = dz.shared(one, other)
    assert one.startswith(prefix)
    assert other.startswith(prefix)
    assert one[: len(prefix) + 1] != other[: len(prefix) + 1] or prefix in (one, other)


@pytest.mark.parametrize(
    ("one", "other", "prefix"),
    [("1011", "1001", "10"), ("1", "0", ""), ("01", "01", "01"), ("0110", "01", "01")],
)
def test_shared_prefix_of_4_33_to_4_36(one: str, other: str, prefix: str) -> None:
    assert dz.shared(one, other) == prefix


@given(sets)
def test_a_set_is_the_same_part_without_prefixes_or_joined_halves(strings: list[str]) -> None:
    least = DzSet(strings)
    assert leaves(least) == leaves(strings)
    assert least.volume == len(leaves(strings)) / len(LEAVES)
    for one in least:
        assert not any(one != other and other.startswith(one) for other in least)
        assert not (one and one[:-1] + "10"[int(one[-1])] in least.expressions)


@given(sets, sets)
def test_equal_parts_are_equal_values(one: list[str], other: list[str]) -> None:
    assert (DzSet(one) == DzSet(other)) == (leaves(one) == leaves(other))


@given(sets, sets)
def test_union_intersection_covering_and_overlap(one: list[str], other: list[str]) -> None:
    first, second = DzSet(one), DzSet(other)
    assert leaves(first | second) == leaves(one) | leaves(other)
    assert leaves(first & second) == leaves(one) & leaves(other)
    assert first.covers(second) == (leaves(one) >= leaves(other))
    assert first.overlaps(second) == bool(leaves(one) & leaves(other))


@given(sets, expressions)
def test_membership_of_one_expression(strings: list[str], one: str) -> None:
    assert (one in DzSet(strings)) == (leaves([one]) <= leaves(strings))


def test_the_shared_expression_of_a_set() -> None:
    assert DzSet(["0101", "0110"]).shared == "01"
