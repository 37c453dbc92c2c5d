"""Reads the tables of a snapshot back as measured windows, which the loop judges and designs by."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from regraft.costs import round_trips
from regraft.estate.windows import MeasuredWindow
from regraft.model.traffic import Traffic, TrafficClass, merged
from regraft.model.workload import Interest, Workload, added

if TYPE_CHECKING:
    from regraft.model.snapshot import Snapshot

TREE_TABLES = frozenset({"traffic_classes", "topic_popularity", "latency", "broker_load", "link_costs"})
"""The tables that the loop needs for a tree; `regraft measure` makes others for people."""
TABLES = TREE_TABLES | {"interest"}
"""The tables that the loop needs for a mesh."""
AT_ONCE = 100
"""How many windows of the past are read together."""
_COLUMNS = {
    "traffic_classes": ("members", "demand", "error"),
    "topic_popularity": ("publications", "deliveries"),
    "latency": ("deliveries", "p50", "p99", "p999"),
    "broker_load": ("broker", "rate", "cpu", "memory", "queue"),
    "link_costs": ("from", "to", "round_trip"),
}
Rows: TypeAlias = list[dict[str, Any]]


def read_window(snapshot: "Snapshot", start: float, end: float) -> MeasuredWindow:
    """The window of a snapshot; one without traffic is empty, not missing."""
    (window,) = read_windows(snapshot, [(start, end)])
    return window


def read_windows(snapshot: "Snapshot", windows: Iterable[tuple[float, float]]) -> Iterator[MeasuredWindow]:
    """The same for many windows, given by start and end."""
    interest = snapshot.rows("interest", ("broker", "topic", "since", "until"))
    waiting = list(windows)
    for first in range(0, len(waiting), AT_ONCE):
        some = waiting[first : first + AT_ONCE]
        tables = {
            name: snapshot.by_window(name, columns, [start for start, _ in some])
            for name, columns in _COLUMNS.items()
        }
        for start, end in some:
            yield _window(start, end, {name: rows[start] for name, rows in tables.items()}, interest)


def _window(start: float, end: float, tables: Mapping[str, Rows], interest: Rows) -> MeasuredWindow:
    traffic, topics, load = tables["traffic_classes"], tables["topic_popularity"], tables["broker_load"]
    variances = added((frozenset(row["members"] or ()), (row.get("error") or 0.0) ** 2) for row in traffic)
    latency = tables["latency"]
    queues = [row["queue"] for row in load if row["queue"] is not None]
    return MeasuredWindow(
        start,
        end,
        Workload(_classes(traffic), _interest(interest, end), variances),
        sum(row["publications"] or 0 for row in topics),
        sum(row["deliveries"] or 0 for row in topics),
        len(topics),
        _worst(latency, "p50"),
        _worst(latency, "p99"),
        _worst(latency, "p999"),
        max(queues, default=None),
        {row["broker"]: {name: row[name] for name in ("rate", "cpu", "memory")} for row in load},
        round_trips(tables["link_costs"]),
    )


def read_traffic(snapshot: "Snapshot", starts: Collection[float]) -> dict[float, Traffic]:
    """The traffic classes of these windows, by their starts."""
    found = snapshot.by_window("traffic_classes", ("members", "demand"), starts)
    return {start: _classes(rows) for start, rows in found.items()}


def _classes(rows: Rows) -> Traffic:
    return merged(
        TrafficClass(frozenset(row["members"]), float(row["demand"])) for row in rows if row["members"]
    )


def _interest(rows: Rows, end: float) -> Interest:
    """Topic → brokers with a client that subscribes to it or publishes on it, at the end of the window.

    A row is in the window in which its interest began, so `rows` are those of all windows."""
    at = datetime.fromtimestamp(end, UTC)
    found: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        begun = row["since"] is None or _utc(row["since"]) <= at
        lasts = row["until"] is None or _utc(row["until"]) > at
        if row["topic"] is not None and begun and lasts:
            found[row["topic"]].add(row["broker"])
    return {topic: frozenset(brokers) for topic, brokers in sorted(found.items())}


def _utc(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _worst(rows: Rows, name: str) -> float | None:
    """The highest value of all phases of a window with deliveries, in milliseconds."""
    found = [row[name] for row in rows if row[name] is not None and row["deliveries"]]
    return max(found) / 1000 if found else None
