"""Telemetry on the disk: files of JSON lines, rotated and synchronised, written by `telemetry_thread`.

Routing never waits for it: records that find the queue full are counted instead of written. Interest is kept
until the disk has it (`interest_queue`).
"""

import contextlib
import glob
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import msgspec

from regraft.broker.io.configuration import Telemetry
from regraft.broker.io.interest_queue import InterestQueue
from regraft.broker.io.telemetry_thread import TELEMETRY_THREAD
from regraft.model import BadInput
from regraft.protocol.telemetry import Interest

log = logging.getLogger("regraft.broker")
T = TypeVar("T")
DONE = ".ndjson"
OPEN = ".ndjson.open"
_encode = msgspec.json.Encoder().encode_lines


class Spool(Generic[T]):
    """`offer` from the event loop; batches become records in the thread, by `render`."""

    def __init__(
        self, name: str, telemetry: Telemetry, render: Callable[[Sequence[T]], Iterable[msgspec.Struct]]
    ) -> None:
        self.written = 0
        self._telemetry = telemetry
        self._name = name
        self._render = render
        self._batches: deque[tuple[Sequence[T], int]] = deque()
        self._interest = InterestQueue(telemetry.queue)
        # Each counter is changed by one thread only, so that neither ever waits for the other.
        self._offered = self._refused = 0
        self._taken = self._failed = 0
        self._failing = self._closed = False
        self._unsynced = 0
        """Records written since the last synchronisation, without those of `interest_queue`."""
        self._file: BinaryIO | None = None
        self._path = telemetry.folder / "none"
        self._synced = self._opened = time.monotonic()
        try:
            telemetry.folder.mkdir(parents=True, exist_ok=True)
            for left in telemetry.folder.glob(f"{glob.escape(name)}-*{OPEN}"):
                # Not those of a broker whose name begins with ours: it may be writing them now.
                if left.name[len(name) + 1 : -len(OPEN)].isdecimal():
                    _finish_left(left)
        except OSError as fault:
            raise BadInput(str(telemetry.folder), f"cannot hold telemetry: {fault.strerror}") from None
        TELEMETRY_THREAD.add(self)

    @property
    def not_recorded(self) -> int:
        return self._refused + self._failed

    def offer(self, batch: Sequence[T], weight: int) -> None:
        """`weight` is how many records it may become. Never blocks."""
        if self._closed or self._offered - self._taken + weight > self._telemetry.queue:
            self._refused += weight
            return
        self._offered += weight
        self._batches.append((batch, weight))

    def add_interest(self, records: Sequence[Interest]) -> None:
        """These will be written even if the queue is full. Never blocks."""
        if self._closed:
            self._refused += len(records)
        else:
            self._interest.add(records)

    def close(self) -> None:
        """Write what waits, then end."""
        self._closed = True
        TELEMETRY_THREAD.remove(self)

    # In the telemetry thread

    def write_waiting(self, last: bool) -> None:
        for _ in range(len(self._batches)):
            batch, weight = self._batches.popleft()
            if not self._survives(partial(self._write_batch, batch)):
                self._failed += weight
            self._taken += weight
        while self._interest and self._survives(lambda: self._write(self._interest.take())):
            pass
        self._survives(partial(self._maybe_sync, last))

    def _survives(self, work: Callable[[], None]) -> bool:
        """Whether it was done. A full disk is no reason to record nothing ever again: the file is given up,
        and the next begins when there is room."""
        try:
            work()
        except Exception as fault:
            if not self._failing:
                log.warning("%s: telemetry is not recorded: %r", self._name, fault)
            self._failing = True
            self._give_up_file()
            return False
        return True

    def _give_up_file(self) -> None:
        """What was not written through yet counts as not recorded, or will be written again."""
        file, self._file = self._file, None
        self._failed += self._unsynced
        self.written -= self._unsynced
        self._unsynced = 0
        self._interest.lost()
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()
            with contextlib.suppress(OSError):
                _finish_left(self._path)

    def _write_batch(self, batch: Sequence[T]) -> None:
        records = list(self._render(batch))
        if records:
            self._write(records)
            self.written += len(records)
            self._unsynced += len(records)

    def _write(self, records: Sequence[msgspec.Struct]) -> None:
        if self._file is not None and self._file.tell() > self._telemetry.file_bytes:
            self._finish_file()
        if self._file is None:
            self._open()
        assert self._file is not None
        self._file.write(_encode(records))

    def _maybe_sync(self, last: bool) -> None:
        if self._file is None:
            return
        if last or time.monotonic() - self._opened > self._telemetry.file_seconds:
            self._finish_file()
        elif time.monotonic() - self._synced > self._telemetry.sync_seconds:
            self._flush(self._file)
            self._synced = time.monotonic()

    def _open(self) -> None:
        """The name of an open file says so: a reader of finished files never sees half a line."""
        self._path = self._telemetry.folder / f"{self._name}-{time.time_ns()}{OPEN}"
        self._file = self._path.open("wb")
        self._opened = time.monotonic()

    def _flush(self, file: BinaryIO) -> None:
        file.flush()
        os.fsync(file.fileno())
        self.written += self._interest.safe()
        self._unsynced = 0
        self._failing = False  # what was only buffered says nothing about the disk

    def _finish_file(self) -> None:
        assert self._file is not None
        self._flush(self._file)
        self._file.close()
        self._path.rename(_finished(self._path))
        self._file = None


def _finished(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(OPEN) + DONE)


def _finish_left(path: Path) -> None:
    """Left behind by a crash: a last line that was cut short goes."""
    content = path.read_bytes()
    if b"\n" not in content:  # a full disk would be left with thousands of empty files
        path.unlink()
        return
    with path.open("r+b") as file:
        file.truncate(content.rfind(b"\n") + 1)
    path.rename(_finished(path))
