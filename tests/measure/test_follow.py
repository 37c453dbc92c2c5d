"""The stream: what it ends with is what a batch makes of the same spools, whatever happened on the way."""

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure import oracle
from tests.measure.restarts import TABLES, Writer, kill_again_and_again
from tests.measure.snapshots import everything, table
from tests.measure.telemetry import WIDTH, network, spool
from tests.measure.test_run import SOME, measured

from regraft.model.snapshot import Counts, read_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def followed(spark: "SparkSession", source: Path, out: Path, **options: Any) -> Counts:
    from regraft.measure.follow import follow
    from regraft.measure.run import Job

    job = Job(source, out, WIDTH, tables=SOME)
    return follow(job, spark, **{"idle": 1.0, "every": 0.1, **options}).counts


def test_a_stream_that_fails_anywhere_continues_and_ends_as_a_batch(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every step of a commit once: before, between and after its writes."""
    from regraft.measure import follow as module
    from regraft.measure import ingest, publish
    from regraft.measure.session import SparkFault

    source, out = tmp_path / "in", tmp_path / "out"
    records = network(7, 60)
    steps = [
        (module, "ingest"),
        (ingest, "_content"),
        (module, "save"),
        (publish, "compute"),
        (publish, "make_current"),
        (publish, "save"),
    ]
    for number, (place, name) in enumerate(steps):
        portion = len(records) // len(steps) + 1
        spool(source, f"b-{number}", records[number * portion : (number + 1) * portion])
        with monkeypatch.context() as patch:
            patch.setattr(place, name, _fault)
            with pytest.raises(SparkFault, match=r"^[^\n]*planned[^\n]*$"):
                followed(spark, source, out)
    followed(spark, source, out)
    measured(spark, source, tmp_path / "batch")
    assert read_snapshot(out).counts == Counts(read=len(records), kept=len(records))
    assert everything(out) == everything(tmp_path / "batch")
    # A batch continues where the stream ended, and a stream where the batch ended.
    assert measured(spark, source, out).counts == Counts()
    ten = [record for record in records if record["kind"] == "publication"][:10]
    spool(source, "c-1", [record | {"broker": "c"} for record in ten])
    assert measured(spark, source, out).counts == Counts(10, 10)
    spool(source, "c-2", [record | {"broker": "d"} for record in ten])
    assert followed(spark, source, out) == Counts(10, 10)


def _fault(*_: Any) -> None:
    raise RuntimeError("planned")


def test_a_window_is_published_when_it_has_closed_and_not_before(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from regraft.measure.follow import closed_windows
    from regraft.measure.state import PipelineState, WindowState

    windows = {str(start): WindowState([1], 5) for start in (0, 10_000_000, 20_000_000)}
    windows["0"].dirty = False
    state = PipelineState(10_000_000, windows=windows, brokers={"b1": 22_000_000, "b2": 1})
    assert closed_windows(state) == [10_000_000]
    state.brokers["b1"] -= 1
    assert closed_windows(state) == []


@pytest.mark.xdist_group("elsewhere")
def test_killed_and_started_again_it_ends_with_the_tables_of_all_records(tmp_path: Path) -> None:
    """With `kill -9`, while the spool grows; `scripts/bench restarts` does this ten times and more."""
    chance = random.Random(int(os.environ.get("REGRAFT_MEASURE_SEED", "1")))
    source, out = tmp_path / "in", tmp_path / "out"
    records = network(11, 300)
    kill_again_and_again(Writer(source, records, chance), out, 2, chance)
    assert read_snapshot(out).counts == Counts(read=len(records), kept=len(records))
    for name in TABLES:
        oracle.assert_table(name, table(out, name), records)
