"""Runs of the pipeline: what is counted, what is rejected, what a second run reads, what a reader sees."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure import oracle
from tests.measure.snapshots import everything, table
from tests.measure.telemetry import (
    LIFE,
    START,
    WIDTH,
    Brokers,
    Record,
    at,
    count,
    delivery,
    health,
    hop,
    interest,
    network,
    parquet,
    publication,
)

from regraft.model import BadInput
from regraft.model.delta import read_rows
from regraft.model.snapshot import Counts, read_snapshot
from regraft.model.store import StoreFault
from regraft.model.traffic_files import read_traffic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from regraft.measure.run import RunResult

pytestmark = pytest.mark.slow


SOME = frozenset({"traffic_classes", "link_load"})


def measured(
    spark: "SparkSession", source: str | Path, out: str | Path, tables: frozenset[str] = SOME, **options: Any
) -> "RunResult":
    """Two tables, unless all are needed: computing the others would only take time."""
    from regraft.measure.run import Job, run

    ran = run(Job(source, out, WIDTH, tables=tables, **options), spark)
    assert ran.counts.add_up
    assert ran.snapshot.counts.add_up
    return ran


@pytest.fixture
def by_workers(spark: "SparkSession") -> Iterator[None]:
    """Spark reads and writes, few as the records are."""
    from regraft.measure.stored_files import FEW_ROWS

    spark.conf.set(FEW_ROWS, "0")
    yield
    spark.conf.unset(FEW_ROWS)


def rejected(out: Path) -> list[tuple[str, int, str]]:
    rows = read_rows(out / "rejected", ("source", "line", "reason"))
    return sorted((row["source"], row["line"], row["reason"]) for row in rows)


BAD: list[tuple[Record, str]] = [
    (health("b1", 1) | {"kind": "weather"}, "unknown kind"),
    (health("b1", 2) | {"kind": None}, "kind: missing"),
    (health("", 3), "broker: missing"),
    (publication("b1", "p", 1, 4) | {"seq": "one"}, "seq: missing or of another type"),
    (hop("b1", "p", 1, "b2", 5) | {"to": None}, "to: missing or of another type"),
    (delivery("b1", "p", 1, "s", 6, -5), "latency: negative"),
    (hop("b1", "p", 1, "b2", 7, queue=-1), "queue: negative"),
    (interest("b1", "c", "TRUE", "moved", 8), "change: another word"),
    (publication("b1", "p", 1, 4, one_in=0), "one_in: below 1"),
    (publication("b1", "p", 1, 4, one_in=2**62), "one_in: above 2097152"),
    (count("b1", "hop", 4, since=at(-1e10)), "since: before 1970"),
    (count("b1", "hop", 4, since=at(1e10)), "since: in the future"),
    (count("b1", "hop", 4, since=None), "since: missing or of another type"),
    (count("b1", "hop", 4, to="b2", queue=1), "from: missing in a count"),
    (count("b1", "latency", 4, bucket=4401, latency=1, largest=1), "bucket: above 4400"),
    (count("b1", "delivery", 4, count=2**62, publisher="p", subscriber="s"), "count: above 9007199254740992"),
    (count("b1", "everything", 4), "of: another word"),
    (health("b1", 9) | {"at": at(9).replace(year=2926)}, "at: in the future"),
    (health("b1", 9) | {"at": at(9).replace(year=1926)}, "at: before 1970"),
    (health("b1", 9) | {"at": "yesterday"}, "at: missing or not a time"),
]


@pytest.mark.usefixtures("by_workers")
def test_bad_records_are_set_aside_with_reason_and_line_duplicates_removed_and_all_adds_up(
    spark: "SparkSession", tmp_path: Path
) -> None:
    good: list[Record] = [
        publication("b1", "p", 1, 1.0),
        delivery("b2", "p", 1, "s", 1.5, 500_000),
        health("b1", 2.0) | {"v": 7, "weather": "rain"},  # newer
        hop("b1", "p", 1, "b2", 1.1),
    ]
    parquet(tmp_path / "in", "b1-1", [*good, *(record for record, _ in BAD), good[0], good[1]])
    ran = measured(spark, tmp_path / "in", tmp_path / "out")
    bad = len(BAD)
    assert ran.counts == Counts(read=4 + bad + 2, kept=4, rejected=bad, duplicated=2, late=0)
    expected = [("b1-1.parquet", 4 + number, reason) for number, (_, reason) in enumerate(BAD, 1)]
    assert rejected(tmp_path / "out") == sorted(expected)
    assert sum(ran.snapshot.manifest["rejected"].values()) == bad
    assert read_traffic(tmp_path / "out" / "traffic_classes") == ((frozenset({"b1", "b2"}), 1.0),)
    assert table(tmp_path / "out", "link_load", "messages") == [(1,)]


def test_a_second_run_reads_only_what_is_new_and_ends_where_one_run_ends(
    spark: "SparkSession", tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    from regraft.measure.tables import ALL

    records = network(3, 80)
    source, out = tmp_path / "in", tmp_path / "out"
    cut = len(records) // 3
    brokers = Brokers(source)
    brokers.put(records[:cut])
    first = measured(spark, source, out)  # the tables that are looked at below
    assert first.counts.kept == cut
    brokers.put(records[cut:])
    # Another program has written some of the records as well.
    parquet(source, "again", [*records[cut + 3 : cut + 23], *records[:5]])
    second = measured(spark, source, out, ALL)
    assert second.counts == Counts(len(records) - cut + 25, len(records) - cut, 0, 25, 0)
    Brokers(tmp_path / "all").put_all(records)
    request.getfixturevalue("by_workers")
    whole = measured(spark, tmp_path / "all", tmp_path / "whole", ALL)
    assert whole.counts == Counts(len(records), len(records))
    assert everything(out) == everything(tmp_path / "whole")
    assert second.snapshot.windows == whole.snapshot.windows
    third = measured(spark, source, out)
    assert third.counts == Counts()
    assert third.snapshot == second.snapshot
    # Who held the first snapshot still reads it, whole.
    messages = sum(row["messages"] for row in first.snapshot.rows("link_load"))
    assert messages == len(oracle.of(records[:cut], "hop"))


@pytest.mark.usefixtures("by_workers")
def test_segments_from_s3_become_tables_in_s3_which_are_those_of_a_folder(
    spark: "SparkSession", tmp_path: Path, bucket: str
) -> None:
    records = network(5, 30)
    Brokers(f"{bucket}/telemetry").put_all(records)
    Brokers(tmp_path / "in").put_all(records)
    out = f"{bucket}/tables"
    ran = measured(spark, f"{bucket}/telemetry", out)
    assert ran.counts == Counts(len(records), len(records))
    measured(spark, tmp_path / "in", tmp_path / "out")
    for name in SOME:
        assert table(out, name) == table(tmp_path / "out", name)
        oracle.assert_table(name, table(out, name), records)
    Brokers(f"{bucket}/telemetry/more").put([health("b9", 1)])  # not where brokers put it: a loose file
    assert measured(spark, f"{bucket}/telemetry", out).counts == Counts(1, 1)
    assert measured(spark, f"{bucket}/telemetry", out).counts == Counts()


def test_few_rows_that_are_too_large_for_the_driver_are_read_by_spark(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure import stored_files

    records, given = network(6, 20), stored_files._read_few
    found = []

    def read_few(*arguments: Any) -> Any:
        found.append(given(*arguments))
        return found[-1]

    monkeypatch.setattr(stored_files, "_read_few", read_few)
    monkeypatch.setattr(stored_files, "MOST_BYTES", 100)
    Brokers(tmp_path / "in").put_all(records)
    measured(spark, tmp_path / "in", tmp_path / "out")
    assert set(found) == {None}
    for name in SOME:
        oracle.assert_table(name, table(tmp_path / "out", name), records)


def test_a_run_that_is_interrupted_in_a_large_input_continues_from_there(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure import run
    from regraft.measure.taking_in import take_in

    source, out, brokers = tmp_path / "in", tmp_path / "out", Brokers(tmp_path / "in")
    for number in range(3):
        (name,) = brokers.put(health("b1", 3 * number + n) for n in range(3))
    size = (source / name).stat().st_size + 100
    taken: list[int] = []

    def dies_at_the_third(*arguments: Any) -> Any:
        taken.append(len(taken))
        if len(taken) == 3:
            raise KeyboardInterrupt
        return take_in(*arguments)

    monkeypatch.setattr(run, "take_in", dies_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        measured(spark, source, out, most_bytes=size)
    assert measured(spark, source, out, most_bytes=size).counts == Counts(read=3, kept=3)
    assert read_snapshot(out).counts == Counts(read=9, kept=9)


def test_a_client_without_a_clock_does_not_make_all_windows_since_1970_anew(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """One delivery is of a publication from 1970, one from the day before."""
    since = round(START.timestamp() * 1e6)
    late = [delivery("b1", "p", 1, "s", 100, since), delivery("b1", "p", 2, "s", 101, 86_400_000_000)]
    records = [publication("b1", "p", 3, 99), *late, delivery("b1", "p", 3, "s", 102, 10)]
    Brokers(tmp_path / "in").put(records)
    found = measured(spark, tmp_path / "in", tmp_path / "out")
    assert len(found.snapshot.windows) == 3
    assert found.counts.kept == 4


def test_late_is_judged_for_each_broker_and_counted(spark: "SparkSession", tmp_path: Path) -> None:
    source, out, brokers = tmp_path / "in", tmp_path / "out", Brokers(tmp_path / "in")
    brokers.put([health("b1", 1000), health("b2", 10)])
    measured(spark, source, out, lateness=60_000_000)
    late = [health("b1", 900), health("b1", 939.9)]
    merged = [health("b1", 950), health("b1", 940), health("b2", 11), health("b3", 1)]
    brokers.put([*late, *merged])
    ran = measured(spark, source, out, lateness=60_000_000)
    assert ran.counts == Counts(read=6, kept=4, late=2)


def test_a_broker_whose_clock_is_an_hour_ahead_is_rejected_until_then_and_spoils_nothing(
    spark: "SparkSession", tmp_path: Path
) -> None:
    import time

    ahead = (time.time() - at(0).timestamp()) + 3600
    brokers = Brokers(tmp_path / "in")
    brokers.put([health("b1", ahead), health("b2", 10)])
    brokers.put([health("b1", 11), health("b2", 12)])
    ran = measured(spark, tmp_path / "in", tmp_path / "out")
    assert ran.counts == Counts(read=4, kept=3, rejected=1)
    assert [reason for _, _, reason in rejected(tmp_path / "out")] == ["at: in the future"]
    assert ran.snapshot.manifest["input"]["last"].startswith("2026-01-05T12:00:12")


def test_segments_and_files_of_several_versions_are_read_together(
    spark: "SparkSession", tmp_path: Path
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = tmp_path / "in"
    Brokers(source).put([publication("b1", "p", 1, 1.0)])
    sent: Record = {"kind": "hop", "at": at(1.0), "broker": "b1", "publisher": "p", "seq": 1}
    old = [sent | {"from": "b1", "to": "b2", "queue": 0}]
    got: Record = {"kind": "delivery", "v": 2, "at": at(1.5), "broker": "b2", "publisher": "p", "seq": 1}
    got |= {"subscriber": "s"}
    new = [got | {"latency": 500_000, "colour": "red"}, got | {"latency": -1, "colour": "blue"}]
    pq.write_table(pa.Table.from_pylist(old), source / "old.parquet")
    pq.write_table(pa.Table.from_pylist(new), source / "new.parquet")
    ran = measured(spark, source, tmp_path / "out")
    assert ran.counts == Counts(read=4, kept=3, rejected=1)
    assert rejected(tmp_path / "out") == [("new.parquet", 2, "latency: negative")]
    assert read_traffic(ran.snapshot.table("traffic_classes")) == ((frozenset({"b1", "b2"}), 1.0),)
    assert measured(spark, source, tmp_path / "out").counts == Counts()


def test_files_that_cannot_be_read_are_set_aside_and_the_rest_is_measured(
    spark: "SparkSession", tmp_path: Path
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = tmp_path / "in"
    brokers = Brokers(source)
    (torn,) = brokers.put([health("b1", 1), health("b1", 2)])
    (source / torn).write_bytes((source / torn).read_bytes()[:-30])
    brokers.put([health("b1", 3)])
    (source / "nonsense.parquet").write_bytes(b"PAR1 no Parquet at all PAR1")
    pq.write_table(pa.table({"colour": ["red"]}), source / "others.parquet")
    (source / "notes.txt").write_text("of no interest")
    ran = measured(spark, source, tmp_path / "out")
    assert ran.counts == Counts(read=4, kept=1, rejected=3)
    found = {name: reason for name, _, reason in rejected(tmp_path / "out")}
    assert found.keys() == {torn, "nonsense.parquet", "others.parquet"}
    assert found["others.parquet"] == "no column of a telemetry record"
    assert found[torn].startswith("not Parquet, or damaged: ")
    assert ran.snapshot.manifest["rejected"] == {
        "not Parquet, or damaged": 2,
        "no column of a telemetry record": 1,
    }
    assert measured(spark, source, tmp_path / "out").counts == Counts()


def test_a_run_that_dies_anywhere_in_a_commit_loses_and_doubles_nothing(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, between and after what is written, when tables are new, and when a window is measured again."""
    from regraft.measure import interests, lake, publish, run

    source, out, brokers = tmp_path / "in", tmp_path / "out", Brokers(tmp_path / "in")

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    places = [
        (run, "take_in"),
        (run, "update_interests"),
        (interests, "with_date"),
        (run, "publish"),
        (publish, "compute"),
        (publish, "with_date"),
        (lake.Lake, "append_rows"),
        (publish, "sum_up_hours"),
        (publish, "commit"),
    ]
    sent: list[Record] = []
    for begin in (0.0, 20.0):
        wants = interest("b2", f"s{begin}", "topic = 't'", "added", begin + 0.5)
        new = [publication("b1", "p", int(begin), begin + 1.0), wants]
        new += [
            hop("b1", "p", int(begin), "b2", begin + 1),
            delivery("b2", "p", int(begin), "s", begin + 1.2),
        ]
        sent += new
        brokers.put(new)
        for module, name in places:
            with monkeypatch.context() as patch:
                patch.setattr(module, name, die)
                with pytest.raises(KeyboardInterrupt):
                    measured(spark, source, out)
            counts = Counts() if not begin else Counts(read=4, kept=4)
            assert not begin or read_snapshot(out).counts == counts
        assert measured(spark, source, out).counts == Counts(read=4, kept=4)
        for name in (*SOME, "interest"):
            oracle.assert_table(name, table(out, name), sent)
            newest = read_rows(out / name)  # the newest version, as readers that know no snapshot see it
            assert len(newest) == len(table(out, name))
    assert read_snapshot(out).counts == Counts(read=8, kept=8)


def test_what_a_commit_names_is_on_the_disk_before_it(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a loss of power there must be no commit whose files are empty."""
    from regraft.measure import ledger

    out, synced = tmp_path / "out", set[str]()
    fsync, write = os.fsync, ledger._write
    judged: list[int] = []

    def noted(handle: int) -> None:
        fsync(handle)
        synced.add(os.readlink(f"/proc/self/fd/{handle}"))

    def checked(place: str, epoch: int, state: Any, *rest: Any) -> None:
        files = [path for name in state.tables for path in (out / name).rglob("*") if path.is_file()]
        assert [str(path) for path in files if str(path) not in synced and _in_driver(path)] == []
        judged.append(len(files))
        write(place, epoch, state, *rest)

    def _in_driver(path: Path) -> bool:
        """Workers are other processes: what they sync is not seen here."""
        return "_delta_log" in path.parts

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(ledger, "_write", checked)
    Brokers(tmp_path / "in").put(network(3, 20))
    measured(spark, tmp_path / "in", out)
    assert judged[-1] > 10


def test_no_records_at_all_make_a_snapshot_of_empty_tables(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    ran = measured(spark, tmp_path / "in", tmp_path / "out")
    assert ran.snapshot.counts == Counts()
    assert ran.snapshot.windows == ()
    assert read_traffic(ran.snapshot.table("traffic_classes")) == ()
    assert table(tmp_path / "out", "link_load") == []


def test_a_segment_that_vanishes_is_one_line_and_leaves_the_snapshot_as_it_was(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure import run
    from regraft.measure.taking_in import take_in

    source, out, brokers = tmp_path / "in", tmp_path / "out", Brokers(tmp_path / "in")
    brokers.put([health("b1", 1)])
    before = measured(spark, source, out).snapshot
    brokers.put([health("b1", 2)])

    def vanish(*arguments: Any) -> Any:
        taken = take_in(*arguments)
        shutil.rmtree(source)
        return taken

    monkeypatch.setattr(run, "take_in", vanish)
    with pytest.raises(StoreFault, match=r"^[^\n]*/b1/[^\n]*parquet: No such file[^\n]*$"):
        measured(spark, source, out)
    assert read_snapshot(out) == before


def test_another_version_another_window_and_another_run_are_refused(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from deltalake import write_deltalake

    from regraft.measure.ledger import turn
    from regraft.measure.run import Job, run
    from regraft.model.delta import read_table

    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    measured(spark, source, out)
    with pytest.raises(BadInput, match="windows there are 60 s long, not 1 s"):
        run(Job(source, out, 1_000_000), spark)
    with turn(str(out), WIDTH), pytest.raises(BadInput, match="another run is writing there"):
        run(Job(source, out, WIDTH), spark)
    row = read_table(out / "_state")
    at = row.schema.get_field_index("state")

    def put(text: str) -> None:
        write_deltalake(out / "_state", row.set_column(at, "state", [[text]]), mode="overwrite")

    put(row["state"][0].as_py().replace('"version":2', '"version":99'))
    with pytest.raises(BadInput, match="is of schema version 99, this is 2"):
        run(Job(source, out, WIDTH), spark)
    put("{")
    with pytest.raises(BadInput, match="not the state of a run"):
        run(Job(source, out, WIDTH), spark)


def test_top_reports_its_error_in_the_manifest(spark: "SparkSession", tmp_path: Path) -> None:
    records = [
        *(publication("b1", "p", n, 1 + n) for n in range(4)),
        *(delivery(f"b{2 + n}", "p", n, "s", 1.5 + n) for n in range(4)),
    ]
    Brokers(tmp_path / "in").put(records)
    ran = measured(spark, tmp_path / "in", tmp_path / "out", top=1)
    top = ran.snapshot.manifest["top"]
    assert (top["kept"], top["merged_classes"], top["merged_demand"]) == (1, 3, 3)
    assert top["excess_visits"] == 3 * (4 - 2)
    assert top["error"] == pytest.approx(6 / 8)
    classes = read_traffic(ran.snapshot.table("traffic_classes"))
    assert sum(demand for _, demand in classes) == 4


def test_a_table_of_another_program_is_never_touched(spark: "SparkSession", tmp_path: Path) -> None:
    """Neither where no run has written, nor beside the tables of runs."""
    import pyarrow as pa
    from deltalake import write_deltalake

    brokers = Brokers(tmp_path / "in")
    brokers.put([health("b1", 10)])
    for seconds, name in enumerate(("new", "used"), 20):
        if name == "used":
            measured(spark, tmp_path / "in", tmp_path / name, frozenset({"link_load"}))
        place = tmp_path / name / "latency"
        for number in range(2):
            write_deltalake(place, pa.table({"number": [number]}), mode="append")
        brokers.put([health("b1", seconds)])
        with pytest.raises(BadInput, match=r"latency: is .* use another --out"):
            measured(spark, tmp_path / "in", tmp_path / name, frozenset({"latency"}))
        assert [row["number"] for row in read_rows(place, ("number",))] == [1, 0]


def test_tables_whose_state_is_gone_are_refused(spark: "SparkSession", tmp_path: Path) -> None:
    Brokers(tmp_path / "in").put([publication("b1", "p", 1, 10)])
    measured(spark, tmp_path / "in", tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "_state")
    with pytest.raises(BadInput, match="is not of a run, as _state is not there"):
        measured(spark, tmp_path / "in", tmp_path / "out")


def test_what_only_looks_like_a_segment_spoils_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    """A folder; a segment with text that is no UTF-8; one whose counts are of a time that no date has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    brokers = Brokers(tmp_path / "in")
    (good,) = brokers.put([publication("b1", "p", 1, 10)])
    hour = (tmp_path / "in" / good).parent
    (hour / f"{LIFE:016d}-00000007.parquet").mkdir()
    table = pq.read_table(tmp_path / "in" / good)
    odd = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())
    place = table.schema.get_field_index("publisher")
    pq.write_table(table.set_column(place, "publisher", odd), hour / f"{LIFE:016d}-00000008.parquet")
    far = pa.array([2**62], pa.int64()).cast(pa.timestamp("us", "UTC"))
    pq.write_table(table.append_column("since", far), hour / f"{LIFE:016d}-00000009.parquet")
    brokers.put([publication("b2", "p", 2, 11)])
    ran = measured(spark, tmp_path / "in", tmp_path / "out")
    assert ran.counts.kept >= 2
