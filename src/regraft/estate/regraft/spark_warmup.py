"""Measures made-up records, so that Java loads and compiles what a real measurement needs."""

import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WIDTH = 1_000_000
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
ROUNDS = 2
"""The second round adds to existing tables, as every later measurement does."""


def warm_up(session: "SparkSession", tables: frozenset[str]) -> None:
    from regraft.measure.run import Job, run  # noqa: PLC0415 — loads pyspark

    with tempfile.TemporaryDirectory(prefix="regraft-warmup-") as folder:
        source, out = Path(folder, "spool"), Path(folder, "tables")
        source.mkdir()
        for round in range(ROUNDS):
            lines = "".join(json.dumps(record) + "\n" for record in records(round))
            (source / f"b0-{round}.ndjson").write_text(lines, encoding="utf-8")
            run(Job(source, out, WIDTH, tables=tables), session)


def records(second: int) -> list[dict[str, Any]]:
    """A publication from b0 to b1, with every kind of record that brokers write about it."""
    at = BEGUN + timedelta(seconds=second)
    sent = {"publisher": "p#1", "seq": second + 1}
    held = {"role": "subscriber", "filter": "topic = 't'", "change": "added"}
    told: list[dict[str, Any]] = [
        {"kind": "interest", "broker": "b1", "client": "s", **held},
        {
            "kind": "publication",
            "broker": "b0",
            **sent,
            "topic": "t",
            "numbers": {},
            "strings": {},
            "size": 1,
        },
        {"kind": "hop", "broker": "b0", **sent, "from": "b0", "to": "b1", "queue": 0, "transformation": None},
        {"kind": "delivery", "broker": "b1", **sent, "subscriber": "s", "latency": 900},
        {"kind": "health", "broker": "b0", "cpu": 0.1, "memory": 1, "queue": 0, "rates": {}, "links": {}},
    ]
    stamps = (at + timedelta(milliseconds=number) for number in range(len(told)))
    return [
        {"v": 1, "at": stamp.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), **record}
        for stamp, record in zip(stamps, told, strict=True)
    ]
