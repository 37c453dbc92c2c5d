"""The cover index against comparing all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.filters.cover_index import CoverIndex
from regraft.filters.expression import Filter, parse
from regraft.filters.relations import covers, overlaps
from regraft.model import BadInput

COMPARISONS = [
    *(
        "kind = 'a'",
        "kind = 'b'",
        "kind IN ('a', 'b')",
        "kind != 'a'",
        "kind = '5'",
        "kind = 5",
        "kind = TRUE",
    ),
    *("kind LIKE 'a%'", "EXISTS kind", "NOT EXISTS x", "kind >= 5", "kind = 'true'", "kind IN ('5', '7')"),
    *("x = 1", "x = '1'", "x IN (1, 2)", "x > 2", "x >= 2", "x >= 3", "x < 5.5", "x <= 5", "x < 7", "x != 3"),
    *(
        "x > 9007199254740994.0",
        "x = TRUE",
        "y > 1",
        "y <= 4",
        "y <= 3",
        "x < y",
        "NOT (y > 3)",
        "TRUE",
        "FALSE",
    ),
]
conjunctions = st.lists(st.sampled_from(COMPARISONS), min_size=1, max_size=4).map(" AND ".join)
filters = st.lists(conjunctions, min_size=1, max_size=2).map(
    lambda some: parse(" OR ".join(f"({one})" for one in some))
)


def check(index: CoverIndex, kept: dict[int, Filter], asked: Filter) -> None:
    around = index.covering(asked)
    assert (around is None) == (not any(covers(filter, asked) for filter in kept.values()))
    assert around is None or covers(kept[around], asked)
    assert sorted(index.covered(asked)) == [
        key for key, filter in sorted(kept.items()) if covers(asked, filter)
    ]
    near = [key for key, filter in sorted(kept.items()) if overlaps(asked, filter)]
    assert sorted(index.overlapping(asked)) == near


@settings(max_examples=150, deadline=None)
@given(st.lists(filters, max_size=10), st.lists(filters, min_size=1, max_size=4))
def test_the_answers_are_those_of_all_pairs(some: list[Filter], asked: list[Filter]) -> None:
    index = CoverIndex()
    for key, filter in enumerate(some):
        index.add(key, filter)
    for one in asked:
        check(index, dict(enumerate(some)), one)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), filters), max_size=30), filters)
def test_filters_come_and_go(changes: list[tuple[int, Filter]], asked: Filter) -> None:
    index, kept = CoverIndex(), dict[int, Filter]()
    for key, filter in changes:
        if key in kept:
            index.remove(key)
            del kept[key]
        else:
            index.add(key, filter)
            kept[key] = filter
        assert len(index) == len(kept)
        check(index, kept, asked)


def ranges(random: np.random.Generator) -> Filter:
    x, y = np.sort(random.integers(0, 30, size=(2, 2)), axis=1).tolist()
    kind = random.choice(["a", "b"])
    return parse(f"kind = '{kind}' AND x >= {x[0]} AND x <= {x[1]} AND y > {y[0]} AND y < {y[1] + 1}")


def test_many_ranges_of_the_same_attributes() -> None:
    random = np.random.default_rng(1)
    index, kept = CoverIndex(), dict[int, Filter]()
    for key in range(300):
        kept[key] = ranges(random)
        index.add(key, kept[key])
    for key in range(0, 300, 4):
        index.remove(key)
        del kept[key]
    for _ in range(15):
        check(index, kept, ranges(random))
    for text in (
        "kind = 'a'",
        "x > 10",
        "x > 10 AND y < 20 AND kind IN ('a', 'b')",
        "kind = 'a' AND x = 7 AND y = 3",
    ):
        check(index, kept, parse(text))


def test_equal_filters_are_covered_while_one_of_their_keys_is_left() -> None:
    index = CoverIndex()
    index.add(1, parse("x > 3"))
    index.add(2, parse("x>3"))
    assert index.covering(parse("x > 3")) in (1, 2)
    index.remove(1)
    assert index.covering(parse("x > 4")) == 2
    index.remove(2)
    assert index.covering(parse("x > 4")) is None
    assert 2 not in index


def test_keys_that_are_taken_or_missing_are_refused() -> None:
    index = CoverIndex()
    index.add(1, parse("x > 3"))
    with pytest.raises(BadInput, match="already"):
        index.add(1, parse("x > 4"))
    with pytest.raises(BadInput, match="not in"):
        index.remove(2)


def test_a_filter_for_texts_overlaps_one_for_the_number_that_they_spell() -> None:
    pair = parse("kind IN ('a', 'b') OR kind != 'a'"), parse("kind = 5")
    index = CoverIndex()
    index.add(1, pair[1])
    assert overlaps(*pair)
    assert index.overlapping(pair[0]) == [1]
