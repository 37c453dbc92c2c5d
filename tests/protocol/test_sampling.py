"""A sample of publications is what standard errors take it for: each is in it independently of the others."""

import math
import random
from collections import Counter
from collections.abc import Callable

import pytest

from regraft.protocol.sampling import sample

RUNS = 300
EACH = 500
"""How many publications of a run are in the sample, on average."""
CLASSES: dict[str, Callable[[int, random.Random], str]] = {
    "drawn": lambda _, chance: chance.choice("abbb"),
    "in turn": lambda seq, _: "abbbbbbb"[seq % 8],
}
"""The class of a publication: drawn, or by its number, which also decides whether it is in the sample."""


@pytest.mark.parametrize("one_in", [2, 10, 16])
@pytest.mark.parametrize("kind", CLASSES)
def test_the_interval_of_each_class_holds_the_truth_in_at_least_93_of_100_runs(
    kind: str, one_in: int
) -> None:
    class_of, held = CLASSES[kind], Counter[str]()
    for run in range(RUNS):
        chance, in_sample = random.Random(run), sample(f"c#{run}", one_in)
        truth, recorded = Counter[str](), Counter[str]()
        for seq in range(1, EACH * one_in):
            name = class_of(seq, chance)
            truth[name] += 1
            recorded[name] += in_sample(seq)
        for name, count in truth.items():
            error = math.sqrt(one_in * (one_in - 1) * recorded[name])
            held[name] += abs(one_in * recorded[name] - count) <= 1.96 * error
    assert held.keys() == {"a", "b"}
    assert all(0.93 * RUNS <= count <= 0.99 * RUNS for count in held.values()), held


def test_one_in_one_keeps_everything() -> None:
    assert all(map(sample("p#1", 1), range(1000)))
