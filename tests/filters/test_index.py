"""The matching index against asking every filter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.filters.expression import Filter, parse
from regraft.filters.index import MatchingIndex
from regraft.filters.index_group import FEW
from regraft.filters.values import Value
from regraft.model import BadInput

Event = dict[str, Value]

COMPARISONS = [
    "kind = 'a'",
    "kind = 'b'",
    "kind IN ('a', 'b', 'c')",
    "kind != 'a'",
    "kind = '5'",
    "kind = 5",
    "kind = TRUE",
    "kind LIKE 'a%'",
    "EXISTS kind",
    "NOT EXISTS x",
    "x = 1",
    "x = 3.5",
    "x IN (1, 2, 7)",
    "x > 2",
    "x >= 2",
    "x < 5.5",
    "x <= 5",
    "x != 3",
    "x > 9007199254740993.0",
    "y > 1",
    "y <= 4",
    "x < y",
    "NOT (y > 3)",
    "flag",
    "flag = FALSE",
    "TRUE",
    "FALSE",
]
VALUES: list[Value] = [
    *("a", "b", "ab", "", "5", "+5", "003", "true", "x"),
    *(True, False, 0, 1, 2, 3, 5, 7, 2.0, 3.5, 5.5, -1.25),
    *(2**53, 2**53 + 1, 10**400, -(10**400), float("inf"), float("-inf"), float("nan")),
]

expressions = st.recursive(
    st.sampled_from(COMPARISONS),
    lambda inner: st.builds(
        lambda left, word, right: f"({left} {word} {right})", inner, st.sampled_from(["AND", "OR"]), inner
    ),
    max_leaves=5,
)
filters = expressions.map(parse)
events = st.dictionaries(st.sampled_from(["kind", "x", "y", "flag"]), st.sampled_from(VALUES))


def asked(filters: dict[int, Filter], event: Event) -> list[int]:
    return sorted(key for key, filter in filters.items() if filter.matches(event))


@settings(max_examples=150, deadline=None)
@given(st.lists(filters, max_size=12), st.lists(events, min_size=1, max_size=8))
def test_matches_what_the_filters_match(some: list[Filter], happened: list[Event]) -> None:
    index = MatchingIndex()
    for key, filter in enumerate(some):
        index.add(key, filter)
    assert len(index) == len(some)
    answers = [index.match(event) for event in happened]
    for event, answer in zip(happened, answers, strict=True):
        assert sorted(answer) == sorted(index.match_array(event)) == asked(dict(enumerate(some)), event)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), filters), max_size=40), st.lists(events, min_size=1, max_size=4))
def test_changes_are_visible_at_once(changes: list[tuple[int, Filter]], happened: list[Event]) -> None:
    index, kept = MatchingIndex(), dict[int, Filter]()
    for key, filter in changes:
        if key in kept:
            index.remove(key)
            del kept[key]
        else:
            index.add(key, filter)
            kept[key] = filter
        assert (key in index) == (key in kept)
        for event in happened:
            assert sorted(index.match(event)) == asked(kept, event)
    for key in kept:
        index.remove(key)
    assert len(index) == 0
    assert not index.attributes


class Boxes:
    """Random boxes in an index and in arrays, side by side."""

    def __init__(self, seed: int, ranged: tuple[str, ...] = ("x", "y")) -> None:
        self.random = np.random.default_rng(seed)
        self.ranged = ranged
        self.index = MatchingIndex()
        self.kept: dict[int, tuple[str, np.ndarray]] = {}

    def draw(self, count: int) -> tuple[list[str], np.ndarray]:
        kinds = self.random.choice(["a", "b"], size=count, p=[0.8, 0.2]).tolist()
        ends = self.random.integers(0, 50, size=(count, len(self.ranged), 2)).astype(float)
        ends.sort(axis=2)
        ends[self.random.random(ends.shape) < 0.1] = np.inf
        ends[:, :, 0][np.isinf(ends[:, :, 0])] *= -1
        return kinds, ends

    def add_boxes(self, keys: range) -> None:
        kinds, ends = self.draw(len(keys))
        columns = {name: (ends[:, a, 0], ends[:, a, 1]) for a, name in enumerate(self.ranged)}
        self.index.add_boxes(keys, {"kind": kinds}, columns)
        self.kept |= dict(zip(keys, zip(kinds, ends, strict=True), strict=True))

    def add(self, key: int) -> None:
        (kind,), (ends,) = self.draw(1)
        terms = [f"kind = '{kind}'"]
        for name, (low, high) in zip(self.ranged, ends, strict=True):
            terms.append(f"{name} >= {low if np.isfinite(low) else -(2.0**40)}")
            terms.append(f"{name} <= {high if np.isfinite(high) else 2.0**40}")
        self.index.add(key, parse(" AND ".join(terms)))
        self.kept[key] = (kind, ends)

    def remove(self, key: int) -> None:
        self.index.remove(key)
        del self.kept[key]

    def check(self) -> None:
        assert len(self.index) == len(self.kept)
        for _ in range(20):
            kind = str(self.random.choice(["a", "b", "c"]))
            point = self.random.choice(
                [0, 49, 17, 3.5, 60, -1, *self.random.integers(0, 50, 4)], len(self.ranged)
            )
            wanted = sorted(
                key
                for key, (of, ends) in self.kept.items()
                if of == kind and ((ends[:, 0] <= point) & (point <= ends[:, 1])).all()
            )
            event = {"kind": kind, **dict(zip(self.ranged, point.tolist(), strict=True))}
            assert sorted(self.index.match(event)) == sorted(self.index.match_array(event)) == wanted


@pytest.mark.parametrize("ranged", [("x",), ("x", "y"), ("x", "y", "z")])
def test_many_boxes_at_once_and_one_by_one(ranged: tuple[str, ...]) -> None:
    boxes = Boxes(1, ranged)
    boxes.add_boxes(range(20))
    boxes.check()
    boxes.add_boxes(range(20, 1500))
    boxes.check()
    for key in range(0, 1500, 3):
        boxes.remove(key)
    boxes.check()
    for key in range(6000, 6600):
        boxes.add(key)
    boxes.check()
    boxes.add_boxes(range(10_000, 10_100))
    boxes.add_boxes(range(20_000, 30_000))
    boxes.check()


@pytest.mark.parametrize("count", [FEW - 1, FEW, FEW + 1, 65, 300])
def test_growing_one_by_one_and_going_again(count: int) -> None:
    boxes = Boxes(2)
    for key in range(count):
        boxes.add(key)
    boxes.check()
    for key in range(count):
        boxes.remove(key)
        if key % 17 == 0:
            boxes.check()
    assert len(boxes.index) == 0
    boxes.add(0)
    boxes.check()


def test_many_equal_filters_without_ranges() -> None:
    index = MatchingIndex()
    for key in range(1000):
        index.add(key, parse("topic = 'news'"))
    index.add_boxes(range(1000, 1500), {"topic": ["news"] * 500}, {})
    index.remove(3)
    assert sorted(index.match({"topic": "news"})) == [*range(3), *range(4, 1500)]
    assert index.match({"topic": "old"}) == []


def test_boxes_without_values_to_be_equal_to() -> None:
    index = MatchingIndex()
    index.add_boxes(range(3), {}, {"x": ([0, 1, 5], [2, 3, 4])})
    assert sorted(index.match({"x": 1.5})) == [0, 1]
    assert index.match({"x": 4.5}) == []
    index.add_boxes([], {"kind": []}, {"x": ([], [])})
    assert len(index) == 3


def test_attributes_are_those_that_answers_depend_on() -> None:
    index = MatchingIndex()
    assert index.attributes == frozenset()
    index.add(0, parse("topic = 'a' AND x > 3"))
    index.add(1, parse("name LIKE 'b%'"))
    assert index.attributes == {"topic", "x", "name"}
    index.remove(0)
    assert index.attributes == {"name"}
    index.remove(1)
    assert index.attributes == frozenset()


def test_keys_that_are_taken_missing_or_no_keys_are_refused_and_nothing_changes() -> None:
    index = MatchingIndex()
    index.add(4, parse("x > 3"))
    for keys in ([1, 4], [1, 1], [-1], [2**31]):
        with pytest.raises(BadInput):
            index.add_boxes(keys, {}, {"x": ([1.0] * len(keys), [5.0] * len(keys))})
    with pytest.raises(BadInput, match="not in the index"):
        index.remove(1)
    for low in ([1.0, 2.0], [float("nan")], [2.0**60]):
        with pytest.raises(BadInput, match="columns"):
            index.add_boxes([1], {}, {"x": (low, [5.0])})
    assert len(index) == 1
    assert index.match({"x": 5}) == [4]
    index.add(1, parse("x > 4"))
    assert sorted(index.match({"x": 5})) == [1, 4]
