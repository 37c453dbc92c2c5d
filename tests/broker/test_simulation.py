"""Two hundred simulated runs with every fault; `scripts/bench soak` runs ten times as many."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from regraft.testing.bugs import BUGS, planted
from regraft.testing.simulation import simulate

SEEDS = 200
GROUP = 40
FAULTS = {
    "burst",
    "client dies",
    "crash",
    "crash in mid-effects",
    "delay",
    "drop",
    "duplicate",
    "half-open",
    "move",
    "reorder",
    "reset",
    "slow subscriber",
}


@pytest.mark.parametrize("first", range(0, SEEDS, GROUP))
def test_nothing_is_lost_duplicated_or_reordered_by_any_kind_of_fault(first: int) -> None:
    outcomes = [simulate(seed) for seed in range(first, first + GROUP)]
    failed = {outcome.seed: outcome.violation for outcome in outcomes if outcome.violation}
    assert not failed, f"look at one with: python -m benchmarks.soak --trace --seed {min(failed)}"
    assert set(sum((outcome.faults for outcome in outcomes), Counter[str]())) == FAULTS
    assert all(outcome.publications and outcome.deliveries for outcome in outcomes[:5])


NOTICED = {"place_subscription_at_once": 31, "stop_repetitions": 14, "trust_first_table": 18}
"""Bugs that the first seeds do not notice, with one that does: the search begins there, to be quick."""


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught(bug: str) -> None:
    """By what it does to clients, not because the broken core raises."""
    with planted(bug):
        violations = (simulate(seed).violation for seed in (NOTICED.get(bug, 0), *range(SEEDS)))
        caught = next(filter(None, violations), "")
    assert caught, BUGS[bug].broken.__doc__
    assert not caught.startswith("Traceback"), caught


def test_one_seed_gives_one_hash_in_every_process() -> None:
    program = "from regraft.testing.simulation import simulate as s; print(*(s(i).hash for i in range(8)))"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    said = [process.communicate()[0] for process in processes]
    assert said[0] == said[1]
    assert len(set(said[0].split())) == 8
