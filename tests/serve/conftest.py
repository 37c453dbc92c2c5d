"""The service's tests run twice: on a network in memory, and on a real ZooKeeper."""

import pytest
from tests.serve.serving import Bench, InMemory, OnOwnZooKeeper, OnZooKeeper


@pytest.fixture(params=["memory", "zookeeper"])
def bench(request: pytest.FixtureRequest) -> Bench:
    if request.param == "memory":
        return InMemory()
    return OnZooKeeper(request.getfixturevalue("hosts"), request.getfixturevalue("root"))


@pytest.fixture(params=["memory", "zookeeper"])
def breakable(request: pytest.FixtureRequest) -> Bench:
    """A bench whose network can go away."""
    return InMemory() if request.param == "memory" else OnOwnZooKeeper()
