"""Looks at the new bytes of the spools: if nothing was published, Spark need not run.

Brokers write their health every second, with or without traffic. Records that are skipped here are not lost:
the next measurement reads on from where the last one ended.
"""

from pathlib import Path

PUBLISHED = b'publication"'
MOST = 64 << 20
"""How many bytes may be skipped; with more, Spark measures even if nothing was published."""


class IdleCheck:
    """Remembers how far it has looked, so it looks at every byte once."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self._seen: dict[str, int] = {}
        self._there: dict[str, int] = {}
        self._skipped = 0

    def is_idle(self) -> bool:
        """Whether nothing was published since the last measurement."""
        from regraft.measure.inputs import parquet_files, spool_files, unread  # noqa: PLC0415

        if not self._source.is_dir() or parquet_files(self._source):
            return False
        files = spool_files(self._source)
        self._there = {file.name: file.size for file in files}
        spans = unread(files, self._seen)
        if self._skipped + sum(span.end - span.start for span in spans) > MOST:
            return False
        return not any(self._has_publication(span.name, span.start, span.end) for span in spans)

    def measured(self) -> None:
        """Called after a measurement, which has read everything that the last look found."""
        self._seen = self._there
        self._skipped = 0

    def _has_publication(self, name: str, start: int, end: int) -> bool:
        from regraft.measure.inputs import open_spool  # noqa: PLC0415

        with open_spool(self._source, name) as file:
            file.seek(start)
            found = PUBLISHED in file.read(end - start)
        if not found:
            self._seen[name] = end
            self._skipped += end - start
        return found
