"""The same code on a standalone cluster and through Spark Connect gives the same snapshot."""

import json
from pathlib import Path

import pytest
from tests.measure.processes import cluster, connect_server, measure
from tests.measure.snapshots import table
from tests.measure.telemetry import network, spool

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("elsewhere")]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elsewhere") / "in"
    records = network(5, 60)
    spool(folder, "b-1", [*records[:100], "{", *records[90:100]])
    spool(folder, "b-2", records[100:])
    return folder


TABLES = ("traffic_classes", "interest", "link_load", "broker_load", "latency")
"""One of each kind: sets, lists, sums, rates, quantiles."""


@pytest.fixture(scope="module")
def here(source: Path) -> Path:
    """What this machine makes of it, by itself."""
    out = source.parent / "here"
    done = measure(str(source), "--out", str(out), "--spark", "local[2]", "--tables", ",".join(TABLES))
    assert done.returncode == 0, done.stderr
    return out


def assert_same(one: Path, other: Path) -> None:
    for name in TABLES:
        expected = table(one, name)
        assert expected, name
        assert table(other, name) == expected, name


def test_a_master_with_two_workers_gives_the_identical_tables(
    source: Path, here: Path, tmp_path: Path
) -> None:
    with cluster(tmp_path) as address:
        there = ("--spark", address, "--json", "--tables", ",".join(TABLES))
        done = measure(str(source), "--out", str(tmp_path / "out"), *there)
        log = (tmp_path / "master.log").read_text()
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout)["counts"] == json.loads((here / "manifest.json").read_text())["counts"]
    assert log.count("Launching executor") >= 2
    assert_same(here, tmp_path / "out")


def test_spark_connect_gives_the_identical_tables_as_a_batch_and_as_a_stream(
    source: Path, here: Path, tmp_path: Path
) -> None:
    with connect_server(tmp_path) as address:
        there = ("--spark", address, "--json", "--tables", ",".join(TABLES))
        batch = measure(str(source), "--out", str(tmp_path / "batch"), *there)
        follow = ("--follow", "--stop-when-idle", "2")
        stream = measure(str(source), "--out", str(tmp_path / "stream"), *there, *follow)
    assert (batch.returncode, stream.returncode) == (0, 0), batch.stderr + stream.stderr
    assert json.loads(batch.stdout)["counts"] == json.loads(stream.stdout)["counts"]
    assert (tmp_path / "slow").exists()  # a process of the stream was too slow for Spark, and began again
    for out in ("batch", "stream"):
        assert_same(here, tmp_path / out)
