"""Old windows and old segments are removed; interest that holds is kept."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure import oracle
from tests.measure.snapshots import table
from tests.measure.telemetry import (
    WIDTH,
    Brokers,
    Record,
    at,
    delivery,
    health,
    interest,
    parquet,
    publication,
)

from regraft.model.delta import read_rows
from regraft.model.snapshot import Counts
from regraft.model.traffic_files import read_traffic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from regraft.measure.run import RunResult

pytestmark = pytest.mark.slow

TABLES = frozenset({"traffic_classes", "interest"})
MINUTE = 60


def micros(seconds: float) -> int:
    return round(at(seconds).timestamp() * 1e6)


def measured(spark: "SparkSession", source: Path, out: Path, **options: Any) -> "RunResult":
    from regraft.measure.run import Job, run

    ran = run(Job(source, out, WIDTH, tables=TABLES, **options), spark)
    assert ran.counts.add_up
    return ran


def talk(minute: int) -> list[Record]:
    """A publication of b1 that b2 gets."""
    began = minute * MINUTE
    sent = publication("b1", "p", minute + 1, began + 1.0)
    return [sent, delivery("b2", "p", minute + 1, "s", began + 1.5, 500_000)]


def test_old_windows_are_forgotten_and_what_comes_of_them_is_late(
    spark: "SparkSession", tmp_path: Path
) -> None:
    source, out, brokers = tmp_path / "in", tmp_path / "out", Brokers(tmp_path / "in")
    went = interest("b2", "s0", "topic = 't'", "removed", 61.0)
    more: list[Record]
    for minute, more in ((0, []), (1, [went]), (4, [])):
        began = minute * MINUTE
        came = interest("b2", f"s{minute}", "topic = 't'", "added", began)
        held = interest("b2", "s", "topic = 't'", "added", began + 0.1)  # told again and again
        brokers.put([came, held, *more, *talk(minute)])
        ran = measured(spark, source, out, keep=2 * WIDTH)
        assert ran.counts.late == 0
    shown = ran.snapshot
    assert shown.windows == ("2026-01-05T12:04:00Z",)
    assert read_traffic(shown.table("traffic_classes")) == ((frozenset({"b1", "b2"}), 1.0),)
    assert len(read_rows(out / "_segments")) == 2, "the index forgets segments of old windows, too"
    brokers.put([health("b9", 1 * MINUTE + 59.9), interest("b9", "s9", "topic = 't'", "added", 2 * MINUTE)])
    again = measured(spark, source, out, keep=2 * WIDTH)
    assert again.counts == Counts(read=2, kept=1, late=1)
    known = {
        (row["client"], row["since"].minute, row["until"] is None) for row in again.snapshot.rows("interest")
    }
    assert known == {("s", 0, True), ("s1", 1, True), ("s4", 4, True), ("s9", 2, True)}, (
        "interest that has ended is forgotten, that which holds is not"
    )


def test_without_a_limit_everything_stays_and_windows_to_be_computed_always_do(
    spark: "SparkSession", tmp_path: Path
) -> None:
    source, out, brokers = tmp_path / "in", tmp_path / "out", Brokers(tmp_path / "in")
    brokers.put(talk(0))
    brokers.put(talk(30))
    assert len(measured(spark, source, out).snapshot.windows) == 2
    brokers.put(talk(60))
    held = measured(spark, source, out, keep=WIDTH, until=micros(45 * MINUTE))
    assert held.snapshot.windows == ()
    assert measured(spark, source, out, keep=WIDTH).snapshot.windows == ("2026-01-05T13:00:00Z",)


def test_segments_are_removed_when_they_were_measured_and_are_old_and_nothing_else_is(
    spark: "SparkSession", tmp_path: Path
) -> None:
    source, out, brokers = tmp_path / "in", tmp_path / "out", Brokers(tmp_path / "in")
    for minute in (0, 30, 60, 90):
        brokers.put(talk(minute))
    parquet(source, "loose", [health("b3", 5)])
    kept = [interest("b2", "s", "topic = 't'", "added", 6.0)]
    brokers.put(kept)
    measured(spark, source, out)
    (other,) = brokers.put([health("b1", 95 * MINUTE)])  # not measured yet

    def there() -> int:
        return len(list(source.rglob("*.parquet")))

    before, tables = there(), {name: table(out, name) for name in TABLES}
    ran = measured(spark, source, out, remove_before=micros(75 * MINUTE))
    assert ran.counts == Counts(1, 1)
    assert before - there() == 5, "of two windows two each, and the one with interest"
    assert (source / "loose.parquet").exists()
    assert {path.name for path in source.glob("b1/*")} == {"2026-01-05T13"}, "empty folders go, too"
    assert (source / other).exists()
    oracle.assert_table("interest", table(out, "interest"), kept)
    assert tables.items() <= {name: table(out, name) for name in TABLES}.items()
    # A window that cannot be computed as a whole any more is not computed again.
    brokers.put([health("b8", 25 * MINUTE)])
    assert measured(spark, source, out).counts == Counts(read=1, late=1)
    assert tables == {name: table(out, name) for name in TABLES}
