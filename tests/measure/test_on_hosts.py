"""Brokers, an object store and a Spark cluster on hosts that share no folder and no user: whatever is killed,
started twice or away, the tables are those of a local run, and nothing is counted twice."""

import os
import warnings

import pytest
from tests.measure.host_faults import Faults, endure

from regraft.testing.hosts import unavailable

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("on hosts")]


def test_on_hosts_with_every_fault_the_tables_are_those_of_a_local_run() -> None:
    """`scripts/bench cluster` lets many more happen."""
    if reason := unavailable():
        warnings.warn(f"NOTHING WAS TESTED ON SEVERAL HOSTS: {reason}", stacklevel=1)
        pytest.skip(reason)
    faults = Faults(executor_kills=2, driver_kills=1, double_starts=1, away=4.0)
    seed = int(os.environ.get("REGRAFT_MEASURE_SEED", "1"))
    endured = endure(faults, faults.in_order(), seed=seed, publications=200, seconds=200.0)
    ends, said, commits = endured.happened
    assert endured.differences == [], endured
    assert ends["executor killed"] == 2
    assert ends["driver killed"] + ends["driver's host crashed"] >= 1
    assert ends["started twice"] == ends["superseded"] == 1, endured
    assert commits > 2
    assert all(" | " not in each for each in said), f"a fault is one line: {said}"
