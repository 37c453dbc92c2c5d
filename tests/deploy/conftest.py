"""One server for all tests of this folder; each test has a root of its own on it."""

import asyncio
import uuid
from collections.abc import Iterator

import pytest

from regraft.coord import Ensemble


@pytest.fixture(scope="session")
def ensemble() -> Iterator[Ensemble]:
    servers = Ensemble()
    asyncio.run(servers.start())
    yield servers
    asyncio.run(servers.stop())


@pytest.fixture
def hosts(ensemble: Ensemble) -> str:
    return ensemble.hosts


@pytest.fixture
def root() -> str:
    return f"/test-{uuid.uuid4().hex}"
