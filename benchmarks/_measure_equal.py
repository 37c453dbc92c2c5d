"""Are the tables of both sides equal? Exactly, but for quantiles, which may be off by the stated error."""

from pathlib import Path
from typing import Any

import duckdb

from regraft.model.snapshot import read_snapshot
from regraft.protocol.latency_buckets import ERROR

KEYS = {
    "traffic_classes": ("window", "members"),
    "link_load": ("window", "from", "to"),
    "broker_load": ("window", "broker"),
    "latency": ("window", "phase"),
    "interest": ("broker", "client", "role", "filter"),
}
EXACT = {
    "traffic_classes": ("demand",),
    "link_load": ("messages", "transformed"),
    "broker_load": (
        *("publications", "bytes", "hops_in", "hops_out", "deliveries"),
        *("cpu", "memory", "queue", "not_recorded"),
    ),
    "latency": ("deliveries", "largest"),
    "interest": ("topic", "since"),
}
QUANTILES = ("p50", "p99", "p999")


def differences(spark: Path, peer: Path) -> dict[str, int]:
    """How many rows of each table differ, or are on one side only."""
    database, snapshot = duckdb.connect(), read_snapshot(spark)
    database.execute("SET TimeZone = 'UTC'")
    found = {}
    for table, keys in KEYS.items():
        database.register("ours", snapshot.read(table))
        theirs = f"'{peer / table}.parquet'"
        joined = " AND ".join(f'a."{key}" IS NOT DISTINCT FROM b."{key}"' for key in keys)
        (row,) = database.execute(
            f"SELECT count(*) FROM (SELECT 1 AS one, * FROM ours) a"
            f" FULL JOIN (SELECT 1 AS one, * FROM {theirs}) b ON {joined}"
            f" WHERE a.one IS NULL OR b.one IS NULL OR {_differs(table)}"
        ).fetchall()
        found[table] = int(row[0])
    return found


def rows(peer: Path) -> dict[str, Any]:
    count = "SELECT count(*) FROM '{}'"
    return {table: duckdb.execute(count.format(peer / f"{table}.parquet")).fetchall()[0][0] for table in KEYS}


def _differs(table: str) -> str:
    # A topic that no filter pins is null on one side and empty on the other.
    exact = [f"coalesce(a.{name}::VARCHAR, '') <> coalesce(b.{name}::VARCHAR, '')" for name in EXACT[table]]
    if table == "latency":
        exact += [f"abs(a.{name} - b.{name}) > {ERROR} * b.{name} + 1" for name in QUANTILES]
        exact.append("abs(a.mean - b.mean) > 1e-9 * b.mean")
    return " OR ".join(exact)
