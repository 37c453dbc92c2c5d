"""What a commit holds is the same, counted from its files and by Spark."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.measure.telemetry import START, Record, clean, health, network

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = ("broker", "kind", "publisher", "seq", "at", "to", "subscriber", "client", "role", "filter", "change")


def stored(spark: "SparkSession", folder: Path, records: list[Record]) -> None:
    from pyspark.sql import functions as f

    part = f.when(f.col("kind") == "interest", "interest").otherwise("traffic")
    clean(spark, records).withColumn("part", part).write.partitionBy("part").parquet(str(folder))


@pytest.mark.slow
def test_arrow_and_spark_count_alike(spark: "SparkSession", tmp_path: Path) -> None:
    from regraft.measure.content import content_by_arrow, content_by_spark

    records = network(3, 60)
    stored(spark, tmp_path / "c", records)
    little = content_by_arrow(tmp_path / "c")
    assert little is not None
    much = content_by_spark(spark.read.parquet(str(tmp_path / "c")), KEY)
    assert sorted(each[:6] for each in little) == sorted(each[:6] for each in much)
    assert sum(each.records for each in little) == len(records)
    by_broker = Counter(record["broker"] for record in records)
    for broker, count in by_broker.items():
        assert sum(each.records for each in little if each.broker == broker) == count
    assert min(each.first for each in little if each.first is not None) >= START.timestamp() * 1e6


@pytest.mark.slow
def test_a_duplicate_record_is_suspected(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure import content

    once = health("b1", 4, cpu=1.0, memory=50, queue=3)
    for name, records, twice in (
        ("same", [once, once], True),
        ("other", [once, health("b1", 5, cpu=1.0, memory=50, queue=3)], False),
    ):
        stored(spark, tmp_path / name, records)
        (little,) = content.content_by_arrow(tmp_path / name) or []
        (much,) = content.content_by_spark(spark.read.parquet(str(tmp_path / name)), KEY)
        assert (little.different < little.records) is twice
        assert (much.different < much.records) is twice
    monkeypatch.setattr(content, "FEW", 1)
    assert content.content_by_arrow(tmp_path / "same") is None
