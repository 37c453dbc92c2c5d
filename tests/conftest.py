"""Settings that all tests share."""

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A deadline is a test on the wall clock: it fails on a busy machine and says nothing about the code.
settings.register_profile("regraft", deadline=None)
settings.load_profile("regraft")


_MARK = "REGRAFT_TEST_RUN"
_GUARD = """
import os, sys
sys.stdin.read()  # ends when the process that started this one has gone
mark = sys.argv[1].encode()
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{name}/environ", "rb") as file:
            if mark in file.read().split(bytes(1)) and int(name) != os.getpid():
                os.kill(int(name), 9)
    except OSError:
        pass
"""


def pytest_configure(config: pytest.Config) -> None:
    """A run that is killed leaves no broker, ZooKeeper or Spark behind: a guard looks for the mark that all
    processes inherit from this one."""
    os.environ[_MARK] = str(uuid4())
    command = [sys.executable, "-S", "-c", _GUARD, f"{_MARK}={os.environ[_MARK]}"]
    guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)

    def end() -> None:
        guard.communicate()

    config.add_cleanup(end)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Whatever collecting loads is kept, so to look for garbage meanwhile took a fifth of its time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Groups that no longer hold pass unseen otherwise: each worker starts a Spark of its own."""
    # What collecting has loaded stays to the end; to look for garbage in it took 4 % of the tests' time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    if not session.config.getoption("loadgroup", default=False):
        return
    for item in session.items:
        if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: this pytest-xdist does not keep groups on this pytest")


QUICK = {
    # Tables of a few rows: compiling for them takes longer than reading them. Whoever starts the command,
    # or a cluster, has what users have.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms1800m -Xmn1200m "
    "-XX:CompileThresholdScaling=3",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # By default each sum of a few rows takes tens of megabytes, and Java collects garbage for them.
    "spark.buffer.pageSize": "1m",
}


@pytest.fixture(scope="session")
def spark(object_store: str) -> Iterator["SparkSession"]:
    """One for all tests: they run in one worker, because starting it is the larger part of their time. Its
    workers know where the object store is from their start."""
    from tests.stores import environment

    from regraft.measure.session import start

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(object_store).items():
            patch.setenv(name, value)
        session = start("local[2]", memory="2g", settings=QUICK)
        session.range(1).mapInArrow(lambda batches: batches, "id long").collect()  # starts a worker
    yield session
    session.stop()


@pytest.fixture(scope="session")
def object_store() -> Iterator[str]:
    """The endpoint of an object store that all tests of this process share."""
    from tests.stores import serving

    with serving() as endpoint:
        yield endpoint


@pytest.fixture
def bucket(object_store: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty bucket, which the environment says how to reach."""
    from tests.stores import new_bucket

    return new_bucket(object_store, monkeypatch)


@pytest.fixture(scope="session")
def hosts() -> Iterator[str]:
    """Where the ZooKeeper server is that all tests of this process share. A test that kills one starts its
    own."""
    from regraft.coord import Ensemble

    servers = Ensemble()
    asyncio.run(servers.start())
    yield servers.hosts
    asyncio.run(servers.stop())


@pytest.fixture
def root() -> str:
    """A root on that server for one test."""
    return f"/test-{uuid4().hex}"


LONGEST = ("spark", "demo", "connect", "on hosts", "healing zookeeper", "help examples", "browser", "cluster")
"""Groups of tests in the order in which workers begin them. What begins late runs alone at the end."""


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """Where its group comes; tests without one come last, because they fill what time the others leave."""
    group = item.get_closest_marker("xdist_group")
    if group is None:
        return len(LONGEST) + 1
    return LONGEST.index(group.args[0]) if group.args[0] in LONGEST else len(LONGEST)
