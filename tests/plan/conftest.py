"""Marks of the planner tests."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds for one task; leave out with -m 'not slow'")
