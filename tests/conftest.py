"""Settings that all tests share."""

import pytest
from hypothesis import settings

# A deadline is a test on the wall clock: it fails on a busy machine and says nothing about the code.
settings.register_profile("regraft", deadline=None)
settings.load_profile("regraft")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Groups that no longer hold pass unseen otherwise: each worker starts a Spark of its own."""
    if not session.config.getoption("loadgroup", default=False):
        return
    for item in session.items:
        if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: this pytest-xdist does not keep groups on this pytest")
