"""Reads the tables of a snapshot back as measured windows, which the loop judges and designs by."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regraft.costs import round_trips
from regraft.estate.windows import MeasuredWindow
from regraft.model.traffic import TrafficClass, merged
from regraft.model.workload import Interest, Workload, added

if TYPE_CHECKING:
    from regraft.model.snapshot import Snapshot

TREE_TABLES = frozenset({"traffic_classes", "topic_popularity", "latency", "broker_load", "link_costs"})
"""The tables that the loop needs for a tree; `regraft measure` makes others for people."""
TABLES = TREE_TABLES | {"interest"}
"""The tables that the loop needs for a mesh."""


def read_window(snapshot: "Snapshot", start: float, end: float) -> MeasuredWindow:
    """The window of a snapshot; one without traffic is empty, not missing."""
    traffic = read_rows(snapshot, "traffic_classes", start, ("members", "demand", "error"))
    topics = read_rows(snapshot, "topic_popularity", start, ("publications", "deliveries"))
    latency = read_rows(snapshot, "latency", start, ("deliveries", "p50", "p99", "p999"))
    load = read_rows(snapshot, "broker_load", start, ("broker", "rate", "cpu", "memory", "queue"))
    links = read_rows(snapshot, "link_costs", start, ("from", "to", "round_trip"))
    classes = merged(
        TrafficClass(frozenset(row["members"]), float(row["demand"])) for row in traffic if row["members"]
    )
    variances = added((frozenset(row["members"] or ()), (row.get("error") or 0.0) ** 2) for row in traffic)
    queues = [row["queue"] for row in load if row["queue"] is not None]
    return MeasuredWindow(
        start,
        end,
        Workload(classes, _interest(snapshot, start, end), variances),
        sum(row["publications"] or 0 for row in topics),
        sum(row["deliveries"] or 0 for row in topics),
        len(topics),
        _worst(latency, "p50"),
        _worst(latency, "p99"),
        _worst(latency, "p999"),
        max(queues, default=None),
        {row["broker"]: {name: row[name] for name in ("rate", "cpu", "memory")} for row in load},
        round_trips(links),
    )


def read_rows(snapshot: "Snapshot", table: str, start: float, columns: Iterable[str]) -> list[dict[str, Any]]:
    """The rows of one window, which has its own folder of Parquet files."""
    from regraft.measure.windows import folder_name  # noqa: PLC0415 — loads pyspark

    return _read(snapshot.table(table) / folder_name(round(start * 1e6)), columns)


def _read(folder: Path, columns: Iterable[str]) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq  # noqa: PLC0415

    if not folder.is_dir():
        return []
    # Read file by file: from the folder, pyarrow would make a column of its name and fail to parse the time.
    files = sorted(file for file in folder.iterdir() if file.suffix == ".parquet")
    rows: list[dict[str, Any]] = []
    for file in files:
        with file.open("rb") as content:
            # Unlike `read_table`, it leaves columns out that tables of older versions lack.
            rows += pq.ParquetFile(content).read(columns=list(columns)).to_pylist()
    return rows


def _interest(snapshot: "Snapshot", start: float, end: float) -> Interest:
    """Topic → brokers with a client that subscribes to it or publishes on it, at the end of the window."""
    at = datetime.fromtimestamp(end, UTC)
    found: defaultdict[str, set[str]] = defaultdict(set)
    table = snapshot.table("interest")
    for folder in sorted(table.glob("window=*")) if table.is_dir() else []:
        for row in _read(folder, ("broker", "topic", "since", "until")):
            begun = row["since"] is None or _utc(row["since"]) <= at
            lasts = row["until"] is None or _utc(row["until"]) > at
            if row["topic"] is not None and begun and lasts:
                found[row["topic"]].add(row["broker"])
    return {topic: frozenset(brokers) for topic, brokers in sorted(found.items())}


def _utc(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _worst(rows: list[dict[str, Any]], name: str) -> float | None:
    """The highest value of all phases of a window with deliveries, in milliseconds."""
    found = [row[name] for row in rows if row[name] is not None and row["deliveries"]]
    return max(found) / 1000 if found else None
