"""A sample of publications is what standard errors take it for, and samples are parts of each other."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.protocol.sampling import chosen, sample

RUNS = 600
EACH = 400
"""How many publications of a run are in the sample, on average."""
CLASSES: dict[str, Callable[[int, int], Any]] = {
    "drawn": lambda count, run: np.random.default_rng(run).integers(0, 4, count) == 0,
    "in turn": lambda count, _: np.arange(count) % 8 == 0,
    "in stretches": lambda count, _: np.arange(count) // 300 % 2 == 0,
}
"""Which of so many publications are of one class: drawn, or by the number, which also decides what is in
the sample."""


@pytest.mark.parametrize("one_in", [2, 12])
@pytest.mark.parametrize("kind", CLASSES)
def test_the_interval_of_a_class_holds_the_truth_in_at_least_93_of_100_runs(kind: str, one_in: int) -> None:
    count, held = EACH * one_in, Counter[bool]()
    for run in range(RUNS):
        is_of_class = CLASSES[kind](count, run)
        recorded = is_of_class[sample(one_in)(f"p{run}#1", range(count))]
        for name in (True, False):
            estimate = one_in * int((recorded == name).sum())
            error = math.sqrt((one_in - 1) * estimate)
            held[name] += bool(abs(estimate - (is_of_class == name).sum()) <= 1.96 * error)
    assert all(held[name] >= 0.93 * RUNS for name in (True, False)), held


def test_one_in_one_keeps_everything() -> None:
    assert sample(1)("p#1", range(1, 1000)) == list(range(999))


@pytest.mark.parametrize("one_in", [2, 3, 7, 8, 100, 128])
def test_each_block_has_one_and_each_place_of_a_block_its_turn(one_in: int) -> None:
    blocks = 200 * one_in
    numbers = [chosen("p#1", one_in, block) for block in range(blocks)]
    assert [number // one_in for number in numbers] == list(range(blocks))
    times = Counter(number % one_in for number in numbers)
    assert times.keys() == set(range(one_in))
    assert all(abs(count - 200) < 6 * math.sqrt(200) for count in times.values())


@given(st.text(max_size=5), st.integers(1, 60), st.integers(0, 2**40))
def test_a_smaller_sample_is_part_of_a_larger_one(publisher: str, one_in: int, block: int) -> None:
    number = chosen(publisher, 2 * one_in, block)
    assert chosen(publisher, one_in, number // one_in) == number


@given(st.sets(st.integers(1, 400), min_size=1), st.sampled_from([1, 2, 5, 64]))
def test_of_numbers_with_gaps_those_are_kept_that_are_kept_of_all(numbers: set[int], one_in: int) -> None:
    seqs = sorted(numbers)
    places = sample(one_in)("p#1", seqs)
    all_of_them = {place + 1 for place in sample(one_in)("p#1", range(1, 401))}
    assert [seqs[place] for place in places] == sorted(numbers & all_of_them)


def test_numbers_that_lie_far_apart_take_no_longer() -> None:
    places = sample(2)("p#1", [1, 2, 2**62, 2**62 + 1])
    assert len([place for place in places if place > 1]) == 1
