"""Windows as the loop gets them from tables on the disk."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.model.measured_tables import write_tables

from regraft.estate.regraft.tables import read_traffic, read_window, read_windows
from regraft.model.snapshot import Snapshot, read_snapshot

CLASSES = [{"members": ["a", "b"], "demand": 200}, {"members": ["b", "c"], "demand": 50}]
MINUTE = 60_000_000


def written(folder: Path, rows: list[dict[str, Any]]) -> Snapshot:
    write_tables(folder, {"traffic_classes": rows})
    return read_snapshot(folder)


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


def test_many_windows_are_as_each_by_itself(tmp_path: Path) -> None:
    at = datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    interest: list[dict[str, Any]] = [
        {"broker": "a", "topic": "t", "since": None, "until": at},
        {"broker": "b", "topic": "t", "since": at, "until": None},
        {"broker": "c", "topic": None, "since": at, "until": None},
    ]
    latency = {"deliveries": 3, "p50": 1000.0, "p99": 2000.0, "p999": 3000.0}
    write_tables(
        tmp_path,
        {
            "traffic_classes": [row | {"window": MINUTE * place} for place, row in enumerate(CLASSES)],
            "topic_popularity": [{"window": MINUTE, "publications": 7, "deliveries": 3}],
            "latency": [latency | {"window": MINUTE}],
            "interest": interest,
        },
    )
    snapshot, spans = read_snapshot(tmp_path), [(60.0 * place, 60.0 * (place + 1)) for place in range(3)]
    windows = list(read_windows(snapshot, spans))
    assert windows == [read_window(snapshot, *span) for span in spans]
    first, second, third = windows
    assert dict(first.workload.traffic) == {frozenset("ab"): 200.0}
    assert dict(second.workload.traffic) == {frozenset("bc"): 50.0}
    assert (second.publications, second.deliveries, second.p99_ms) == (7, 3, 2.0)
    assert third.publications == 0
    assert first.workload.interest == second.workload.interest == {"t": frozenset("b")}
    assert read_traffic(snapshot, [0.0, 120.0]) == {0.0: first.workload.traffic, 120.0: ()}
