"""Telemetry for tests: records as dictionaries, a random network's worth of them, and tables as rows."""

import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from regraft.model.store import open_store
from regraft.protocol.telemetry import AnyRecord
from regraft.segments.names import SegmentName, folder_of, hour_of
from regraft.segments.writing import segment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Record = dict[str, Any]
START = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
WIDTH = 60_000_000
LIFE = 1_767_000_000_000_000
"""When the brokers began, in microseconds."""


def at(seconds: float) -> datetime:
    return START + timedelta(microseconds=round(seconds * 1e6))


def publication(broker: str, publisher: str, seq: int, seconds: float, **more: Any) -> Record:
    plain: Record = {"topic": None, "numbers": {}, "strings": {}, "size": 100}
    return _record("publication", broker, seconds, publisher=publisher, seq=seq) | plain | more


def delivery(
    broker: str, publisher: str, seq: int, subscriber: str, seconds: float, latency: int = 0
) -> Record:
    more = {"publisher": publisher, "seq": seq, "subscriber": subscriber, "latency": latency}
    return _record("delivery", broker, seconds, **more)


def hop(
    broker: str, publisher: str, seq: int, to: str, seconds: float, queue: int = 0, by: str | None = None
) -> Record:
    more = {
        "publisher": publisher,
        "seq": seq,
        "from": broker,
        "to": to,
        "queue": queue,
        "transformation": by,
    }
    return _record("hop", broker, seconds, **more)


def count(broker: str, of: str, seconds: float, **more: Any) -> Record:
    plain: Record = {"of": of, "seq": 0, "since": at(seconds), "count": 3, "one_in": 2}
    return _record("count", broker, seconds) | plain | more


def interest(
    broker: str, client: str, filter: str, change: str, seconds: float, role: str = "subscriber"
) -> Record:
    return _record("interest", broker, seconds, client=client, role=role, filter=filter, change=change)


def health(broker: str, seconds: float, links: Iterable[str] = (), **more: Any) -> Record:
    plain = {"cpu": 0.5, "memory": 1000, "queue": 0, "rates": {}, "not_recorded": 0, "transformation": None}
    return _record("health", broker, seconds) | plain | {"links": dict.fromkeys(links, "up")} | more


def _record(kind: str, broker: str, seconds: float, **more: Any) -> Record:
    return {"v": 1, "at": at(seconds), "broker": broker, "kind": kind, **more}


def network(
    seed: int, publications: int, *, seconds: float = 150.0, brokers: int = 5, begin: float = 0.0
) -> list[Record]:
    """The records of a small tree under random traffic, in the order of time; transformation t1 runs in
    the second minute. No two records of a broker have the same time."""
    chance, ways = random.Random(seed), random.Random(f"{seed} ways")
    names = [f"b{number}" for number in range(brokers)]
    records: list[Record] = []
    for number, name in enumerate(names):
        near = [names[n] for n in range(brokers) if abs(n - number) == 1]
        for moment in range(0, int(seconds), 30):
            more: dict[str, Any] = {
                "cpu": moment / 100,
                "memory": 1000 + moment,
                "queue": chance.randrange(50),
            }
            more["transformation"] = "t1:1.1:1:1" if moment in (60, 90) else None
            more |= _ways(ways, [other for other in names if other != name])
            records.append(health(name, moment + 0.25, near, not_recorded=moment // 60, **more))
        filter = (
            f"topic = 't{number % 3}'" if number % 2 else f"topic = 't{number % 3}' AND x > {number * 10}"
        )
        records.append(interest(name, f"s{number}", filter, "added", chance.random()))
        if chance.random() < 0.5:
            records.append(interest(name, f"s{number}", filter, "removed", 65 + chance.random()))
    for seq in range(publications):
        records += _journey(chance, names, seq, chance.uniform(1, seconds - 5))
    used: set[tuple[str, datetime]] = set()
    for record in records:
        record["at"] += timedelta(seconds=begin)
        while (record["broker"], record["at"]) in used:
            record["at"] += timedelta(microseconds=1)
        used.add((record["broker"], record["at"]))
    return sorted(records, key=lambda record: (record["at"], record["broker"]))


def _ways(chance: random.Random, others: list[str]) -> Record:
    """What a broker has measured of the ways to others: older ones nothing, odd ones no numbers."""
    if chance.random() < 0.2:
        return {}
    trips = {each: float(chance.randrange(1, 90_000)) for each in others if chance.random() < 0.7}
    rates = {each: float(chance.randrange(1, 10**10)) for each in others if chance.random() < 0.5}
    if chance.random() < 0.3:
        trips |= {chance.choice(others): odd for odd in (math.nan, math.inf, -1.0)}
        rates |= {chance.choice(others): odd for odd in (math.nan, 0.0)}
    return {"round_trips": trips, "delivery_rates": rates}


def _journey(chance: random.Random, names: list[str], seq: int, seconds: float) -> list[Record]:
    """One publication along the chain of brokers."""
    publisher = f"p{chance.randrange(4)}"
    home = int(publisher[1:]) % len(names)
    more: dict[str, Any] = {
        "topic": chance.choice(["t0", "t1", "t2", None]),
        "numbers": {"x": chance.uniform(0, 100), "y": float(chance.randrange(5))},
        "strings": {"place": chance.choice(["hall", "roof", "yard"])},
        "size": chance.randrange(10, 500),
    }
    if more["topic"] is not None:
        more["strings"]["topic"] = more["topic"]
    found = [publication(names[home], publisher, seq, seconds, **more)]
    reached = sorted(chance.sample(range(len(names)), chance.randrange(len(names))))
    for target in reached:
        latency = chance.randrange(100, 2_000_000)
        found.append(delivery(names[target], publisher, seq, f"s{target}", seconds + latency / 1e6, latency))
    step, moment = (1, seconds) if reached and reached[-1] > home else (-1, seconds)
    for place in range(home, (reached or [home])[-1], step):
        moment += 0.001
        by = f"t1:1.{chance.randrange(1, 3)}:1:1" if 70 < moment < 90 and chance.random() < 0.7 else None
        hop_to = names[place + step]
        found.append(hop(names[place], publisher, seq, hop_to, moment, chance.randrange(1000), by))
    return found


def parquet(folder: Path, name: str, records: Iterable[Record]) -> Path:
    """A loose file of records, as other programs write them. A field that has a value of another type in one
    of them is text in all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from regraft.segments.schema import RECORDS

    listed = list(records)
    columns: dict[str, pa.Array] = {}
    for field in {key: None for record in listed for key in record}:
        cells = [record.get(field) for record in listed]
        known = RECORDS.get_field_index(field)
        try:
            columns[field] = pa.array(cells, RECORDS.field(known).type if known >= 0 else None)
        except (pa.ArrowException, TypeError, ValueError):
            columns[field] = pa.array([_text(cell) for cell in cells], pa.string())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def _text(cell: Any) -> str | None:
    if isinstance(cell, datetime):
        return cell.strftime("%Y-%m-%d %H:%M:%S.%fZ")
    return cell if cell is None or isinstance(cell, str) else json.dumps(cell)


class Brokers:
    """Brokers that put segments into a store, as ours do."""

    def __init__(self, place: str | Path) -> None:
        self.store = open_store(place)
        self._numbers = Counter[str]()

    def put(self, records: Iterable[Record]) -> list[str]:
        """A segment of each broker; their names."""
        by_broker = defaultdict[str, list[Record]](list)
        for record in records:
            by_broker[record["broker"]].append(record)
        names = []
        for broker, own in by_broker.items():
            self._numbers[broker] += 1
            told = [msgspec.convert(_told(record), AnyRecord) for record in own]
            name = SegmentName(
                folder_of(broker), hour_of(max(each.at for each in told)), LIFE, self._numbers[broker]
            )
            self.store.put(name.path, segment(broker, told))
            names.append(name.path)
        return names

    def put_all(self, records: Iterable[Record], seconds: float = 10.0) -> None:
        """Segments of so many seconds, in the order of time."""
        ordered = sorted(records, key=lambda record: record["at"])
        for _, some in groupby(ordered, lambda record: (record["at"] - START) // timedelta(seconds=seconds)):
            self.put(some)


def _told(record: Record) -> Record:
    micros = (record["at"] - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    measured: Record = {"round_trips": {}, "delivery_rates": {}} if record["kind"] == "health" else {}
    return measured | record | {"at": micros}


def clean(spark: "SparkSession", records: Iterable[Record], width: int = WIDTH) -> "DataFrame":
    """Records as the transforms get them."""
    from regraft.measure.schemas import CLEAN, RECORDS
    from regraft.measure.windows import counts_at, window_of

    names = RECORDS.fieldNames()
    rows = [tuple(record.get(name) for name in names) for record in records]
    table = spark.createDataFrame(rows, RECORDS)
    return table.withColumn("window", window_of(counts_at(), width)).select(*CLEAN.fieldNames())


def rows(table: "DataFrame", *columns: str) -> list[tuple[Any, ...]]:
    """The table's rows in order; times in microseconds since START."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import TimestampType

    wanted = list(columns) or table.columns
    start = round(START.timestamp() * 1e6)
    times = {field.name for field in table.schema.fields if isinstance(field.dataType, TimestampType)}
    cells = [f.unix_micros(name) - start if name in times else f.col(f"`{name}`") for name in wanted]
    return sorted((tuple(map(_plain, row)) for row in table.select(*cells).collect()), key=repr)


def _plain(cell: Any) -> Any:
    return tuple(cell) if isinstance(cell, list) else cell
