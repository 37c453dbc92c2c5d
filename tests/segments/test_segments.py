"""What is written into a segment is read back, and its summary is believed only if the columns agree."""

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.model.store import FolderStore
from regraft.protocol.telemetry import AnyRecord, Delivery, Health, Hop, Interest, Publication
from regraft.segments import columns, writing
from regraft.segments.reading import records_of, summary_of
from regraft.segments.writing import SUMMARY, OpenSegment, Summary, segment

AT = 1_767_000_000_000_000
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
WHOLE = st.integers(0, 2**63 - 1)
NUMBERS = st.dictionaries(TEXT, st.floats(allow_nan=False), max_size=3)
TEXTS = st.dictionaries(TEXT, TEXT, max_size=3)
TIMES = st.integers(0, 2**60)
ONE_IN = st.just(msgspec.UNSET) | st.integers(1, 1000)
PUBLICATIONS = st.builds(
    Publication,
    at=TIMES,
    broker=st.just("b0"),
    one_in=ONE_IN,
    publisher=TEXT,
    seq=WHOLE,
    topic=st.none() | TEXT,
    numbers=NUMBERS,
    strings=TEXTS,
    size=WHOLE,
)
HOPS = st.builds(
    Hop,
    at=TIMES,
    broker=st.just("b0"),
    one_in=ONE_IN,
    publisher=TEXT,
    seq=WHOLE,
    from_=st.just("b0"),
    to=TEXT,
    queue=WHOLE,
    transformation=st.none() | TEXT,
)
DELIVERIES = st.builds(
    Delivery,
    at=TIMES,
    broker=st.just("b0"),
    one_in=ONE_IN,
    publisher=TEXT,
    seq=WHOLE,
    subscriber=TEXT,
    latency=st.integers(-(2**60), 2**60),
)
INTERESTS = st.builds(
    Interest,
    at=TIMES,
    broker=st.just("b0"),
    client=TEXT,
    role=st.sampled_from(["publisher", "subscriber"]),
    filter=TEXT,
    change=st.sampled_from(["added", "removed"]),
)
HEALTHS = st.builds(
    Health,
    at=TIMES,
    broker=st.just("b0"),
    cpu=st.floats(allow_nan=False),
    memory=WHOLE,
    queue=WHOLE,
    rates=NUMBERS,
    links=TEXTS,
    round_trips=NUMBERS,
    delivery_rates=NUMBERS,
    not_recorded=WHOLE,
    transformation=st.none() | TEXT,
)
RECORDS = PUBLICATIONS | HOPS | DELIVERIES | INTERESTS | HEALTHS


def summary(content: bytes, now: int | None = None) -> Summary | None:
    return summary_of(pq.ParquetFile(io.BytesIO(content)), now)


class Held(FolderStore):
    """One segment, in memory."""

    def __init__(self, content: bytes) -> None:
        super().__init__("memory")
        self._content = content

    def open(self, name: str) -> Any:
        return io.BytesIO(self._content)


def read(content: bytes) -> list[AnyRecord]:
    return list(records_of(Held(content), ""))


@given(st.lists(RECORDS, min_size=1, max_size=20))
def test_records_are_read_as_they_were_written(given: list[AnyRecord]) -> None:
    content = segment("b0", given)
    found = read(content)
    assert sorted(map(msgspec.json.encode, found)) == sorted(map(msgspec.json.encode, given))
    times = [each.at for each in given]
    published = [each.at - each.latency for each in given if isinstance(each, Delivery)]
    told = pq.ParquetFile(io.BytesIO(content)).metadata.metadata[SUMMARY]
    assert msgspec.json.decode(told, type=Summary) == Summary(
        "b0",
        len(given),
        min(times),
        max(times),
        min(times + published),
        sum(isinstance(each, Publication) for each in given),
        sum(isinstance(each, Interest) for each in given),
    )


@pytest.mark.parametrize("one_in", [1, 10])
@pytest.mark.parametrize("chunk", [1, 4, 8192])
def test_runs_become_the_same_records_as_if_each_were_written_alone(
    monkeypatch: pytest.MonkeyPatch, one_in: int, chunk: int
) -> None:
    monkeypatch.setattr(writing, "CHUNK", chunk)
    gathered = OpenSegment("b0", one_in)
    given = {"topic": "t", "n": 3, "x": 0.5, "ok": True, "s": "y"}
    gathered.publications(AT, "p", [4, 7], [given, {"topic": 3}], [10, 20])
    gathered.hops(AT + 2, "p", [4, 7], "b1", 5, "t1")
    gathered.hops(AT + 4, "q", [1], "b2", 6)
    gathered.deliveries(AT + 5, "p", [4, 7, 9], "s", 100)
    assert len(gathered) == 8
    sampled: Any = {"broker": "b0", "one_in": one_in if one_in > 1 else msgspec.UNSET}
    numbers, strings = {"n": 3.0, "x": 0.5}, {"topic": "t", "s": "y"}
    told: Any = {"publisher": "p", **sampled}
    expected: list[AnyRecord] = [
        Publication(at=AT, seq=4, topic="t", numbers=numbers, strings=strings, size=10, **told),
        Publication(at=AT + 1, seq=7, topic=None, numbers={"topic": 3.0}, strings={}, size=20, **told),
        Hop(at=AT + 2, seq=4, from_="b0", to="b1", queue=5, transformation="t1", **told),
        Hop(at=AT + 3, seq=7, from_="b0", to="b1", queue=5, transformation="t1", **told),
        Hop(at=AT + 4, seq=1, from_="b0", to="b2", queue=6, **(told | {"publisher": "q"})),
        Delivery(at=AT + 5, seq=4, subscriber="s", latency=100, **told),
        Delivery(at=AT + 6, seq=7, subscriber="s", latency=100, **told),
        Delivery(at=AT + 7, seq=9, subscriber="s", latency=100, **told),
    ]
    content = gathered.close()
    assert sorted(read(content), key=lambda each: each.at) == expected
    assert summary(content) == Summary("b0", 8, AT, AT + 7, AT - 95, 2, 0)


@pytest.mark.parametrize("seq", [2**63, 2**64 - 1])
def test_a_number_of_more_than_64_bits_is_refused_and_nothing_is_added(seq: int) -> None:
    gathered = OpenSegment("b0")
    with pytest.raises(OverflowError):
        gathered.hops(AT, "p", [1, seq], "b1", 0)
    with pytest.raises(OverflowError):
        gathered.publications(AT, "p", [seq], [{}], [1])
    with pytest.raises(OverflowError):
        gathered.deliveries(AT, "p", [1], "s", seq)
    assert len(gathered) == 0
    gathered.hops(AT, "p", [columns.LARGEST], "b1", 0)
    (found,) = read(gathered.close())
    assert isinstance(found, Hop)
    assert found.seq == columns.LARGEST


def hop(at: int = AT, broker: str = "b0", seq: int = 1) -> Hop:
    return Hop(at=at, broker=broker, publisher="p", seq=seq, from_=broker, to="b1", queue=0)


def told(content: bytes, **changes: object) -> bytes:
    """The same rows with another summary."""
    file = pq.ParquetFile(io.BytesIO(content))
    old = msgspec.json.decode(file.metadata.metadata[SUMMARY])
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, file.schema_arrow, store_schema=False) as writer:
        writer.write_table(file.read())
        writer.add_key_value_metadata({SUMMARY: msgspec.json.encode(old | changes)})
    return sink.getvalue()


@pytest.mark.parametrize(
    "changes",
    [
        {"broker": "b1"},
        {"rows": 3},
        {"first": AT + 1},
        {"last": AT + 1},
        {"published": AT + 1},
        {"published": -1},
        {"rows": "many"},
    ],
)
def test_a_summary_that_the_columns_contradict_is_not_believed(changes: dict[str, object]) -> None:
    content = segment("b0", [hop(AT), hop(AT + 7)])
    assert summary(told(content)) == summary(content) == Summary("b0", 2, AT, AT + 7, AT, 0, 0)
    assert summary(told(content, **changes)) is None


def test_records_that_break_a_rule_or_are_from_the_future_have_no_summary() -> None:
    assert summary(segment("b0", [hop(seq=-1)])) is None
    now = time.time_ns() // 1000
    assert summary(segment("b0", [hop(now)])) is not None
    assert summary(segment("b0", [hop(now + 120_000_000)])) is None
    assert summary(segment("b0", [hop(AT)]), now=AT - 120_000_000) is None
    assert summary(segment("b0", [hop(), hop(broker="b1")])) is None


def test_a_parquet_file_of_somebody_else_has_no_summary() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"at": [1], "broker": ["b0"]}), sink)
    assert summary(sink.getvalue()) is None


@pytest.mark.parametrize(
    "damage",
    [lambda all: all[: len(all) // 2], lambda all: b"", lambda all: b"PAR1" + bytes(100) + all[-20:]],
)
def test_a_damaged_segment_is_a_fault_and_no_records(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    store = FolderStore(str(tmp_path))
    store.put("one", damage(segment("b0", [hop()])))
    with pytest.raises((pa.ArrowException, OSError)):
        list(records_of(store, "one"))
