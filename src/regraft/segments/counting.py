"""Counts what a broker records only a sample of (`Counted`), until the segment is closed.

A run of publications costs one look into a dictionary, or three where it is delivered, however long it is.
"""

from typing import Any

import pyarrow as pa

from regraft.protocol.latency_buckets import bucket_of
from regraft.protocol.record_fields import FIELDS
from regraft.protocol.telemetry import RECORD_VERSION, SECOND, CountOf
from regraft.segments.columns import LARGEST, Columns
from regraft.segments.schema import AT, RECORDS

MOST = 2**53
"""The largest sum that is told."""
_FIELDS = [field.name for field in FIELDS["count"]]


class Counts:
    """Of one broker. Every call takes the time in which its publications count, in microseconds."""

    def __init__(self) -> None:
        self._published: dict[tuple[int, str, str | None], list[int]] = {}
        """Second, publisher, topic → publications, bytes."""
        self._hops: dict[tuple[int, str, str | None], list[int]] = {}
        """Second, neighbour, transformation → hops, the largest queue."""
        self._delivered: dict[tuple[int, str, str], int] = {}
        """Second, publisher, subscriber → deliveries."""
        self._latencies: dict[tuple[int, int], list[int]] = {}
        """Second, bucket → deliveries, sum, the largest."""

    def __len__(self) -> int:
        """The number of records."""
        return len(self._published) + len(self._hops) + len(self._delivered) + len(self._latencies)

    def publications(self, at: int, count: int, publisher: str, topic: str | None, size: int) -> None:
        key = at // SECOND, publisher, topic
        if (held := self._published.get(key)) is None:
            held = self._published[key] = [0, 0]
        held[0] += count
        held[1] += size

    def hops(self, at: int, count: int, to: str, queue: int, transformation: str | None) -> None:
        key = at // SECOND, to, transformation
        if (held := self._hops.get(key)) is None:
            held = self._hops[key] = [0, 0]
        held[0] += count
        held[1] = max(held[1], queue)

    def deliveries(self, at: int, count: int, publisher: str, subscriber: str, latency: int) -> None:
        """`at`: when they were published. `OverflowError`: no reader would take these numbers."""
        if not 0 <= at <= LARGEST or not 0 <= latency <= MOST:
            raise OverflowError("a latency is negative, or too large")
        second = at // SECOND
        pair = second, publisher, subscriber
        self._delivered[pair] = self._delivered.get(pair, 0) + count
        key = second, bucket_of(latency)
        if (held := self._latencies.get(key)) is None:
            held = self._latencies[key] = [0, 0, 0]
        held[0] += count
        held[1] = min(held[1] + count * latency, MOST)
        held[2] = max(held[2], latency)

    def add(self, other: "Counts") -> None:
        """The same publications, hops and deliveries as well; `other` is not used any more."""
        for key, (count, size) in other._published.items():
            held = self._published.setdefault(key, [0, 0])
            held[0] += count
            held[1] += size
        for hop, (count, queue) in other._hops.items():
            held = self._hops.setdefault(hop, [0, 0])
            held[0] += count
            held[1] = max(held[1], queue)
        for pair, count in other._delivered.items():
            self._delivered[pair] = self._delivered.get(pair, 0) + count
        for bucket, (count, total, largest) in other._latencies.items():
            held = self._latencies.setdefault(bucket, [0, 0, 0])
            held[0] += count
            held[1] = min(held[1] + total, MOST)
            held[2] = max(held[2], largest)

    def take(self, broker: str, at: int, one_in: int) -> Columns:
        """The columns of all counts, which are forgotten. Their records have the time `at`."""
        columns: dict[str, list[Any]] = {name: [] for name in _FIELDS}

        def add(of: CountOf, since: int, count: int, **more: Any) -> None:
            more |= {"of": of, "since": since * SECOND, "count": count}
            for name, column in columns.items():
                column.append(more.get(name))

        for (second, publisher, topic), (count, size) in self._published.items():
            add("publication", second, count, publisher=publisher, topic=topic, size=size)
        for (second, to, under), (count, queue) in self._hops.items():
            add("hop", second, count, **{"from": broker}, to=to, queue=queue, transformation=under)
        for (second, publisher, subscriber), count in self._delivered.items():
            add("delivery", second, count, publisher=publisher, subscriber=subscriber)
        for (second, bucket), (count, total, largest) in self._latencies.items():
            add("latency", second, count, bucket=bucket, latency=total, largest=largest)
        rows = len(columns["of"])
        self._published.clear()
        self._hops.clear()
        self._delivered.clear()
        self._latencies.clear()
        same = {"v": RECORD_VERSION, "broker": broker, "one_in": one_in, "at": at}
        for name, value in same.items():
            columns[name] = [value] * rows
        columns["seq"] = list(range(rows))
        found: Columns = {"kind": pa.repeat("count", rows)}
        for name, column in columns.items():
            kind = RECORDS.field(name).type
            found[name] = pa.array(column, pa.int64()).cast(AT) if kind == AT else pa.array(column, kind)
        return found
