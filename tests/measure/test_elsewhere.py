"""The same code on a standalone cluster and through Spark Connect gives the snapshot of the records, with the
commands of the guide, from and to an object store, although the workers' Python does not find our package."""

import json
import platform
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.measure import oracle
from tests.measure.processes import CONFS, bare_python, cluster, connect_server, elsewhere, measure
from tests.measure.snapshots import table
from tests.measure.telemetry import Brokers, health, network, parquet

from regraft.model.snapshot import Counts

BY_WORKERS = ("--conf", "spark.regraft.driver.rows=0")
"""Few as the records are, workers read and write."""
pytestmark = pytest.mark.slow

GUIDE = Path(__file__).parents[2] / "docs" / "howto" / "existing-cluster.md"
RECORDS = network(5, 60)
COUNTS = Counts(read=len(RECORDS) + 11, kept=len(RECORDS), rejected=1, duplicated=10)


@pytest.fixture
def store(bucket: str, tmp_path: Path) -> str:
    """A bucket with the records, ten of them twice, and an invalid one."""
    brokers = Brokers(f"{bucket}/telemetry")
    brokers.put_all(RECORDS)
    brokers.put([health("b1", 300.0, round_trips={}) | {"memory": -1}])
    again = parquet(tmp_path / "again", "again", RECORDS[90:100])
    brokers.store.put(again.name, again.read_bytes())
    return bucket


def guided(address: str, store: str) -> list[str]:
    """The options and arguments of the guide's command for this kind of address, with ours."""
    kind = address.partition("://")[0]
    (line,) = re.findall(rf"^regraft measure (.* --spark {kind}://.*)$", GUIDE.read_text(), re.MULTILINE)
    words = [address if word.startswith(f"{kind}://") else word for word in shlex.split(line)]
    return [word.replace("s3://regraft", store) for word in words]


TABLES = ("traffic_classes", "interest", "link_load", "broker_load", "latency")
"""One of each kind: sets, lists, sums, rates, quantiles."""


def assert_tables(answer: str, out: str) -> None:
    """What the command has counted, and the tables that it has written, are those of the records."""
    counts: dict[str, Any] = json.loads(answer)["counts"]
    assert Counts(**counts) == COUNTS
    for name in TABLES:
        oracle.assert_table(name, table(out, name), RECORDS)


@pytest.mark.xdist_group("cluster")
def test_a_master_with_two_workers_gives_the_tables_of_the_records(store: str, tmp_path: Path) -> None:
    python, lacking = bare_python(tmp_path), bare_python(tmp_path, without="msgspec")
    with cluster(tmp_path) as address:
        there = (*guided(address, store), *CONFS, *BY_WORKERS, "--json", "--tables", ",".join(TABLES))
        refused = measure(*there, python=lacking, folder=tmp_path)
        done = measure(*there, python=python, folder=tmp_path)
        log = (tmp_path / "master.log").read_text()
    assert (refused.returncode, refused.stdout) == (2, "")
    version = platform.python_version().rpartition(".")[0]
    said = rf"regraft: worker \S+: Python {version} has no module 'msgspec': install it there, or see (\S+)\n"
    assert re.fullmatch(said, refused.stderr), refused.stderr
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert log.count("Launching executor") >= 4
    assert "-Xmx512M" in (tmp_path / "worker0.log").read_text(), (
        "the executors have the memory that --conf says"
    )
    assert_tables(done.stdout, f"{store}/tables")


def test_the_python_of_these_workers_does_not_find_our_package(tmp_path: Path) -> None:
    found = subprocess.run(
        [bare_python(tmp_path), "-c", "import msgspec, pyarrow, pyspark, regraft"],
        env=elsewhere(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stderr.endswith("No module named 'regraft'\n")


@pytest.mark.xdist_group("connect")
def test_spark_connect_gives_the_tables_of_the_records_as_a_batch_and_as_a_stream(
    store: str, tmp_path: Path
) -> None:
    with connect_server(tmp_path) as address, ThreadPoolExecutor() as pool:
        there = ("--spark", address, "--json", "--tables", ",".join(TABLES))
        guide = (*guided(address, store), "--json", "--tables", ",".join(TABLES))
        # At once, because the stream waits for half a minute: for a process that is too slow, and after it.
        following = ("--out", f"{store}/stream", *there, "--follow", "--stop-when-idle", "2")
        stream = pool.submit(measure, f"{store}/telemetry", *following)
        batch = pool.submit(measure, *guide, *BY_WORKERS, folder=tmp_path)
        asking = ("--out", f"{store}/none", *there, "--conf", "spark.ui.enabled=true")
        fixed = measure(f"{store}/telemetry", *asking)
        done, followed = batch.result(), stream.result()
    assert (fixed.returncode, fixed.stdout) == (2, "")
    assert fixed.stderr.count("\n") == 1
    assert "spark.ui.enabled: the server that runs already does not take it" in fixed.stderr
    assert (done.returncode, followed.returncode) == (0, 0), done.stderr + followed.stderr
    assert (tmp_path / "slow").exists()  # a process of the stream was too slow for Spark, and began again
    assert_tables(done.stdout, f"{store}/tables")
    assert_tables(followed.stdout, f"{store}/stream")
