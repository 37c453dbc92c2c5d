"""One ZooKeeper server for the tests of this folder that need one; each test has a root of its own on it."""

import asyncio
import uuid
from collections.abc import Iterator

import pytest

from regraft.coord import Ensemble, Layout


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[str]:
    servers = Ensemble()
    asyncio.run(servers.start())
    yield servers.hosts
    asyncio.run(servers.stop())


@pytest.fixture
def own_root() -> Layout:
    return Layout(f"/test-{uuid.uuid4().hex}")
