"""`regraft generate`: what it writes, and what it refuses before Spark is started."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from regraft.cli.entry import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_an_interest_table_is_written_where_asked(spark: "SparkSession", tmp_path: Path) -> None:
    from regraft.model.interest_files import read_interest

    sizes = ("--nodes", "20", "--topics", "8", "--subscriptions", "3", "--partitions", "1")
    options = ("--format", "csv", "--spark", "local[2]", "--out", str(tmp_path / "out"), "--json")
    result = CliRunner().invoke(main, ["generate", "interest", *sizes, *options])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"] == 60
    [file] = (tmp_path / "out").glob("*.csv")
    interest = read_interest(file)
    assert sum(map(len, interest.values())) == 60
    assert set(interest) <= {f"t{number}" for number in range(8)}


def test_generated_telemetry_is_measured_as_it_is(spark: "SparkSession", tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from regraft.measure.run import Job, run
    from regraft.segments.reading import is_ours

    out = tmp_path / "telemetry"
    sizes = ("--rows", "500", "--brokers", "5", "--subscribers", "20", "--partitions", "2")
    result = CliRunner().invoke(
        main, ["generate", "telemetry", *sizes, "--spark", "local[2]", "--out", str(out), "--json"]
    )
    assert result.exit_code == 0, result.output
    assert all(is_ours(pq.read_schema(file)) for file in out.glob("*.parquet")), "no column is converted"
    ran = run(Job(out, tmp_path / "tables", 60_000_000, tables=frozenset({"traffic_classes"})), spark)
    assert ran.counts.kept == ran.counts.read == json.loads(result.stdout)["rows"]
    assert ran.snapshot.rows("traffic_classes")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["interest", "--nodes", "0", "--topics", "5"], "0 is not in the range"),
        (["telemetry", "--rows", "5", "--rate", "0"], "0.0 is not in the range"),
        (["telemetry", "--rows", "5", "--format", "json"], "'json' is not one of 'parquet', 'csv'"),
        (["interest", "--nodes", "5", "--topics", "5"], "is there already; a new folder is needed"),
    ],
)
def test_bad_options_are_one_line(tmp_path: Path, arguments: list[str], reason: str) -> None:
    result = CliRunner().invoke(main, ["generate", *arguments, "--out", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (2, "")
    assert reason in result.stderr
    assert len(result.stderr.splitlines()) == 1
