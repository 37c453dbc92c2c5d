"""Who changed what: one JSON object on a line for every request that changes something, and its answer.

The line `asked` is on disk before anything is done, the line `answered` after it. If the first cannot be
written (a full disk), the request is refused, so that nothing is ever done without a record. Failed logins
are written too.
"""

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regraft.model import RegraftError

LARGEST = 16 * 2**20
KEPT = 4
"""How many older files are kept; `audit.jsonl.1` is the youngest of them."""


class AuditUnavailable(RegraftError):
    """The audit log cannot be written."""


class Audit:
    """One file, kept open; lines are synced one by one. Without a path, the last lines are kept in memory."""

    def __init__(self, path: Path | None, largest: int = LARGEST) -> None:
        self._path = path
        self._largest = largest
        self._memory: list[dict[str, Any]] = []
        self._file: int | None = None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._open()
            except OSError as fault:
                raise AuditUnavailable(f"{path}: the audit log cannot be opened: {fault.strerror}") from None

    def write(self, entry: Mapping[str, Any]) -> None:
        if self._path is None:
            self._memory = [*self._memory[-999:], dict(entry)]
            return
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n"
        try:
            self._rotate()
            assert self._file is not None
            self._append(line.encode("utf-8", "surrogatepass"))
            os.fsync(self._file)
        except OSError as fault:
            raise AuditUnavailable(
                f"{self._path}: the audit log cannot be written: {fault.strerror}"
            ) from None

    def _append(self, line: bytes) -> None:
        """Write the whole line or nothing: on a full disk, `os.write` may take a part without an error."""
        assert self._file is not None
        before = os.fstat(self._file).st_size
        written = os.write(self._file, line)
        if written < len(line):
            os.ftruncate(self._file, before)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def last(self, most: int) -> list[dict[str, Any]]:
        """Up to `most` lines of the current file, the newest first."""
        if self._path is None:
            return self._memory[::-1][:most]
        lines = self._path.read_bytes().splitlines()[-most:] if self._path.exists() else []
        return [entry for line in reversed(lines) if (entry := _parsed(line)) is not None]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> None:
        assert self._path is not None
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _rotate(self) -> None:
        assert self._path is not None
        if self._file is None:
            self._open()
            return
        if os.fstat(self._file).st_size < self._largest:
            return
        self.close()
        for number in range(KEPT, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            younger = self._path.with_name(f"{self._path.name}.{number - 1}") if number > 1 else self._path
            if younger.exists():
                younger.replace(older)
        self._open()


def _parsed(line: bytes) -> dict[str, Any] | None:
    """None for a line that a crash cut off."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None
