"""A snapshot is what the last commit says, whatever has been written since."""

from pathlib import Path

import pytest
from tests.model.measured_tables import add_rows, write_state, write_tables

from regraft.model import BadInput
from regraft.model.interest_files import read_interest
from regraft.model.snapshot import Counts, read_snapshot
from regraft.model.traffic import TrafficClass
from regraft.model.traffic_files import read_traffic

MINUTE = 60_000_000
CLASSES = [
    {"window": 0, "members": ["a", "b"], "demand": 5},
    {"window": MINUTE, "members": ["b", "c"], "demand": 2},
]


def test_windows_and_rows_are_those_of_the_commit(tmp_path: Path) -> None:
    write_tables(tmp_path, {"traffic_classes": CLASSES})
    snapshot = read_snapshot(tmp_path)
    add_rows(tmp_path, "traffic_classes", [{"window": 0, "members": ["x", "y"], "demand": 1}])
    for found in (snapshot, read_snapshot(tmp_path)):
        assert (found.version, found.counts) == (1, Counts())
        assert found.windows == ("1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z")
        assert [row["demand"] for row in found.rows("traffic_classes", ["demand"], 0.0)] == [5]
        assert sorted(row["demand"] for row in found.rows("traffic_classes")) == [2, 5]
        assert found.by_window("traffic_classes", ["demand"], [60.0, 120.0]) == {
            60.0: [{"demand": 2}],
            120.0: [],
        }
        assert found.rows("latency") == []
        assert found.read("latency") is None
        assert found.by_window("latency", ["p50"], [0.0]) == {0.0: []}
    write_tables(tmp_path, {"traffic_classes": [{"window": 2 * MINUTE, "members": ["c"], "demand": 1}]}, 2)
    assert read_snapshot(tmp_path).version == 2
    assert len(snapshot.rows("traffic_classes")) == 2, "an older snapshot is as it was"


def test_a_place_without_a_snapshot_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no tables of `regraft measure`"):
        read_snapshot(tmp_path / "none")
    add_rows(tmp_path, "_state", [{"manifest": "null"}])
    with pytest.raises(BadInput, match="has no snapshot of `regraft measure` yet"):
        read_snapshot(tmp_path)


def test_traffic_and_interest_are_read_from_where_tables_are_or_from_one_of_them(tmp_path: Path) -> None:
    interest = [{"broker": broker, "topic": "t"} for broker in "ab"]
    write_tables(tmp_path / "out", {"traffic_classes": CLASSES, "interest": interest})
    for name in ("traffic_classes", "interest"):  # of a run that has not committed
        rows = (
            [{"members": ["x"], "demand": 1}]
            if name == "traffic_classes"
            else [{"broker": "x", "topic": "t"}]
        )
        add_rows(tmp_path / "out", name, rows)
    classes = {TrafficClass(frozenset("ab"), 5.0), TrafficClass(frozenset("bc"), 2.0)}
    for place in (tmp_path / "out", str(tmp_path / "out" / "traffic_classes")):
        assert set(read_traffic(place)) == classes
    for place in (tmp_path / "out", f"{tmp_path}/out/interest/"):
        assert read_interest(place) == {"t": {"a", "b"}}
    write_tables(tmp_path / "other", {"interest": interest})
    with pytest.raises(BadInput, match="has no rows of 'traffic_classes'"):
        read_traffic(tmp_path / "other")


def test_tables_in_a_bucket_are_read_by_their_address(bucket: str) -> None:
    add_rows(f"{bucket}/out", "traffic_classes", CLASSES)
    with pytest.raises(BadInput, match="has no tables"):
        read_snapshot(f"{bucket}/out")
    assert len(read_traffic(f"{bucket}/out/traffic_classes")) == 2, "any Delta table will do"
    write_state(f"{bucket}/out", {"traffic_classes": 0})
    add_rows(f"{bucket}/out", "traffic_classes", CLASSES)
    assert len(read_snapshot(f"{bucket}/out").rows("traffic_classes")) == 2
    assert len(read_traffic(f"{bucket}/out/traffic_classes")) == 2
    assert len(read_traffic(f"{bucket}/out")) == 2
