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
def test_little_and_much_are_counted_alike(spark: "SparkSession", tmp_path: Path) -> None:
    from regraft.measure.content import content_of_little, content_of_much

    records = network(3, 60)
    stored(spark, tmp_path / "c", records)
    little = content_of_little(tmp_path / "c")
    assert little is not None
    much = content_of_much(spark.read.parquet(str(tmp_path / "c")), KEY)
    assert sorted(each[:6] for each in little) == sorted(each[:6] for each in much)
    assert sum(each.records for each in little) == len(records)
    by_broker = Counter(record["broker"] for record in records)
    for broker, count in by_broker.items():
        assert sum(each.records for each in little if each.broker == broker) == count
    assert min(each.first for each in little if each.first is not None) >= START.timestamp() * 1e6


@pytest.mark.slow
def test_a_record_that_is_there_twice_is_suspected(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure import content

    once = health("b1", 4, cpu=1.0, memory=50, queue=3)
    for name, records, twice in (
        ("same", [once, once], True),
        ("other", [once, health("b1", 5, cpu=1.0, memory=50, queue=3)], False),
    ):
        stored(spark, tmp_path / name, records)
        (little,) = content.content_of_little(tmp_path / name) or []
        (much,) = content.content_of_much(spark.read.parquet(str(tmp_path / name)), KEY)
        assert (little.different < little.records) is twice
        assert (much.different < much.records) is twice
    monkeypatch.setattr(content, "LITTLE", 1)
    assert content.content_of_little(tmp_path / "same") is None
