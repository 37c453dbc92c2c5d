"""The benchmark of the pipeline notices tables that differ, and what a process and its children take."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks._measure_child import cpu_seconds, family
from tests.model.measured_tables import write_tables

WINDOW = datetime(2026, 1, 1, tzinfo=UTC)
TABLES: dict[str, list[dict[str, Any]]] = {
    "traffic_classes": [{"window": WINDOW, "members": ["a", "b"], "demand": 3}],
    "link_load": [{"window": WINDOW, "from": "a", "to": "b", "messages": 3, "transformed": 0}],
    "broker_load": [
        {"window": WINDOW, "broker": "a", "publications": 3, "bytes": 9, "hops_in": 0, "hops_out": 3}
        | {"deliveries": 0, "cpu": None, "memory": None, "queue": 5, "not_recorded": None}
    ],
    "latency": [
        {"window": WINDOW, "phase": "untouched", "deliveries": 3, "largest": 2000}
        | {"p50": 1000.0, "p99": 2000.0, "p999": 2000.0, "mean": 1200.0}
    ],
    "interest": [
        {"broker": "a", "client": "s", "role": "subscriber", "filter": "TRUE"}
        | {"topic": "", "since": WINDOW}
    ],
}


def written(folder: Path, tables: dict[str, list[dict[str, Any]]]) -> Path:
    """Tables of the other side."""
    folder.mkdir()
    for name, rows in tables.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    return folder


def measured(folder: Path, tables: dict[str, list[dict[str, Any]]]) -> Path:
    """Tables of ours."""
    micros = round(WINDOW.timestamp() * 1e6)
    write_tables(folder, {name: [row | {"window": micros} for row in rows] for name, rows in tables.items()})
    return folder


def test_only_what_differs_is_counted(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    from benchmarks._measure_equal import differences

    theirs = written(tmp_path / "theirs", TABLES)
    assert not any(differences(measured(tmp_path / "same", TABLES), theirs).values())
    latency = TABLES["latency"][0]
    changed = {
        **TABLES,
        "traffic_classes": [{"window": WINDOW, "members": ["a", "c"], "demand": 3}],
        "link_load": [TABLES["link_load"][0] | {"messages": 4}],
        "latency": [latency | {"p50": 1004.0, "p99": 2050.0}],
    }
    found = differences(measured(tmp_path / "other", changed), theirs)
    assert found == {"traffic_classes": 2, "link_load": 1, "broker_load": 0, "latency": 1, "interest": 0}
    within = {**TABLES, "latency": [latency | {"p50": 1004.0}]}
    assert differences(measured(tmp_path / "within", within), theirs)["latency"] == 0


def test_children_and_what_they_use_are_counted() -> None:
    busy = "import time\nuntil = time.process_time() + 0.3\nwhile time.process_time() < until: pass\ninput()"
    before = cpu_seconds(os.getpid())
    with subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE) as child:
        assert child.pid in family(os.getpid())
        child.communicate(b"\n")
    assert cpu_seconds(os.getpid()) - before >= 0.27  # of 0.3: the system counts in hundredths
