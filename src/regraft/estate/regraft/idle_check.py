"""Looks at the new segments of the brokers: if nothing was published, Spark need not run.

Brokers write their health every second, with or without traffic. Segments that are skipped here are not lost:
the next measurement reads on from where the last one ended.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from regraft.model.store import Store, is_address

if TYPE_CHECKING:
    from regraft.measure.segments import Offset

AT_ONCE = 8
"""How many segments are looked at together."""
MOST = 64 << 20
"""How many bytes may be skipped; with more, Spark measures even if nothing was published."""


class IdleCheck:
    """Remembers how far it has looked, so it looks at every segment once. `read`: how far the last
    measurement has read."""

    def __init__(self, source: str, read: "Offset") -> None:
        self._source = source
        self._seen = self._there = read
        self._skipped = 0

    def is_idle(self) -> bool:
        """Whether nothing was published since the last measurement."""
        from regraft.measure.segments import new_files, open_source  # noqa: PLC0415 — loads pyspark
        from regraft.segments.names import parse_name  # noqa: PLC0415

        if not is_address(self._source) and not Path(self._source).is_dir():
            return False
        source = open_source(self._source)
        files = new_files(source, self._seen)
        self._there = self._seen.after(files)
        if self._skipped + sum(file.size for file in files) > MOST:
            return False
        if any(parse_name(file.name) is None for file in files):
            return False
        with ThreadPoolExecutor(AT_ONCE) as pool:  # an object store takes its time for each request
            for begin in range(0, len(files), AT_ONCE):
                some = files[begin : begin + AT_ONCE]
                if any(pool.map(partial(_may_have_publications, source.store), [file.name for file in some])):
                    return False
                self._seen = self._seen.after(some)
                self._skipped += sum(file.size for file in some)
        return True

    def measured(self) -> None:
        """Called after a measurement, which has read everything that the last look found."""
        self._seen = self._there
        self._skipped = 0


def _may_have_publications(store: Store, name: str) -> bool:
    """Also of a segment that cannot be read, or whose summary is not proven: a measurement will say more."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    from regraft.segments.reading import summary_of  # noqa: PLC0415

    try:
        with store.open(name) as content:
            summary = summary_of(pq.ParquetFile(content))
    except (pa.ArrowException, OSError):
        return True
    return summary is None or summary.publications > 0
