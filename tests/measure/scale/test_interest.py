"""Interest tables are read from Parquet and CSV alike, and what is no interest table is refused."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.model.measured_tables import write_tables

from regraft.model import BadInput, RegraftError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_csv_with_further_columns_and_empty_cells_is_read(spark: "SparkSession", tmp_path: Path) -> None:
    from regraft.measure.scale.interest import read_interest

    (tmp_path / "i.csv").write_text("topic,weight,node\nt1,3,n1\nt2,,n1\n,1,n2\n")
    rows = {tuple(row) for row in read_interest(spark, tmp_path / "i.csv").collect()}
    assert rows == {("n1", "t1"), ("n1", "t2")}


def test_numbers_in_parquet_become_names(spark: "SparkSession", tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from regraft.measure.scale.interest import read_interest

    pq.write_table(pa.table({"node": [1, 2], "topic": ["a", "b"]}), tmp_path / "i.parquet")
    assert {tuple(row) for row in read_interest(spark, tmp_path / "i.parquet").collect()} == {
        ("1", "a"),
        ("2", "b"),
    }


def test_of_a_measured_table_what_holds_now_is_read(spark: "SparkSession", tmp_path: Path) -> None:
    from regraft.measure.scale.interest import read_interest

    begun, ended = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 6, tzinfo=UTC)
    rows: list[dict[str, Any]] = [
        {"broker": "a", "topic": "t", "since": begun, "until": None},
        {"broker": "a", "topic": "t", "since": ended, "until": None},
        {"broker": "b", "topic": "t", "since": begun, "until": ended},
        {"broker": "c", "topic": None, "since": begun, "until": None},
    ]
    write_tables(tmp_path, {"interest": rows})
    for place in (tmp_path, tmp_path / "interest"):
        assert {tuple(row) for row in read_interest(spark, place).collect()} == {("a", "t")}


def test_a_missing_column_or_file_is_one_line(spark: "SparkSession", tmp_path: Path) -> None:
    from regraft.measure.scale.interest import read_interest

    (tmp_path / "i.csv").write_text("node,subject\nn1,t1\n")
    with pytest.raises(BadInput, match="there must be one column 'topic'"):
        read_interest(spark, tmp_path / "i.csv")
    with pytest.raises(RegraftError) as fault:
        read_interest(spark, tmp_path / "none.parquet")
    assert "\n" not in str(fault.value)


def test_names_are_numbered_in_their_order_by_several_tasks(spark: "SparkSession") -> None:
    from pyspark.sql import functions as f

    from regraft.measure.scale.interest import PARTITIONS, numbered

    names = [f"n{number}" for number in range(700)]
    interest = spark.createDataFrame(
        [(name, f"t{len(name)}") for name in reversed(names)], "node string, topic string"
    )
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, "8")
    with numbered(interest) as tables:
        assert (tables.node_count, tables.topics.count()) == (700, 3)
        found = tables.nodes.withColumn("part", f.spark_partition_id()).collect()
    spark.conf.set(PARTITIONS, before or "2")
    assert sorted((row.id, row.name) for row in found) == list(enumerate(sorted(names)))
    assert len({row.part for row in found}) > 1
