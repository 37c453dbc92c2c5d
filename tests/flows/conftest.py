"""Real switches, where the machine has them."""

import warnings

import pytest

from regraft.testing.switches import unavailable


@pytest.fixture(scope="session")
def real_switches() -> None:
    """Skips, and says so where it is seen, if there can be no real switches here."""
    if reason := unavailable():
        warnings.warn(f"NOTHING WAS TESTED IN REAL SWITCHES: {reason}", stacklevel=1)
        pytest.skip(reason)
