"""The stream: what it ends with is what a batch makes of the same segments, whatever happened on the way."""

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure import oracle
from tests.measure.restarts import TABLES, Writer, kill_again_and_again
from tests.measure.snapshots import table
from tests.measure.telemetry import WIDTH, Brokers, network, parquet
from tests.measure.test_run import SOME, measured

from regraft.model.snapshot import Counts, read_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def followed(spark: "SparkSession", source: str | Path, out: str | Path, **options: Any) -> Counts:
    from regraft.measure.follow import follow
    from regraft.measure.run import Job

    job = Job(source, out, WIDTH, tables=SOME)
    return follow(job, spark, **{"idle": 1.0, "every": 0.1, **options}).counts


def test_a_stream_that_fails_anywhere_continues_and_ends_as_a_batch(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`test_run` lets a run die at many more places."""
    from regraft.measure import publish, run
    from regraft.measure.session import SparkFault

    source, out, brokers = tmp_path / "in", tmp_path / "out", Brokers(tmp_path / "in")
    records = network(7, 60)
    steps = [(run, "take_in"), (publish, "compute"), (publish, "commit")]
    for number, (place, name) in enumerate(steps):
        portion = len(records) // len(steps) + 1
        brokers.put(records[number * portion : (number + 1) * portion])
        with monkeypatch.context() as patch:
            patch.setattr(place, name, _fault)
            with pytest.raises((SparkFault, RuntimeError), match=r"^[^\n]*planned[^\n]*$"):
                followed(spark, source, out)
    followed(spark, source, out)
    measured(spark, source, tmp_path / "batch")
    assert read_snapshot(out).counts == Counts(read=len(records), kept=len(records))
    for name in SOME:
        assert table(out, name) == table(tmp_path / "batch", name)
    # A batch continues where the stream ended, and a stream where the batch ended.
    assert measured(spark, source, out).counts == Counts()
    ten = [record for record in records if record["kind"] == "publication"][:10]
    brokers.put(record | {"broker": "c"} for record in ten)
    assert measured(spark, source, out).counts == Counts(10, 10)
    brokers.put(record | {"broker": "d"} for record in ten[:5])
    parquet(source, "loose", [record | {"broker": "e"} for record in ten[5:]])
    assert followed(spark, source, out) == Counts(10, 10)


def _fault(*_: Any, **__: Any) -> None:
    raise RuntimeError("planned")


def test_a_window_is_published_when_it_has_closed_and_not_before() -> None:
    """When all living brokers have passed it, or a while after its end."""
    from regraft.measure.ledger import PipelineState
    from regraft.measure.run import TIMEOUT, closed_windows

    dirty = frozenset({10_000_000, 20_000_000})

    def closed(**brokers: int) -> list[int]:
        return closed_windows(PipelineState(10_000_000, brokers=brokers, dirty=dirty))

    assert closed(b1=19_999_999, b2=19_999_999) == []
    assert closed(b1=20_000_000, b2=20_000_000) == [10_000_000]
    assert closed(b1=22_000_000, b2=19_999_999) == [], "b2 lives, and has not told all of it"
    assert closed(b1=20_000_000 + TIMEOUT, b2=19_999_999) == [10_000_000], "b2 has had its time"
    assert closed(b1=22_000_000, b2=1) == [10_000_000], "b2 has told nothing for long"
    assert closed(b1=40_000_000) == [10_000_000, 20_000_000]


def test_the_stream_follows_segments_in_an_object_store(
    spark: "SparkSession", tmp_path: Path, bucket: str
) -> None:
    records = network(8, 20)
    Brokers(f"{bucket}/telemetry").put_all(records, 60.0)
    assert followed(spark, f"{bucket}/telemetry", f"{bucket}/tables") == Counts(len(records), len(records))
    for name in SOME:
        oracle.assert_table(name, table(f"{bucket}/tables", name), records)


@pytest.mark.xdist_group("cluster")
def test_killed_and_started_again_it_ends_with_the_tables_of_all_records(tmp_path: Path) -> None:
    """With `kill -9`, while segments come; `scripts/bench restarts` does this ten times and more."""
    chance = random.Random(int(os.environ.get("REGRAFT_MEASURE_SEED", "1")))
    source, out = tmp_path / "in", tmp_path / "out"
    records = network(11, 300)
    kill_again_and_again(Writer(source, records), out, 2, chance)
    assert read_snapshot(out).counts == Counts(read=len(records), kept=len(records))
    for name in TABLES:
        oracle.assert_table(name, table(out, name), records)
