"""Counting stored records file by file gives what plain Python, and Spark's own functions, make of them."""

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.measure import oracle
from tests.measure.telemetry import (
    START,
    WIDTH,
    Record,
    clean,
    delivery,
    hop,
    network,
    publication,
    rows,
    spool,
)

from regraft.measure.counting.groups import coded, grouped, spread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BEGIN = round(START.timestamp() * 1e6)
LARGE = frozenset(
    {"traffic_classes", "topic_popularity", "link_load", "broker_load", "latency", "latency_histogram"}
)
FAR = 1 << 61


@pytest.mark.parametrize("step", [1, 1 << 20, 1 << 55])
def test_rows_that_agree_on_all_parts_are_one_group(step: int) -> None:
    chance = random.Random(step)
    seqs = [chance.randrange(9) * step for _ in range(500)]
    names = [chance.choice("abcd") for _ in seqs]
    texts, spans = coded(pa.array(names)), spread(np.array(seqs))
    groups = grouped([texts[:2], spans, (np.array(seqs) // step, FAR)])
    expected = Counter(zip(names, seqs, strict=True))
    sizes = groups.sums(np.ones(len(groups.place), np.int64))
    found = {(names[row], seqs[row]): count for row, count in zip(groups.rows, sizes, strict=True)}
    assert found == expected
    values = np.arange(500) * 7 % 501
    largest = dict(zip(groups.rows.tolist(), groups.largest(values).tolist(), strict=True))
    total = dict(zip(groups.rows.tolist(), groups.sums(values).tolist(), strict=True))
    for row, group in zip(groups.rows.tolist(), range(len(groups.rows)), strict=True):
        mine = values[groups.place == group]
        assert (largest[row], total[row]) == (mine.max(), mine.sum())


def stored(spark: "SparkSession", folder: Path, records: list[Record], files: int = 3) -> Any:
    """Written without an order: what belongs together is in several files, and several row groups."""
    whole = clean(spark, records).orderBy("seq", "broker").toArrow()
    folder.mkdir()
    for number in range(files):
        part = whole.take(list(range(number, whole.num_rows, files)))
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=max(1, part.num_rows // 2))
    return spark.read.parquet(str(folder))


def large(spark: "SparkSession", folder: Path, records: list[Record]) -> dict[str, list[tuple[Any, ...]]]:
    """The large tables, of stored records; one window is there that is not asked for."""
    from regraft.measure.counting.pieces import pieces_in
    from regraft.measure.members import Brokers
    from regraft.measure.tables import Asked, Kept, compute

    starts = sorted({oracle.window(each, WIDTH) for each in records})
    other = [
        publication("b0", "p0", 1, -90.0),
        delivery("b1", "p0", 1, "s", -89.0, 5),
        hop("b0", "p0", 1, "b1", -89.5),
    ]
    table = stored(spark, folder, [*records, *other])
    wanted = table.where(table["window"] >= START)
    found: dict[str, DataFrame] = {}
    with Kept(Asked(WIDTH, tables=LARGE), found.__setitem__) as kept:
        compute(
            kept,
            wanted.where("kind != 'interest'"),
            lambda: wanted.where("kind = 'interest'"),
            Brokers.of({each["broker"] for each in records}),
            [start + BEGIN for start in starts],
            pieces_in([folder]),
        )
        return {name: rows(each) for name, each in found.items()}


@pytest.mark.parametrize("together", [1, 10_000], ids=["files", "windows"])
def test_large_tables_of_stored_records_are_what_plain_python_makes_of_them(
    together: int, spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By tasks that take some files, and by tasks that take whole windows."""
    from regraft.measure.counting import classes

    monkeypatch.setattr(classes, "TOGETHER", together)
    records = [each for seed in range(4) for each in network(seed, 70, begin=seed * 180.0)]
    found = large(spark, tmp_path / "records", [each for each in records if each["kind"] != "interest"])
    assert {phase for _, phase in oracle.latencies(records, WIDTH)} == {"before", "during", "untouched"}
    for name in ("traffic_classes", "topic_popularity", "link_load", "broker_load", "latency"):
        oracle.assert_table(name, found[name], records)


def test_sets_of_more_than_64_brokers_and_of_unknown_brokers(spark: "SparkSession", tmp_path: Path) -> None:
    from regraft.measure.counting.classes import stored_publications
    from regraft.measure.counting.pieces import Stored, pieces_in
    from regraft.measure.members import Brokers
    from regraft.measure.transforms.publications import publications

    names = [f"b{number:03}" for number in range(150)]
    chance = random.Random(3)
    records = [publication(chance.choice(names), "p", seq, 1.0) for seq in range(20)]
    for seq in range(25):
        reached = chance.sample(names, 30)
        records += [delivery(name, "p", seq, "s", 2.0, 1000 + place) for place, name in enumerate(reached)]
    table = stored(spark, tmp_path / "records", [*records, delivery("stranger", "p", 77, "s", 2.0, 10)])
    brokers = Brokers.of(names)
    assert len(brokers.columns) == 3
    ours = stored_publications(Stored(spark, pieces_in([tmp_path / "records"]), (BEGIN,)), brokers)
    expected = publications(table, brokers)
    assert rows(ours, *expected.columns) == rows(expected)


def test_more_touched_publications_than_a_worker_can_hold_are_left_to_spark(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure import sums

    traffic = [each for each in network(9, 30) if each["kind"] != "interest"]
    few = large(spark, tmp_path / "few", traffic)
    monkeypatch.setattr(sums, "MOST_TOUCHED", 0)
    assert large(spark, tmp_path / "many", traffic) == few


def test_few_interest_records_are_read_without_spark_and_many_are_not(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure.counting import interests
    from regraft.measure.counting.pieces import pieces_in

    table = stored(spark, tmp_path / "records", network(4, 30)).where("kind = 'interest'")
    pieces = pieces_in([tmp_path / "records"])
    few = interests.stored_interests(spark, pieces)
    assert few is not None
    assert few.schema == interests.INTERESTS
    assert rows(few) == rows(table, *few.columns)
    assert table.count() > 0
    assert interests.stored_interests(spark, ()) is None
    monkeypatch.setattr(interests, "FEW", table.count() - 1)
    assert interests.stored_interests(spark, pieces) is None


def test_row_groups_without_the_kind_or_the_window_are_not_read(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from regraft.measure.counting.pieces import pieces_in

    hops = [hop("b0", "p", n, "b1", n, by="t" if n < 2 else None) for n in range(90)]
    stored(spark, tmp_path / "hops", hops)
    pieces = pieces_in([tmp_path / "hops"])
    assert sum(piece.rows for piece in pieces) == 90
    assert sum(piece.under for piece in pieces) == 2
    assert not any(piece.may_hold(["delivery"], [BEGIN]) for piece in pieces)
    held = [piece.may_hold(["delivery", "hop"], [BEGIN + WIDTH]) for piece in pieces]
    assert any(held)
    assert not all(held)


def test_windows_go_to_one_task_each_unless_too_much_would_be_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from typing import cast

    from regraft.measure.counting import classes
    from regraft.measure.counting.pieces import Piece, Stored

    def stored_in(*bounds: tuple[int, int]) -> Stored:
        pieces = [Piece("f", n, 100, ("delivery", "hop"), each, 0) for n, each in enumerate(bounds)]
        return Stored(cast("SparkSession", None), tuple(pieces), (0, 1, 2, 3, 4, 5))

    monkeypatch.setattr(classes, "TOGETHER", 200)
    in_order = stored_in((0, 0), (1, 1), (1, 2), (3, 3), (4, 4))
    tasks = classes.by_windows(in_order)
    assert tasks is not None
    assert [task.windows for task in tasks] == [(0,), (1, 2), (3, 4, 5)]
    assert all(
        set(task.pieces) == {piece for piece in in_order.pieces if piece.may_hold(["delivery"], task.windows)}
        for task in tasks
    )
    assert classes.by_windows(stored_in((0, 5), (0, 5), (0, 5))) is None
    monkeypatch.setattr(classes, "MOST_TOGETHER", 150)
    assert classes.by_windows(stored_in((1, 1), (1, 1))) is None


def test_a_run_over_many_records_makes_the_same_tables(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regraft.measure import publish
    from regraft.measure.run import Job, run

    for number in range(3):
        mine = [each for each in network(5, 60) if each["broker"] in (f"b{number}", f"b{number + 3}")]
        spool(tmp_path / "spool", f"b{number}-1", mine)

    def tables(name: str) -> dict[str, list[tuple[Any, ...]]]:
        ran = run(Job(tmp_path / "spool", tmp_path / name, WIDTH, tables=LARGE), spark)
        return {table: rows(spark.read.parquet(str(ran.snapshot.table(table)))) for table in sorted(LARGE)}

    few = tables("few")
    monkeypatch.setattr(publish, "MANY", 1)
    assert tables("many") == few
    assert all(few.values())
