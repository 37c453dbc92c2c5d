"""Measures made-up records, so that Java loads and compiles what a real measurement needs."""

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from regraft.model.store import open_store
from regraft.protocol.telemetry import Delivery, Health, Hop, Interest, Publication, Record
from regraft.segments.names import SegmentName, hour_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WIDTH = 1_000_000
BEGUN = 1_767_225_600_000_000
"""2026-01-01, in microseconds."""
ROUNDS = 2
"""The second round adds to existing tables, as every later measurement does."""


def warm_up(session: "SparkSession", tables: frozenset[str]) -> None:
    from regraft.measure.run import Job, run  # noqa: PLC0415 — loads pyspark
    from regraft.segments.writing import segment  # noqa: PLC0415 — loads Arrow

    with tempfile.TemporaryDirectory(prefix="regraft-warmup-") as folder:
        store, out = open_store(Path(folder, "telemetry")), Path(folder, "tables")
        for round in range(ROUNDS):
            at, by_broker = BEGUN + round * WIDTH, defaultdict[str, list[Record]](list)
            for record in records(at, round + 1):
                by_broker[record.broker].append(record)
            for broker, own in by_broker.items():
                store.put(SegmentName(broker, hour_of(at), BEGUN, round).path, segment(broker, own))
            run(Job(store.place, out, WIDTH, tables=tables), session)


def records(at: int, seq: int) -> list[Record]:
    """A publication from b0 to b1, with every kind of record that brokers write about it."""
    return [
        Interest(at=at, broker="b1", client="s", role="subscriber", filter="topic = 't'", change="added"),
        Publication(
            at=at + 1, broker="b0", publisher="p#1", seq=seq, topic="t", numbers={}, strings={}, size=1
        ),
        Hop(at=at + 2, broker="b0", publisher="p#1", seq=seq, from_="b0", to="b1", queue=0),
        Delivery(at=at + 1000, broker="b1", publisher="p#1", seq=seq, subscriber="s", latency=900),
        *(_health(at + 2000, broker) for broker in ("b0", "b1")),
    ]


def _health(at: int, broker: str) -> Record:
    return Health(
        at=at,
        broker=broker,
        cpu=0.1,
        memory=1,
        queue=0,
        rates={},
        links={},
        round_trips={},
        delivery_rates={},
        not_recorded=0,
    )
