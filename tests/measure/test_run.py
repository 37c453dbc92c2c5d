"""Runs of the pipeline: what is counted, what is rejected, what a second run reads, what a reader sees."""

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.measure import oracle
from tests.measure.snapshots import everything, table
from tests.measure.telemetry import (
    WIDTH,
    Record,
    at,
    delivery,
    health,
    hop,
    interest,
    line,
    network,
    publication,
    spool,
)

from regraft.model import BadInput
from regraft.model.snapshot import Counts, read_snapshot
from regraft.model.traffic_files import read_traffic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from regraft.measure.run import RunResult

pytestmark = pytest.mark.slow


SOME = frozenset({"traffic_classes", "link_load"})


def measured(
    spark: "SparkSession", source: Path, out: Path, tables: frozenset[str] = SOME, **options: Any
) -> "RunResult":
    """Two tables, unless all are needed: computing the others would only take time."""
    from regraft.measure.run import Job, run

    ran = run(Job(source, out, WIDTH, tables=tables, **options), spark)
    assert ran.counts.add_up
    assert ran.snapshot.counts.add_up
    return ran


BAD: list[tuple[str, str]] = [
    ('{"v": 1, "at": "2026-01-05T12:00', "not JSON, or nothing of a record"),
    ("\udcff\udcfe{}", "not UTF-8"),
    ("[1, 2]", "not a JSON object"),
    ('{"v": 1}', "not JSON, or nothing of a record"),
    (line(health("b1", 1) | {"kind": "weather"}), "unknown kind"),
    (line(health("b1", 2) | {"kind": None}), "kind: missing"),
    (line(health("", 3)), "broker: missing"),
    (line(publication("b1", "p", 1, 4) | {"seq": "one"}), "seq: missing or of another type"),
    (line(hop("b1", "p", 1, "b2", 5) | {"to": None}), "to: missing or of another type"),
    (line(delivery("b1", "p", 1, "s", 6, -5)), "latency: negative"),
    (line(hop("b1", "p", 1, "b2", 7, queue=-1)), "queue: negative"),
    (line(interest("b1", "c", "TRUE", "moved", 8)), "change: another word"),
    (line(publication("b1", "p", 1, 4, one_in=0)), "one_in: below 1"),
    (line(health("b1", 9)).replace("2026-01-05", "2926-01-05"), "at: in the future"),
    (line(health("b1", 9)).replace("2026-01-05", "1926-01-05"), "at: before 1970"),
    (line(health("b1", 9)).replace("2026-01-05", "yesterday"), "at: missing or not a time"),
]


def test_bad_records_are_set_aside_with_reason_and_line_duplicates_removed_and_all_adds_up(
    spark: "SparkSession", tmp_path: Path
) -> None:
    number = str(round(at(1.1).timestamp() * 1e6))  # a time may be a number: microseconds
    good: list[Record | str] = [
        publication("b1", "p", 1, 1.0),
        delivery("b2", "p", 1, "s", 1.5, 500_000),
        line(health("b1", 2.0) | {"v": 7, "weather": {"rain": [1]}}),  # newer
        line(hop("b1", "p", 1, "b2", 1.1)).replace('"2026-01-05T12:00:01.100000Z"', number),
    ]
    lines: list[Record | str] = [*good, *(text for text, _ in BAD), good[0], "", good[1]]
    path = spool(tmp_path / "in", "b1-1", lines)
    with path.open("ab") as file:
        file.write(line(health("b1", 3.0))[:-20].encode())  # not whole yet: nothing is said of it
    ran = measured(spark, tmp_path / "in", tmp_path / "out")
    bad = len(BAD)
    assert ran.counts == Counts(read=4 + bad + 2, kept=4, rejected=bad, duplicated=2, late=0)
    found = (
        spark.read.parquet(str(tmp_path / "out" / "rejected")).select("source", "line", "reason").collect()
    )
    expected = [(4 + number, reason) for number, (_, reason) in enumerate(BAD, 1)]
    assert sorted((row.line, row.reason) for row in found) == sorted(expected)
    assert {row.source for row in found} == {"b1-1.ndjson"}
    assert sum(ran.snapshot.manifest["rejected"].values()) == bad
    assert read_traffic(tmp_path / "out" / "traffic_classes") == ((frozenset({"b1", "b2"}), 1.0),)
    assert table(tmp_path / "out", "link_load", "messages") == [(1,)]


def test_a_second_run_reads_only_what_is_new_and_ends_where_one_run_ends(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from regraft.measure.tables import ALL

    records = network(3, 80)
    source, out = tmp_path / "in", tmp_path / "out"
    cut, more = len(records) // 3, 2 * len(records) // 3
    written = spool(source, "b-1", records[:cut], open=True)
    with written.open("ab") as file:
        file.write(line(records[cut]).encode()[:30])  # being written
    first = measured(spark, source, out)  # the tables that are looked at below
    assert first.counts.kept == cut
    # The open file grows and is completed; some records are in a second file, too.
    spool(source, "b-1", records[:more])
    written.unlink()
    spool(source, "b-2", [*records[more - 20 :], *records[:5]])
    second = measured(spark, source, out, ALL)
    assert second.counts == Counts(len(records) - cut + 25, len(records) - cut, 0, 25, 0)
    whole = measured(spark, _rest(tmp_path, records), tmp_path / "whole", ALL)
    assert everything(out) == everything(tmp_path / "whole")
    assert second.snapshot.windows == whole.snapshot.windows
    third = measured(spark, source, out)
    assert third.counts == Counts()
    assert third.snapshot.folder == second.snapshot.folder
    # Who held the first snapshot still reads it, whole.
    assert first.snapshot.folder != second.snapshot.folder
    messages = sum(row[2] for row in table(first.snapshot.folder, "link_load", "from", "to", "messages"))
    assert messages == sum(map(oracle.stands_for, oracle.of(records[:cut], "hop")))


def _rest(tmp_path: Path, records: list[Record]) -> Path:
    spool(tmp_path / "all", "b-1", records)
    return tmp_path / "all"


def test_a_run_that_is_interrupted_in_a_large_input_continues_from_there(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure import run
    from regraft.measure.ingest import ingest

    source, out = tmp_path / "in", tmp_path / "out"
    for number in range(3):
        path = spool(source, f"b-{number}", [health("b1", 3 * number + n) for n in range(3)])
    taken: list[int] = []

    def dies_at_the_third(*arguments: Any) -> Any:
        taken.append(len(taken))
        if len(taken) == 3:
            raise KeyboardInterrupt
        return ingest(*arguments)

    monkeypatch.setattr(run, "ingest", dies_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        measured(spark, source, out, most_bytes=path.stat().st_size)
    assert measured(spark, source, out, most_bytes=path.stat().st_size).counts == Counts(read=3, kept=3)
    assert read_snapshot(out).counts == Counts(read=9, kept=9)


def test_late_is_judged_for_each_broker_and_counted(spark: "SparkSession", tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    spool(source, "b1-1", [health("b1", 1000), health("b2", 10)])
    measured(spark, source, out, lateness=60_000_000)
    late = [health("b1", 900), health("b1", 939.9)]
    merged = [health("b1", 950), health("b1", 940), health("b2", 11), health("b3", 1)]
    spool(source, "b1-2", [*late, *merged])
    ran = measured(spark, source, out, lateness=60_000_000)
    assert ran.counts == Counts(read=6, kept=4, late=2)


def test_parquet_and_spools_of_several_versions_are_read_together(
    spark: "SparkSession", tmp_path: Path
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = tmp_path / "in"
    spool(source, "b-1", [publication("b1", "p", 1, 1.0)])
    old = [
        {
            "kind": "hop",
            "at": at(1.0),
            "broker": "b1",
            "publisher": "p",
            "seq": 1,
            "from": "b1",
            "to": "b2",
            "queue": 0,
        }
    ]
    new = [
        {
            "kind": "delivery",
            "v": 2,
            "at": at(1.5),
            "broker": "b2",
            "publisher": "p",
            "seq": 1,
            "subscriber": "s",
        }
    ]
    broken = new[0] | {"latency": -1}
    new = [new[0] | {"latency": 500_000, "colour": "red"}, broken | {"colour": "blue"}]
    pq.write_table(pa.Table.from_pylist(old), source / "old.parquet")
    pq.write_table(pa.Table.from_pylist(new), source / "new.parquet")
    ran = measured(spark, source, tmp_path / "out")
    assert ran.counts == Counts(read=4, kept=3, rejected=1)
    row = spark.read.parquet(str(tmp_path / "out" / "rejected")).collect()[0]
    assert (row.source, row.line, row.reason) == ("new.parquet", 2, "latency: negative")
    assert read_traffic(ran.snapshot.table("traffic_classes")) == ((frozenset({"b1", "b2"}), 1.0),)
    assert measured(spark, source, tmp_path / "out").counts == Counts()


def test_a_run_that_dies_between_taking_in_and_publishing_loses_and_doubles_nothing(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure import publish, run

    source, out = tmp_path / "in", tmp_path / "out"
    records = [publication("b1", "p", 1, 1.0), delivery("b2", "p", 1, "s", 1.2, 200_000)]
    spool(source, "b-1", records)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    for module, name in ((run, "publish"), (publish, "save"), (publish, "make_current")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, die)
            with pytest.raises(KeyboardInterrupt):
                measured(spark, source, out)
    assert measured(spark, source, out).snapshot.counts == Counts(read=2, kept=2)
    assert read_traffic(out / "traffic_classes") == ((frozenset({"b1", "b2"}), 1.0),)
    left = {
        folder.name for name in ("_records", "_versions", "snapshots") for folder in (out / name).iterdir()
    }
    known = json.loads((out / "_state.json").read_text())
    assert str(known["snapshot"]) in left
    assert len(left) <= 4


def test_a_file_that_is_still_being_copied_is_read_to_its_last_whole_line_and_then_on(
    spark: "SparkSession", tmp_path: Path
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    path = spool(source, "b1-1", [hop("b1", "p", seq, "b2", seq) for seq in range(4)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert measured(spark, source, out).counts == Counts(read=3, kept=3)
    path.write_bytes(whole)
    assert measured(spark, source, out).counts == Counts(read=1, kept=1)
    assert table(out, "link_load", "from", "to", "messages") == [("b1", "b2", 4)]


def test_what_the_state_names_is_on_the_disk_before_it(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a loss of power there must be no commit whose files are empty."""
    from regraft.measure.state import RECORDS, SNAPSHOTS, VERSIONS, PipelineState

    out, synced, states = tmp_path / "out", set[str](), list[PipelineState]()
    fsync, replace = os.fsync, os.replace

    def noted(handle: int) -> None:
        fsync(handle)
        synced.add(os.readlink(f"/proc/self/fd/{handle}"))

    def judged(old: str, new: str) -> None:
        if Path(new).name == "_state.json":
            states.append(state := msgspec.json.decode(Path(old).read_bytes(), type=PipelineState))
            held = {commit for window in state.windows.values() for commit in window.commits}
            named = [out / RECORDS / str(commit) for commit in {*held, *state.interests, *state.rejections}]
            versions = {version for each in state.tables.values() for version in each.values()}
            named += [out / VERSIONS / str(version) for version in versions]
            named += [out / SNAPSHOTS / str(state.snapshot)] if state.snapshot else []
            files = [path for folder in named for path in (folder, *folder.rglob("*"))]
            assert [str(path) for path in files if not path.is_symlink() and str(path) not in synced] == []
        replace(old, new)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(os, "replace", judged)
    spool(tmp_path / "in", "b1-1", [*network(3, 20), "no record"])
    measured(spark, tmp_path / "in", out)
    last = states[-1]
    assert last.snapshot
    assert last.interests
    assert last.rejections
    assert str(out) in synced, "the folder that names the state"


def test_no_records_at_all_make_a_snapshot_of_empty_tables(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    ran = measured(spark, tmp_path / "in", tmp_path / "out")
    assert ran.snapshot.counts == Counts()
    assert not any(everything(tmp_path / "out").values())
    assert read_traffic(ran.snapshot.table("traffic_classes")) == ()


def test_a_failure_of_spark_is_one_line(spark: "SparkSession", tmp_path: Path) -> None:
    from regraft.measure.session import SparkFault

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "broken.parquet").write_bytes(b"PAR1 no Parquet at all PAR1")
    with pytest.raises(SparkFault) as fault:
        measured(spark, tmp_path / "in", tmp_path / "out")
    assert "\n" not in str(fault.value)
    assert str(tmp_path / "in") in str(fault.value)
    assert not (tmp_path / "out" / "current").exists()


def test_a_file_that_vanishes_is_one_line_and_leaves_the_snapshot_as_it_was(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure import run
    from regraft.measure.ingest import ingest
    from regraft.measure.session import SparkFault

    source, out = tmp_path / "in", tmp_path / "out"
    spool(source, "b-1", [health("b1", 1)])
    before = measured(spark, source, out).snapshot
    spool(source, "b-2", [health("b1", 2)])

    def vanish(*arguments: Any) -> Any:
        shutil.rmtree(source)
        return ingest(*arguments)

    monkeypatch.setattr(run, "ingest", vanish)
    with pytest.raises(SparkFault, match=r"^[^\n]*No such file[^\n]*$"):
        measured(spark, source, out)
    assert read_snapshot(out).folder == before.folder


def test_another_version_another_window_and_another_run_are_refused(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from regraft.measure.run import Job, exclusive, run

    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    measured(spark, source, out)
    with pytest.raises(BadInput, match="windows there are 60 s long, not 1 s"):
        run(Job(source, out, 1_000_000), spark)
    with exclusive(Job(source, out, WIDTH)), pytest.raises(BadInput, match="another run is writing there"):
        run(Job(source, out, WIDTH), spark)
    state = out / "_state.json"
    state.write_text(state.read_text().replace('"version":1', '"version":99'))
    with pytest.raises(BadInput, match="is of schema version 99, this is 1"):
        run(Job(source, out, WIDTH), spark)
    os.truncate(state, 10)
    with pytest.raises(BadInput, match="not the state of a run"):
        run(Job(source, out, WIDTH), spark)


def test_top_reports_its_error_in_the_manifest(spark: "SparkSession", tmp_path: Path) -> None:
    records = [
        *(publication("b1", "p", n, 1 + n) for n in range(4)),
        *(delivery(f"b{2 + n}", "p", n, "s", 1.5 + n) for n in range(4)),
    ]
    spool(tmp_path / "in", "b-1", records)
    ran = measured(spark, tmp_path / "in", tmp_path / "out", top=1)
    top = ran.snapshot.manifest["top"]
    assert (top["kept"], top["merged_classes"], top["merged_demand"]) == (1, 3, 3)
    assert top["excess_visits"] == 3 * (4 - 2)
    assert top["error"] == pytest.approx(6 / 8)
    classes = read_traffic(ran.snapshot.table("traffic_classes"))
    assert sum(demand for _, demand in classes) == 4
