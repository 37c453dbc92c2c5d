"""Measured windows as workloads: the tables of a snapshot, read back for those who evaluate and design."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regraft.model import Topology
from regraft.model.traffic import Traffic, TrafficClass, merged
from regraft.model.workload import Interest, Workload

if TYPE_CHECKING:
    from regraft.model.snapshot import Snapshot

TREE_TABLES = frozenset({"traffic_classes", "topic_popularity", "latency", "broker_load"})
"""That the loop decides on; the others are for people, and `regraft measure` makes them."""
TABLES = TREE_TABLES | {"interest"}
"""Of a mesh."""


@dataclass(frozen=True)
class Measured:
    """What the tables say of one window. Latencies in milliseconds."""

    start: float
    end: float
    workload: Workload
    publications: int
    deliveries: int
    topics: int
    p50_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    queue: int | None
    brokers: dict[str, dict[str, float | None]]
    """Of each broker: rate, cpu, memory."""

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def id(self) -> str:
        return name_of(self.start)


def nothing(start: float, end: float) -> Measured:
    """A window in which nobody published."""
    return Measured(start, end, Workload(), 0, 0, 0, None, None, None, None, {})


def name_of(start: float) -> str:
    """A window by its start, as the manifest names it."""
    at = datetime.fromtimestamp(start, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{at.microsecond:06}" if at.microsecond else "") + "Z"


def read_window(snapshot: "Snapshot", start: float, end: float) -> Measured:
    """The window of a snapshot; one without traffic is empty, not missing."""
    traffic = read_rows(snapshot, "traffic_classes", start, ("members", "demand"))
    topics = read_rows(snapshot, "topic_popularity", start, ("publications", "deliveries"))
    latency = read_rows(snapshot, "latency", start, ("deliveries", "p50", "p99", "p999"))
    load = read_rows(snapshot, "broker_load", start, ("broker", "rate", "cpu", "memory", "queue"))
    classes = merged(
        TrafficClass(frozenset(row["members"]), float(row["demand"])) for row in traffic if row["members"]
    )
    queues = [row["queue"] for row in load if row["queue"] is not None]
    return Measured(
        start,
        end,
        Workload(classes, _interest(snapshot, start, end)),
        sum(row["publications"] or 0 for row in topics),
        sum(row["deliveries"] or 0 for row in topics),
        len(topics),
        _worst(latency, "p50"),
        _worst(latency, "p99"),
        _worst(latency, "p999"),
        max(queues, default=None),
        {row["broker"]: {name: row[name] for name in ("rate", "cpu", "memory")} for row in load},
    )


def read_rows(snapshot: "Snapshot", table: str, start: float, columns: Iterable[str]) -> list[dict[str, Any]]:
    """Of one window: Parquet, in a folder of its own."""
    from regraft.measure.windows import folder_name  # noqa: PLC0415 — loads pyspark

    return _read(snapshot.table(table) / folder_name(round(start * 1e6)), columns)


def _read(folder: Path, columns: Iterable[str]) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq  # noqa: PLC0415

    if not folder.is_dir():
        return []
    # The name of the folder is not to become a column: its colons are no time to pyarrow.
    files = sorted(file for file in folder.iterdir() if file.suffix == ".parquet")
    rows: list[dict[str, Any]] = []
    for file in files:
        with file.open("rb") as content:
            rows += pq.read_table(content, columns=list(columns)).to_pylist()
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
    """Of the phases of a window, weighed by their deliveries where that is a mean; the highest is safe."""
    found = [row[name] for row in rows if row[name] is not None and row["deliveries"]]
    return max(found) / 1000 if found else None


def fitting(workload: Workload, topology: Topology) -> Workload:
    """What concerns the brokers of the topology: others may have left since."""
    known = frozenset(topology.ids)
    if all(members <= known for members, _ in workload.traffic) and all(
        brokers <= known for brokers in workload.interest.values()
    ):
        return workload
    traffic = (TrafficClass(members & known, demand) for members, demand in workload.traffic)
    interest = {topic: brokers & known for topic, brokers in workload.interest.items()}
    return Workload(
        merged(each for each in traffic if each.members), {t: b for t, b in interest.items() if b}
    )


def together(windows: Iterable[Measured]) -> Workload:
    """The traffic of several windows, and the interest at the end of the last."""
    each = tuple(windows)
    traffic: Traffic = merged(item for one in each for item in one.workload.traffic)
    return Workload(traffic, each[-1].workload.interest if each else {})
