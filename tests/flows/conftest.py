"""Real switches, where the machine has them."""

import warnings

import pytest

from regraft.testing.switches import unavailable


@pytest.fixture(scope="session")
def real_switches() -> None:
    """Skips the test, with a visible warning, if this machine cannot run real switches."""
    if reason := unavailable():
        warnings.warn(f"NOTHING WAS TESTED IN REAL SWITCHES: {reason}", stacklevel=1)
        pytest.skip(reason)
