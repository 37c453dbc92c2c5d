"""Windows as the loop gets them from tables on the disk."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regraft.estate.regraft.tables import read_window
from regraft.measure.windows import folder_name
from regraft.model.snapshot import Counts, Snapshot

CLASSES = [{"members": ["a", "b"], "demand": 200}, {"members": ["b", "c"], "demand": 50}]


def written(folder: Path, rows: list[dict[str, Any]]) -> Snapshot:
    snapshot = Snapshot(folder, 1, (), Counts(), {})
    place = snapshot.table("traffic_classes") / folder_name(0)
    place.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), place / "part.parquet")
    return snapshot


def test_a_window_knows_how_far_off_the_demands_of_its_classes_may_be(tmp_path: Path) -> None:
    errors = (60.0, 30.0)
    rows = [row | {"error": error} for row, error in zip(CLASSES, errors, strict=True)]
    window = read_window(written(tmp_path, rows), 0.0, 60.0)
    assert window.workload.variances == {frozenset("ab"): 3600.0, frozenset("bc"): 900.0}
    assert window.one_in == pytest.approx(19), "(19 - 1) times 250 is 4,500"


def test_tables_that_say_nothing_of_errors_and_exact_ones_have_none(tmp_path: Path) -> None:
    old = read_window(written(tmp_path / "old", CLASSES), 0.0, 60.0)
    exact = read_window(written(tmp_path / "exact", [row | {"error": 0.0} for row in CLASSES]), 0.0, 60.0)
    assert old == exact
    assert dict(old.workload.traffic) == {frozenset("ab"): 200.0, frozenset("bc"): 50.0}
    assert old.workload.variances == {}
    assert old.one_in == 1
