"""Makes segments: records are gathered as columns, by Arrow, and closed with a summary in the file's footer.

The summary lets a reader decide what to read without reading it. It is written by whoever wrote the records,
so a reader compares it with the statistics of the columns (`reading`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from regraft.protocol.telemetry import RECORD_VERSION, TRACES, Record
from regraft.segments.columns import LARGEST, SMALLEST, Columns, PublicationRuns, Runs, of_records
from regraft.segments.counting import Counts
from regraft.segments.schema import RECORDS

SUMMARY = b"regraft.segment"
"""The key of the summary among the metadata of the Parquet file."""
CHUNK = 8192
"""So many records of a kind are turned into columns at once: no call keeps the interpreter for long."""
_UNLIKE = ("at", "seq")
"""Columns with almost only different values, for which a dictionary would not help. They ascend in runs, so
their differences take a quarter of the bytes."""
_ALIKE = [name for name in RECORDS.names if name not in _UNLIKE]


class Summary(msgspec.Struct, frozen=True):
    """Times in microseconds since 1970. `published`: the earliest publication that a record is about, as a
    delivery counts in the window of its publication."""

    broker: str
    rows: int
    first: int
    last: int
    published: int
    publications: int
    interests: int
    v: int = RECORD_VERSION


class OpenSegment:
    """The records of one broker, gathered until the segment is closed.

    Records that come from runs of publications are given as runs: they share everything but their numbers
    and times. `one_in`: how many publications one of a run stands for; if that is more than one, all of them
    are in `counts`.
    """

    def __init__(self, broker: str, one_in: int = 1) -> None:
        self.broker = broker
        self.one_in = one_in
        self.counts = Counts()
        self.latest = 0
        """The last time of what is in `counts`: that of their records."""
        self._hops = Runs("hop", ("to", "queue", "transformation"))
        self._deliveries = Runs("delivery", ("subscriber", "latency"))
        self._publications = PublicationRuns()
        self._chunks: list[tuple[str, int, Columns]] = []
        """Kind, number of records, and columns."""
        self._chunked = 0

    def __len__(self) -> int:
        """The number of records."""
        return self._chunked + self._in_runs + len(self.counts)

    @property
    def traces(self) -> int:
        """The number of records that are each about one publication."""
        return self._in_runs + sum(rows for kind, rows, _ in self._chunks if kind in TRACES)

    @property
    def _in_runs(self) -> int:
        return len(self._hops) + len(self._deliveries) + len(self._publications)

    def hops(
        self,
        at: int,
        publisher: str,
        seqs: Sequence[int],
        to: str,
        queue: int,
        transformation: str | None = None,
    ) -> None:
        """The records have the times `at`, `at` + 1, … `OverflowError`: a number has more than 64 bits."""
        self._hops.add(at, seqs, publisher, to, queue, transformation)
        if len(self._hops) >= CHUNK:
            self._chunk(self._hops)

    def deliveries(self, at: int, publisher: str, seqs: Sequence[int], subscriber: str, latency: int) -> None:
        """As `hops`."""
        if not SMALLEST <= at - latency <= LARGEST or not SMALLEST <= latency <= LARGEST:
            raise OverflowError("a latency has more than 64 bits")
        self._deliveries.add(at, seqs, publisher, subscriber, latency)
        if len(self._deliveries) >= CHUNK:
            self._chunk(self._deliveries)

    def publications(
        self,
        at: int,
        publisher: str,
        seqs: Sequence[int],
        attributes: Iterable[Mapping[str, Any]],
        sizes: Iterable[int],
    ) -> None:
        """As `hops`, with the attributes and the size of each publication."""
        self._publications.add(at, seqs, publisher)
        self._publications.describe(attributes, sizes)
        if len(self._publications) >= CHUNK:
            self._chunk(self._publications)

    def count(self, counts: Counts, at: int) -> None:
        """Add what was counted until then."""
        self.counts.add(counts)
        self.latest = max(self.latest, at)

    def records(self, records: Sequence[Record]) -> None:
        """Single records, of any kind."""
        by_kind: defaultdict[type[Record], list[Record]] = defaultdict(list)
        for record in records:
            by_kind[type(record)].append(record)
        for kind, some in by_kind.items():
            for start in range(0, len(some), CHUNK):
                chunk = some[start : start + CHUNK]
                self._keep(str(kind.__struct_config__.tag), len(chunk), of_records(kind, chunk))

    def close(self) -> bytes:
        """The Parquet file of these records, of which there is at least one."""
        for runs in (self._hops, self._deliveries, self._publications):
            if len(runs):
                self._chunk(runs)
        if rows := len(self.counts):
            self._keep("count", rows, self.counts.take(self.broker, self.latest, self.one_in))
        return _file(self._table(), {SUMMARY: msgspec.json.encode(self._summary())})

    def _chunk(self, runs: Runs) -> None:
        rows = len(runs)
        self._keep(runs.kind, rows, runs.take(self.broker, self.one_in))

    def _keep(self, kind: str, rows: int, columns: Columns) -> None:
        self._chunks.append((kind, rows, columns))
        self._chunked += rows

    def _table(self) -> pa.Table:
        """Columns without a value are left out."""
        columns: dict[str, pa.ChunkedArray] = {}
        for field in RECORDS:
            if not any(field.name in chunk for _, _, chunk in self._chunks):
                continue
            parts = [
                chunk[field.name] if field.name in chunk else pa.nulls(rows, field.type)
                for _, rows, chunk in self._chunks
            ]
            column = pa.chunked_array(parts, field.type)
            if column.null_count < self._chunked:
                columns[field.name] = column
        return pa.table(columns)

    def _summary(self) -> Summary:
        counts = {"publication": 0, "interest": 0}
        firsts, lasts, published = [], [], []
        for kind, rows, columns in self._chunks:
            counts[kind] = counts.get(kind, 0) + rows
            at = columns["at"].cast(pa.int64())
            bounds = pc.min_max(at)
            firsts.append(bounds["min"].as_py())
            lasts.append(bounds["max"].as_py())
            if kind == "delivery":
                published.append(pc.min(pc.subtract(at, columns["latency"])).as_py())
            elif kind == "count":
                published.append(pc.min(columns["since"].cast(pa.int64())).as_py())
        return Summary(
            self.broker,
            self._chunked,
            min(firsts),
            max(lasts),
            min(firsts + published),
            counts["publication"],
            counts["interest"],
        )


def segment(broker: str, records: Sequence[Record]) -> bytes:
    """A Parquet file of these records of one broker, of which there is at least one."""
    gathered = OpenSegment(broker)
    gathered.records(records)
    return gathered.close()


def _file(table: pa.Table, metadata: Mapping[bytes, bytes]) -> bytes:
    """Arrow's own schema is left out: in a small segment, it would be most of the bytes."""
    alike = [name for name in _ALIKE if name in table.column_names]
    unlike = {name: "DELTA_BINARY_PACKED" for name in _UNLIKE if name in table.column_names}
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression="zstd",
        use_dictionary=alike,
        column_encoding=unlike,
        store_schema=False,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)
    return bytes(sink.getvalue())
