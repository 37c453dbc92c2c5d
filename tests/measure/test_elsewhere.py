"""The same code on a standalone cluster and through Spark Connect gives the snapshot of the records."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.measure import oracle
from tests.measure.processes import CONFS, cluster, connect_server, measure
from tests.measure.snapshots import table
from tests.measure.telemetry import network, spool

from regraft.model.snapshot import Counts

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("elsewhere")]


RECORDS = network(5, 60)
COUNTS = Counts(read=len(RECORDS) + 11, kept=len(RECORDS), rejected=1, duplicated=10)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The records, ten of them twice, and an invalid line."""
    spool(tmp_path / "in", "b-1", [*RECORDS[:100], "{", *RECORDS[90:100]])
    spool(tmp_path / "in", "b-2", RECORDS[100:])
    return tmp_path / "in"


TABLES = ("traffic_classes", "interest", "link_load", "broker_load", "latency")
"""One of each kind: sets, lists, sums, rates, quantiles."""


def assert_tables(answer: str, out: Path) -> None:
    """What the command has counted, and the tables that it has written, are those of the records."""
    counts: dict[str, Any] = json.loads(answer)["counts"]
    assert Counts(**counts) == COUNTS
    for name in TABLES:
        oracle.assert_table(name, table(out, name), RECORDS)


def test_a_master_with_two_workers_gives_the_tables_of_the_records(source: Path, tmp_path: Path) -> None:
    with cluster(tmp_path) as address:
        there = ("--spark", address, *CONFS, "--json", "--tables", ",".join(TABLES))
        done = measure(str(source), "--out", str(tmp_path / "out"), *there)
        log = (tmp_path / "master.log").read_text()
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert log.count("Launching executor") >= 2
    assert "-Xmx512M" in (tmp_path / "worker0.log").read_text(), (
        "the executors have the memory that --conf says"
    )
    assert_tables(done.stdout, tmp_path / "out")


def test_spark_connect_gives_the_tables_of_the_records_as_a_batch_and_as_a_stream(
    source: Path, tmp_path: Path
) -> None:
    with connect_server(tmp_path) as address:
        there = ("--spark", address, "--json", "--tables", ",".join(TABLES))
        fixed = measure(
            str(source), "--out", str(tmp_path / "none"), *there, "--conf", "spark.ui.enabled=true"
        )
        batch = measure(
            str(source), "--out", str(tmp_path / "batch"), *there, "--conf", "spark.sql.shuffle.partitions=1"
        )
        follow = ("--follow", "--stop-when-idle", "2")
        stream = measure(str(source), "--out", str(tmp_path / "stream"), *there, *follow)
    assert (fixed.returncode, fixed.stdout) == (2, "")
    assert fixed.stderr.count("\n") == 1
    assert "spark.ui.enabled=true: the server that runs already does not take it" in fixed.stderr
    assert (batch.returncode, stream.returncode) == (0, 0), batch.stderr + stream.stderr
    assert (tmp_path / "slow").exists()  # a process of the stream was too slow for Spark, and began again
    assert_tables(batch.stdout, tmp_path / "batch")
    assert_tables(stream.stdout, tmp_path / "stream")
