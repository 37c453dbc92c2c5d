import pytest

from regraft.lab.trial import Allowance, Trial, attempt, measure


def test_a_trial_measures_a_plan_in_a_process_of_its_own() -> None:
    row = measure(Trial("fast", 8, 30, "5-balanced-1", 0.0))
    assert row.status == "found", row.reason
    assert row.steps is not None
    assert row.actions is not None
    assert row.bound_steps is not None
    assert row.actions >= row.steps >= row.bound_steps >= 1
    assert row.peak_mb is not None
    assert row.peak_mb > 10


@pytest.mark.parametrize("planner", ["fast", "best-first"])
def test_the_same_trial_finds_the_same_number_of_steps_in_this_process(planner: str) -> None:
    row = attempt(Trial(planner, 8, 30, "6-unbalanced-2", 0.5))
    assert row.status == "found", row.reason
    assert row.best_seconds is not None
    assert row.seconds is not None
    assert row.best_seconds <= row.seconds


def test_a_planner_that_does_not_exist_is_a_failure_with_its_reason() -> None:
    row = measure(Trial("no-such-planner", 8, 30, "5-balanced-1", 0.0))
    assert row.status == "failed"
    assert "no-such-planner" in row.reason


def test_a_trial_that_outstays_its_limit_is_ended() -> None:
    row = measure(Trial("fast", 8, 30, "5-balanced-1", 0.0), Allowance(grace=0.0))
    assert row.status == "out of time"
