"""Old windows with their records and tables, and old spools, are removed; interest that holds is kept."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure.telemetry import WIDTH, at, delivery, health, interest, publication, spool

from regraft.model.snapshot import Counts
from regraft.model.traffic_files import read_traffic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from regraft.measure.run import RunResult
    from regraft.measure.state import PipelineState

TABLES = frozenset({"traffic_classes", "interest"})
MINUTE = 60


def micros(seconds: float) -> int:
    return round(at(seconds).timestamp() * 1e6)


def state_of(*minutes: int, dirty: tuple[int, ...] = ()) -> "PipelineState":
    """A window for each minute, taken in by the commit of that number (and the next, for half of it)."""
    from regraft.measure.state import PipelineState, WindowState
    from regraft.measure.windows import folder_name

    starts = {minute: micros(minute * MINUTE) for minute in minutes}
    return PipelineState(
        WIDTH,
        commit=max(minutes) + 1,
        brokers={"b1": micros(max(minutes) * MINUTE + 59), "b2": micros(0)},
        windows={str(starts[n]): WindowState([n, n + 1], 5, dirty=n in dirty) for n in minutes},
        rejections=[1, 5],
        tables={name: {folder_name(starts[n]): n for n in minutes} for name in ("latency", "interest")},
    )


def test_old_windows_are_removed_with_their_tables_and_rejected_records() -> None:
    from regraft.measure.retention import forget_old_windows

    after = forget_old_windows(state_of(1, 2, 3, 4, 5, 6), 2 * WIDTH)
    assert after.closed == micros(4 * MINUTE)
    assert sorted(map(int, after.windows)) == [micros(minute * MINUTE) for minute in (4, 5, 6)]
    assert set(after.tables["latency"].values()) == {4, 5, 6}
    assert set(after.tables["interest"].values()) == {1, 2, 3, 4, 5, 6}, (
        "it is computed for all windows every time"
    )
    assert after.rejections == [5]


def test_a_window_that_is_not_computed_yet_is_not_old() -> None:
    from regraft.measure.retention import forget_old_windows

    after = forget_old_windows(state_of(1, 2, 3, 4, 5, 6, dirty=(3,)), 2 * WIDTH)
    assert min(map(int, after.windows)) == micros(3 * MINUTE) == after.closed


def test_without_a_limit_everything_stays() -> None:
    from regraft.measure.retention import forget_old_windows

    state = state_of(1, 2, 3)
    assert forget_old_windows(state, None) == state


def test_forgotten_windows_do_not_come_back() -> None:
    from regraft.measure.retention import forget_old_windows

    first = forget_old_windows(state_of(1, 2, 3, 4, 5, 6), 2 * WIDTH)
    assert forget_old_windows(first, 100 * WIDTH).closed == first.closed


def measured(spark: "SparkSession", source: Path, out: Path, **options: Any) -> "RunResult":
    from regraft.measure.run import Job, run

    ran = run(Job(source, out, WIDTH, tables=TABLES, **options), spark)
    assert ran.counts.add_up
    return ran


@pytest.mark.slow
def test_old_windows_leave_the_disk_and_what_comes_of_them_is_late(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure import retention

    monkeypatch.setattr(retention, "PIECES", 1)
    source, out = tmp_path / "in", tmp_path / "out"
    went = interest("b2", "s0", "topic = 't'", "removed", 61.0)
    for minute, more in ((0, []), (1, [went]), (4, [])):
        began = minute * MINUTE
        came = interest("b2", f"s{minute}", "topic = 't'", "added", began)
        held = interest("b2", "s", "topic = 't'", "added", began)
        sent = publication("b1", "p", minute + 1, began + 1.0)
        got = delivery("b2", "p", minute + 1, "s", began + 1.5, 500_000)
        spool(source, f"b-{minute}", [came, held, *more, sent, got])
        ran = measured(spark, source, out, keep=2 * WIDTH)
        assert ran.counts.late == 0
    shown = ran.snapshot
    assert shown.windows == ("2026-01-05T12:04:00Z",)
    assert read_traffic(shown.table("traffic_classes")) == ((frozenset({"b1", "b2"}), 1.0),)
    late = [health("b9", 1 * MINUTE + 59.9), interest("b9", "s9", "topic = 't'", "added", 2 * MINUTE)]
    spool(source, "b-late", late)
    again = measured(spark, source, out, keep=2 * WIDTH)
    assert again.counts == Counts(read=2, kept=1, late=1)
    rows = spark.read.parquet(str(again.snapshot.table("interest"))).collect()
    known = sorted((row.client, row.since.minute, row.until) for row in rows)
    assert known == [("s", 0, None), ("s1", 1, None), ("s4", 4, None), ("s9", 2, None)]
    assert len(list((out / "_records").iterdir())) == 3, "of the window, of the last run, of old interest"


@pytest.mark.slow
def test_files_that_are_gone_are_forgotten_only_if_windows_are(spark: "SparkSession", tmp_path: Path) -> None:
    from regraft.measure.state import load

    source, out = tmp_path / "in", tmp_path / "out"
    spool(source, "b-1", [health("b1", 1)])
    measured(spark, source, out)
    (source / "b-1.ndjson").unlink()
    spool(source, "b-2", [health("b1", 2)])
    measured(spark, source, out)
    assert set(load(out, WIDTH).spools) == {"b-1.ndjson", "b-2.ndjson"}
    spool(source, "b-3", [health("b1", 3)])
    measured(spark, source, out, keep=WIDTH)
    assert set(load(out, WIDTH).spools) == {"b-2.ndjson", "b-3.ndjson"}


def test_old_spools_that_were_read_to_their_end_are_removed(tmp_path: Path) -> None:
    from regraft.measure.retention import remove_spools

    read = {}
    for name in ("old", "young", "half"):
        path = spool(tmp_path, f"b-{name}", [health("b1", 1)])
        read[path.name] = path.stat().st_size
        os.utime(path, (50, 200 if name == "young" else 50))
    read["b-half.ndjson"] -= 1
    being_copied = spool(tmp_path, "b-copied", [health("b1", 1)])
    read["b-copied.ndjson"] = being_copied.stat().st_size
    being_copied.write_bytes(being_copied.read_bytes() + b'{"v": 1, "at": "2026')
    unread = spool(tmp_path, "b-new", [health("b1", 1)])
    being_written = spool(tmp_path, "b-open", [health("b1", 1)], open=True)
    read["b-open.ndjson"] = being_written.stat().st_size
    for path in (unread, being_written, being_copied):
        os.utime(path, (50, 50))
    assert remove_spools(tmp_path, read, before=100.0) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "b-copied.ndjson",
        "b-half.ndjson",
        "b-new.ndjson",
        "b-open.ndjson.open",
        "b-young.ndjson",
    ]
