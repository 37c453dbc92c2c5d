"""What workers store from the spools is what Spark would make of the same lines."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure.test_plain_lines import good, spoilt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WIDTH = 7_000_000
LINES = 600


def spool(folder: Path) -> Path:
    import random

    chance = random.Random(5)
    lines = [good(number) if number % 5 else spoilt(good(number), chance) for number in range(LINES)]
    folder.mkdir()
    (folder / "b1-1.ndjson").write_bytes(b"".join(lines))
    return folder


def reading(spark: "SparkSession", source: Path, **more: str) -> "DataFrame":
    import json

    from regraft.measure.inputs import spool_files, unread
    from regraft.measure.spool_source import NAME, Spools

    spark.dataSource.register(Spools)
    spans = json.dumps(unread(spool_files(source), {}))
    return spark.read.format(NAME).options(source=str(source), spans=spans, **more).load()


@pytest.mark.slow
def test_records_are_stored_with_the_window_and_in_the_part_that_spark_gives_them(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from pyspark.sql import functions as f

    from regraft.measure.schemas import CLEAN
    from regraft.measure.windows import published, window_of

    source = spool(tmp_path / "spools")
    into = tmp_path / "incoming"
    files = reading(spark, source, into=str(into), width=str(WIDTH)).collect()
    assert {row["part"] for row in files} == {"traffic", "interest", "unread"}
    assert {row["file"] for row in files} == {path.name for path in into.iterdir()}

    def rows(part: str) -> list[Any]:
        paths = [str(into / row["file"]) for row in files if row["part"] == part]
        table = spark.read.parquet(*paths)
        return sorted(map(repr, table.select(*sorted(table.columns)).collect()))

    told = reading(spark, source)
    start = window_of(published(f.col("kind"), f.col("at"), f.col("latency")), WIDTH)
    records = told.where("text IS NULL").withColumn("window", start).select(*sorted(CLEAN.fieldNames()))
    for part, condition in (("traffic", "kind <> 'interest'"), ("interest", "kind = 'interest'")):
        assert rows(part) == sorted(map(repr, records.where(condition).collect()))
    lines = told.where("text IS NOT NULL").select("line", "source", "text").collect()
    kept = spark.read.parquet(*(str(into / row["file"]) for row in files if row["part"] == "unread"))
    assert sorted(map(repr, kept.select("line", "source", "text").collect())) == sorted(map(repr, lines))
    assert 0 < len(lines) < LINES


@pytest.mark.slow
def test_files_that_were_not_reported_do_not_count(spark: "SparkSession", tmp_path: Path) -> None:
    from regraft.measure.ingest import ingest
    from regraft.measure.state import INCOMING, PipelineState

    source = spool(tmp_path / "spools")
    found = []
    for out, abandoned in ((tmp_path / "once", 0), (tmp_path / "thrice", 2)):
        out.mkdir()
        options = {"into": str(out / INCOMING), "width": str(WIDTH)}
        for _ in range(abandoned):
            assert reading(spark, source, **options).collect()
        found.append(ingest([reading(spark, source, **options)], out, PipelineState(WIDTH), 0))
        assert not (out / INCOMING).exists()
    assert found[0] == found[1]
    assert found[0][1].kept > LINES / 2


def test_many_small_batches_become_few_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    from regraft.measure import spool_store
    from regraft.measure.inputs import Span
    from regraft.measure.spool_source import read_spools

    text = b"".join(good(number) for number in range(100))
    (tmp_path / "a.ndjson").write_bytes(text)
    batches = list(read_spools(tmp_path, [Span("a.ndjson", 0, len(text))])) * 6
    monkeypatch.setattr(spool_store, "ROWS", 200)
    files = dict(spool_store.store(iter(batches), tmp_path / "into", WIDTH))
    assert files.keys() == {"traffic", "interest"}
    stored = pq.read_metadata(tmp_path / "into" / files["traffic"])
    assert (stored.num_rows, stored.num_row_groups) == (480, 3)
