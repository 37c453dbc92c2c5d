"""Lines that are read without Spark's reader of JSON are what that and the checks make of them."""

import json
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pytest

from regraft.measure.inputs import Span
from regraft.measure.record_fields import COLUMNS
from regraft.protocol.telemetry import Delivery, Health, Hop, Interest, Publication

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT = datetime(2026, 1, 5, 12, 0, 0, 120_000, tzinfo=UTC)
KINDS = 5
CASES = 2000
ODD: tuple[Any, ...] = (
    *(None, "", "x", 0, -1, 1.0, 1.5, -0.0, 1e300, 2**31, 2**53 + 1, 2**63, True, [], {}, {"a": 1}),
    *({"a": "b"}, {"a": None}, "2026-01-05", "2026-01-05T12:00:00", "2026-01-05T12:00:00+02:00"),
    *("2026-02-30T12:00:00Z", "2026-01-05T25:00:00Z", "1969-12-31T23:59:59Z", "2099-01-01T00:00:00Z"),
    *("2026-01-05T12:00:00.1234567Z", "2026-01-05 12:00:00Z", 1767614400000000, "1767614400000000"),
    *("é\u0000\ud7ff", "hop", "delivery", "publication", "publisher", "added"),
)
SINCE_LATER = ("round_trips", "delivery_rates")
FIELDS = (*(field.name for field in COLUMNS), "of_the_future")


def good(number: int) -> bytes:
    """A line as a broker writes it; some health is of a broker that did not measure round trips yet."""
    same: dict[str, Any] = {"at": AT, "broker": "b1"}
    sampled = {"one_in": 100} if number % 3 else {}
    sent: dict[str, Any] = same | {"publisher": "p", "seq": number} | sampled
    well: dict[str, Any] = {"cpu": 0.1, "memory": 5, "queue": 0, "rates": {"in": 1}, "links": {"b2": "up"}}
    well |= {"round_trips": {"b2": 205, "b3": 40_310.5}, "delivery_rates": {"b2": 10**9}}
    record = (
        Hop(**sent, from_="b1", to="b2", queue=number, transformation="t" if number % 2 else None),
        Delivery(**sent, subscriber="s", latency=number),
        Publication(**sent, topic="é", numbers={"x": 1.5, "y": 2}, strings={"a": 'b"'}, size=9),
        Interest(**same, client="s", role="subscriber", filter="topic = 't'", change="added"),
        Health(**same, **well, not_recorded=-1, transformation="t" if number % 2 else None),
    )[number % KINDS]
    line = msgspec.json.encode(record) + b"\n"
    if number % 3 == 0 and isinstance(record, Health):
        fields = {name: value for name, value in json.loads(line).items() if name not in SINCE_LATER}
        return packed(fields)
    return line


def spoilt(line: bytes, chance: random.Random) -> bytes:
    fields = json.loads(line)
    name = chance.choice(FIELDS)
    at = chance.randrange(len(line))
    ways: list[Callable[[], bytes]] = [
        lambda: packed({key: value for key, value in fields.items() if key != chance.choice([*fields])}),
        lambda: packed(fields | {name: chance.choice(ODD)}),
        lambda: packed(fields | {chance.choice([*fields]): chance.choice(ODD)}),
        lambda: packed(fields)[:-2] + b',"%s":%s}\n' % (name.encode(), packed(chance.choice(ODD))[:-1]),
        lambda: line[:at] + line[at + 1 :],
        lambda: line[:at] + bytes([chance.randrange(256)]) + line[at + 1 :],
        lambda: line[:-1] + line,
        lambda: line[:-1] + b"\r\n",
        lambda: b" " + line,
        lambda: b"\n",
        lambda: json.dumps(fields).encode() + b"\n",
    ]
    return chance.choice(ways)()


def packed(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def test_health_from_before_round_trips_were_measured_is_plain() -> None:
    from regraft.measure.plain_rare import rare

    for number in (4, 9):
        batches, plain = rare(pa.array([good(number)], pa.binary()).view(pa.string()))
        assert plain.to_pylist() == [True]
        (row,) = (row for batch in batches for row in batch.to_pylist())
        there = {"round_trips": [("b2", 205.0), ("b3", 40_310.5)], "delivery_rates": [("b2", 1e9)]}
        assert {name: row[name] for name in SINCE_LATER} == (
            there if number % 3 else dict.fromkeys(SINCE_LATER)
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_plain_line_is_what_the_checks_make_of_it(seed: int, spark: "SparkSession") -> None:
    from pyspark.sql import functions as f

    from regraft.measure.checks import checked_lines
    from regraft.measure.plain_frequent import frequent
    from regraft.measure.plain_rare import rare

    chance = random.Random(seed)
    lines = [good(number) if number % 4 == 0 else spoilt(good(number), chance) for number in range(CASES)]
    lines = [line for line in lines if line.count(b"\n") == 1 and line.endswith(b"\n")]
    plain: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(lines):
        text = pa.array([line], pa.binary()).view(pa.string())
        batch, taken = frequent(text)
        batches, also = ([batch], taken) if taken[0].as_py() else rare(text)
        if also[0].as_py():
            (plain[number],) = (row for each in batches for row in each.to_pylist())
    assert {number for number, line in enumerate(lines) if line == good(number)} <= plain.keys()
    assert len(plain) < len(lines)

    now = time.time_ns() // 1000
    table = spark.createDataFrame(
        [(bytearray(line), number) for number, line in enumerate(lines)], "bytes binary, line long"
    ).select(f.lit("s").alias("source"), "line", f.col("bytes").cast("string").alias("text"))
    checked = checked_lines(table.withColumn("read_at", f.lit(now)))
    expected = {row["line"]: row.asDict() for row in checked.collect()}
    for number, row in plain.items():
        wanted = expected[number]
        assert wanted["reason"] is None, lines[number]
        for name, value in wanted.items():
            if name not in ("source", "line", "text", "read_at", "reason"):
                found: Any = row.get(name)
                found = dict(found) if isinstance(found, list) else found
                found = found.replace(tzinfo=None) if name == "at" and found else found
                assert found == value, (name, lines[number])


@pytest.mark.parametrize("line", [b'{"kind":"hop"\n', good(2).replace(b"-05T", b"-35T"), b"\xff\n"])
def test_one_line_that_cannot_be_read_leaves_the_others(line: bytes, tmp_path: Path) -> None:
    from regraft.measure.plain_frequent import FEW
    from regraft.measure.spool_source import read_spools

    lines = [good(number) for number in range(1000)]
    lines[500] = line
    text = b"".join(lines)
    (tmp_path / "a.ndjson").write_bytes(text)
    rows = [
        row
        for batch in read_spools(tmp_path, [Span("a.ndjson", 0, len(text))])
        for row in batch.select(["line"]).to_pylist()
    ]
    assert len(rows) == 1000
    left = {row["line"] for row in rows if row["line"] is not None}
    assert 501 in left
    assert len(left) <= FEW
