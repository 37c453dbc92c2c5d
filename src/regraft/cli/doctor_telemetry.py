"""What `regraft doctor` says about telemetry, from the newest segments alone: a store may have millions."""

import sys
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from regraft.model.store import Store
from regraft.segments.listing import folders, last_name
from regraft.segments.names import SegmentName, parse_name
from regraft.segments.reading import summary_of


class NewestTelemetry(NamedTuple):
    """The segments of the newest hour; `at`: when the newest record was made (seconds), if they say so."""

    hour: str
    brokers: int
    segments: int
    size: int
    at: float | None

    def __str__(self) -> str:
        until = f", until {datetime.fromtimestamp(self.at, UTC):%Y-%m-%dT%H:%M:%SZ}" if self.at else ""
        amount = f"{self.segments} segments of {self.brokers} brokers, {self.size / 1e6:.1f} MB"
        return f"{amount}, in the newest hour ({self.hour}{until})"


def newest_telemetry(store: Store) -> NewestTelemetry | None:
    """None if nothing was recorded. It lists the newest hour of each broker and opens one segment of each."""
    last = [last_name(store, folder) for folder in folders(store)]
    known = [name for name in last if name is not None and name.life]  # 0: the hour is empty
    if not known:
        return None
    hour = max(name.hour for name in known)
    newest = [name for name in known if name.hour == hour]
    sizes = [
        file.size
        for name in newest
        for file in store.list(f"{name.folder}/{hour}")
        if parse_name(f"{name.folder}/{hour}/{file.name}")
    ]
    times = [at for name in newest if (at := _last_record(store, name)) is not None]
    return NewestTelemetry(hour, len(newest), len(sizes), sum(sizes), max(times, default=None))


def _last_record(store: Store, name: SegmentName) -> float | None:
    try:
        with store.open(name.path) as content:
            # Times in the future are what the caller looks for.
            summary = summary_of(pq.ParquetFile(content), now=sys.maxsize)
    except (pa.ArrowException, ValueError, OSError):  # damaged, or removed meanwhile
        return None
    return None if summary is None else summary.last / 1e6
