"""One Spark session for all tests: they run in one worker (`xdist_group`), because starting it is the
larger part of their time."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


QUICK = {
    # Tables of a few rows: compiling for them takes longer than reading them. Whoever starts the command,
    # or a cluster, has what users have.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    from regraft.measure.session import start

    session = start("local[2]", memory="2g", settings=QUICK)
    yield session
    session.stop()


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
