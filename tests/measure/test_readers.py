"""The tables, as programs read them that know nothing of ours but the format."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure import oracle
from tests.measure.telemetry import START, WIDTH, Brokers, network

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

RECORDS = network(7, 40)
NAMES = ("traffic_classes", "link_load")


@pytest.fixture(params=["folder", "store"])
def out(spark: "SparkSession", request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Tables of two commits, of which the second has made rows of the first anew."""
    from regraft.measure.run import Job, run

    there = f"{request.getfixturevalue('bucket')}/out" if request.param == "store" else str(tmp_path / "out")
    brokers = Brokers(tmp_path / "in")
    middle = sorted(record["at"] for record in RECORDS)[len(RECORDS) // 2]
    for half in (True, False):
        brokers.put_all(each for each in RECORDS if (each["at"] < middle) is half)
        run(Job(tmp_path / "in", there, WIDTH, tables=frozenset(NAMES)), spark)
    return there


def assert_read(name: str, rows: list[Any]) -> None:
    def plain(cell: Any) -> Any:
        return tuple(cell) if isinstance(cell, list) else cell

    found = [((row[0] - START) // timedelta(microseconds=1), *map(plain, row[1:])) for row in rows]
    oracle.assert_table(name, found, RECORDS)


def test_spark_sql_reads_the_tables(spark: "SparkSession", out: str) -> None:
    from regraft.measure import views

    assert views(spark, out).version == 2
    for name in NAMES:
        rows = spark.sql(f"SELECT * FROM {name}").toArrow().to_pylist()
        assert_read(name, [tuple(row.values()) for row in rows])
    (asked,) = spark.sql("SELECT sum(messages) FROM link_load WHERE from <> to").collect()
    assert asked[0] == len(oracle.of(RECORDS, "hop"))


@pytest.mark.parametrize("out", ["folder"], indirect=True)
def test_arrow_and_duckdb_read_the_files_that_deltalake_names(out: str) -> None:
    import duckdb
    import pyarrow.parquet as pq
    from deltalake import DeltaTable

    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name in NAMES:
            files = DeltaTable(f"{out}/{name}").file_uris()
            rows = pq.read_table(files).to_pylist()
            assert_read(name, [tuple(cell for key, cell in row.items() if key != "date") for row in rows])
            found = database.execute("SELECT * EXCLUDE date FROM read_parquet(?)", [files])
            assert_read(name, found.fetchall())
