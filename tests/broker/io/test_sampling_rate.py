"""The sample is as large as fits into the budget, and does not swing."""

import pytest

from regraft.broker.io.sampling_rate import QUIET_SECONDS, SamplingRate

BUDGET = 1000.0


def test_it_becomes_smaller_at_once_and_by_powers_of_two() -> None:
    rate = SamplingRate(3, BUDGET)
    rate.closed(2000, 2.0, 1.0)
    assert rate.one_in == 3
    rate.closed(2001, 2.0, 1.0)
    assert rate.one_in == 6
    rate.closed(14_000, 2.0, 1.0)
    assert rate.one_in == 6 * 8


def test_many_small_segments_count_as_much_as_a_large_one() -> None:
    rate = SamplingRate(1, BUDGET)
    for _ in range(20):
        rate.closed(300, 0.1, 1.0)
    assert rate.one_in == 4


def test_a_moment_of_many_records_is_no_reason() -> None:
    rate = SamplingRate(1, BUDGET)
    for _ in range(10):
        rate.closed(1000, 0.1, 1.0)
        rate.closed(0, 1.9, 0.0)
    assert rate.one_in == 1


def test_it_grows_again_only_after_a_while_in_which_it_would_have_fitted_easily() -> None:
    rate = SamplingRate(1, BUDGET)
    rate.closed(8000, 2.0, 1.0)
    assert rate.one_in == 4
    for _ in range(round(QUIET_SECONDS / 2) - 1):
        rate.closed(499, 2.0, 1.0)
    assert rate.one_in == 4
    rate.closed(500, 2.0, 1.0)  # a quarter of the budget
    for _ in range(round(QUIET_SECONDS / 2) - 1):
        rate.closed(499, 2.0, 1.0)
    assert rate.one_in == 4
    rate.closed(499, 2.0, 1.0)
    assert rate.one_in == 2


def test_it_never_records_more_than_configured() -> None:
    rate = SamplingRate(100, BUDGET)
    for _ in range(100):
        rate.closed(1, 2.0, 1.0)
    assert rate.one_in == 100


def test_bytes_that_are_no_traces_do_not_make_it_smaller() -> None:
    rate = SamplingRate(1, BUDGET)
    rate.closed(1_000_000, 2.0, 0.5)
    assert rate.one_in == 1


@pytest.mark.parametrize("size", [10**12, 10**18])
def test_it_ends_somewhere(size: int) -> None:
    rate = SamplingRate(1, BUDGET)
    for _ in range(100):
        rate.closed(size, 2.0, 1.0)
    assert rate.one_in == 2**20
