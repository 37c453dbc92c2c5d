"""Hours of traffic are kept when their windows are gone, and forecasts are made of them."""

import shutil
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure.telemetry import START, Record, delivery, health, parquet, publication

from regraft.estate.regraft.expecting import Expecting, kept_hours
from regraft.estate.regraft.tables import read_window
from regraft.estate.windows import MeasuredWindow
from regraft.forecast import HourOfTraffic
from regraft.forecast.forecaster import RETURNS
from regraft.model.snapshot import read_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

HOUR = 3600
WIDTH = 900
HOURS = 12
"""Fifteen minutes: four windows make an hour."""
BEGIN = round(START.timestamp())
FIRST = BEGIN // HOUR


def measured(spark: "SparkSession", folder: Path, **options: Any) -> Path:
    from regraft.measure.run import Job, run

    job = Job(folder / "in", folder / "out", WIDTH * 10**6, tables=frozenset({"traffic_classes"}), **options)
    run(job, spark)
    return folder / "out"


def talk(hour: int, minute: float, number: int, to: str) -> list[Record]:
    """This many messages from a to another broker."""
    at = hour * HOUR + minute * 60
    found = []
    for seq in range(number):
        moment, key = at + seq / 100, (hour * 60 + round(minute)) * 1000 + seq
        found.append(publication("a", f"p-{to}", key, moment))
        found.append(delivery(to, f"p-{to}", key, "s", moment + 0.001, 1000))
    return found


def alive(hours: int) -> list[Record]:
    """Both brokers live all the time, in every window."""
    return [
        health(broker, quarter * WIDTH + 1 + offset)
        for quarter in range(4 * hours)
        for offset, broker in enumerate("abc")
    ]


def in_order(records: list[Record]) -> list[Record]:
    def place(record: Record) -> tuple[Any, ...]:
        return record["at"], record["broker"]

    return sorted(records, key=place)


def sums(records: list[Record], hours: int) -> list[HourOfTraffic]:
    """By publication, from the records alone."""
    reached: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
    hour_of: dict[tuple[str, int], int] = {}
    for record in records:
        if record["kind"] in ("publication", "delivery"):
            key = (record["publisher"], record["seq"])
            reached[key].add(record["broker"])
            if record["kind"] == "publication":
                hour_of[key] = int(record["at"].timestamp()) // HOUR
    demand: defaultdict[int, Counter[frozenset[str]]] = defaultdict(Counter)
    for key, brokers in reached.items():
        demand[hour_of[key]][frozenset(brokers)] += 1
    return [HourOfTraffic(hour, 4, demand[hour]) for hour in range(FIRST, FIRST + hours)]


def same(found: list[HourOfTraffic], expected: list[HourOfTraffic]) -> bool:
    return [(*each[:2], dict(each.demand)) for each in found] == [
        (*each[:2], dict(each.demand)) for each in expected
    ]


def test_hours_are_summed_up_once_they_are_over_and_outlive_their_windows(
    spark: "SparkSession", tmp_path: Path
) -> None:
    records = [
        *alive(4),
        *talk(0, 5, 7, "b"),
        *talk(0, 50, 3, "b"),
        *talk(0, 20, 2, "c"),
        *talk(2, 1, 5, "c"),
    ]
    source = tmp_path / "in"

    def written(name: str, some: list[Record]) -> None:
        parquet(source, name, in_order(some))

    early = [record for record in records if record["at"].timestamp() < BEGIN + 2.2 * HOUR]
    written("x-1", early)
    out = measured(spark, tmp_path)
    assert same(list(kept_hours(out, FIRST + 9)), sums(early, 2)), "the third hour is not over"
    written("x-2", [record for record in records if record not in early])
    measured(spark, tmp_path)
    assert same(list(kept_hours(out, FIRST + 9)), sums(records, 3)), "there is no window after the fourth"
    assert same(list(kept_hours(out, FIRST + 1)), sums(records, 1)), "only what was before"
    # A late record of an hour that was summed up.
    more = talk(2, 30, 4, "b")
    written("x-3", more)
    measured(spark, tmp_path, lateness=10 * HOUR * 10**6)
    assert same(list(kept_hours(out, FIRST + 9)), sums([*records, *more], 3))
    # Windows older than an hour are forgotten; hours are not.
    written("x-4", [health("a", 6 * HOUR)])
    measured(spark, tmp_path, keep=HOUR * 10**6)
    assert len(read_snapshot(out).windows) < 8
    hours = list(kept_hours(out, FIRST + 9))
    assert same(hours[:3], sums([*records, *more], 3))


@pytest.fixture(scope="module")
def half_a_day(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[MeasuredWindow]]:
    """The tables of twelve hours, and their windows: a talks to b in one hour and to c in the next."""
    folder = tmp_path_factory.mktemp("half-a-day")
    records = alive(HOURS)
    for hour in range(HOURS):
        for minute in (3, 18, 33, 48):
            records += talk(hour, minute, 4 + hour, "b" if hour % 2 else "c")
    parquet(folder / "in", "x-1", in_order(records))
    out = measured(spark, folder)
    snapshot = read_snapshot(out)
    starts = range(BEGIN, BEGIN + HOURS * HOUR, WIDTH)
    return out, [read_window(snapshot, float(start), float(start + WIDTH)) for start in starts]


def test_a_forecast_after_a_restart_is_the_one_without_and_knows_only_what_was_before(
    half_a_day: tuple[Path, list[MeasuredWindow]],
) -> None:
    out, windows = half_a_day
    always = Expecting(out, WIDTH, 4, 2)
    forecasts = [always.after(window).forecast for window in windows]
    first = round(RETURNS / WIDTH) + 1 + HOUR // WIDTH - 1
    assert forecasts[:first] == [None] * first, "an hour with one of the last windows"
    for number in (first, first + 7, 47):
        restarted = Expecting(out, WIDTH, 4, 2).after(windows[number]).forecast
        known = forecasts[number]
        assert restarted is not None
        assert known is not None
        assert dict(restarted.traffic) == pytest.approx(dict(known.traffic)), number
        assert restarted.errors.checked >= known.errors.checked, "the windows before it are compared again"
    assert replace(windows[5], forecast=None) == windows[5]


def test_windows_that_the_loop_has_missed_are_taken_from_the_tables_and_torn_hours_are_left_out(
    half_a_day: tuple[Path, list[MeasuredWindow]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole, windows = half_a_day
    out = tmp_path / "tables"
    shutil.copytree(whole, out)
    always, sometimes = Expecting(out, WIDTH, 4, 2), Expecting(out, WIDTH, 4, 2)
    forecasts = [always.after(window).forecast for window in windows]
    for number in (0, 1, 5, 20, 47):
        assert sometimes.after(windows[number]).forecast == forecasts[number]
    assert [each.hour for each in kept_hours(out, FIRST + HOURS)] == list(range(FIRST, FIRST + HOURS - 1))
    (file,) = (out / "history").glob("date=*/*.parquet")
    file.write_bytes(file.read_bytes()[:20])
    assert list(kept_hours(out, FIRST + HOURS)) == []
    assert "cannot be read, and forecasts do without them" in caplog.text
    assert Expecting(out, WIDTH, 4, 2).after(windows[-1]).forecast is not None


def test_without_tables_nothing_is_expected_at_first(tmp_path: Path) -> None:
    from regraft.estate.windows import empty_window

    assert Expecting(tmp_path / "nothing", 10.0, 4, 2).after(empty_window(0.0, 10.0)).forecast is None
