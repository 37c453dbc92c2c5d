"""What a broker remembers beyond a crash: an append-only file of changes, compacted when it starts.

After a crash in the middle of writing the last record may be cut short: it was never reported durable,
so it is dropped. Damage anywhere else is reported with the file and the offset, never skipped.

A record: length of the body, CRC of that length, CRC of the body (4 bytes each, big-endian), then
[key, value] as MessagePack; a value of nil forgets the key.
"""

import asyncio
import contextlib
import fcntl
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from regraft.model import BadInput, Kind

HEADER = 12
LIFE = "#life"
KIND = "#kind"
GROWN = 4 * 2**20
"""It is compacted when it is larger than this and than four times its size after the last compaction."""
RECENTLY = 1_700_000_000
"""Seconds since the epoch: a moment in 2023."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[str, bytes | None]).decode


class Damaged(BadInput):
    """A journal that cannot be trusted."""


class Journal:
    """The journal of one broker, open for appending; `life` has already grown by one."""

    def __init__(self, path: Path, kind: Kind = "tree") -> None:
        self.path = path
        self._kind = kind.encode()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(path.with_suffix(".lock"))
            try:
                self._start()
            except BaseException:
                self._lock.close()
                raise
        except OSError as fault:
            raise BadInput(str(path), f"cannot be used as a journal: {fault.strerror}") from None

    def _start(self) -> None:
        self.values = _last_values(self.path)
        self.life = int(self.values.pop(LIFE, b"0")) + 1
        kind = self.values.pop(KIND, self._kind)
        if kind != self._kind:
            raise BadInput(
                str(self.path), f"is of a broker in a {kind.decode()}, not in a {self._kind.decode()}"
            )
        self._compact()

    def __str__(self) -> str:
        return str(self.path)

    def append(self, changes: Iterable[tuple[str, bytes | None]]) -> None:
        """Write changes; they are durable after `sync`."""
        for key, value in changes:
            if value is None:
                self.values.pop(key, None)
            else:
                self.values[key] = value
            record = _record(key, value)
            self._file.write(record)
            self._size += len(record)
        self._file.flush()

    async def sync(self) -> None:
        """Write to the disk, in a thread; `append` must not be called until it is over."""
        await asyncio.to_thread(self._sync)

    def _sync(self) -> None:
        if self._size > max(GROWN, 4 * self._compacted):
            self._file.close()
            self._compact()
        else:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        with contextlib.suppress(OSError):  # what could not be written has been reported already
            self._file.close()
        self._lock.close()

    def _compact(self) -> None:
        """Write only the current values, to a new file that replaces the old one in one step."""
        fresh = self.path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(_record(LIFE, str(self.life).encode()))
            file.write(_record(KIND, self._kind))
            for key, value in self.values.items():
                file.write(_record(key, value))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)  # the new name, too, has to be on the disk
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self._file = self.path.open("ab")
        self._size = self._compacted = self._file.tell()


def life_by_the_clock() -> int:
    """A life without a journal: greater at every start, and below 2**32: `life * 2**32` has 64 bits."""
    return int((time.time() - RECENTLY) * 10)


def _locked(path: Path) -> BinaryIO:
    """Two brokers must not write one journal; the lock ends with the process, however it ends."""
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise BadInput(str(path), "another broker is running on this journal") from None
    return file


def _record(key: str, value: bytes | None) -> bytes:
    body = _encode((key, value))
    length = len(body).to_bytes(4, "big")
    return b"".join((length, _crc(length), _crc(body), body))


def _crc(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "big")


def _last_values(path: Path) -> dict[str, bytes]:
    values: dict[str, bytes] = {}
    content = b""
    with contextlib.suppress(FileNotFoundError):
        content = path.read_bytes()
    for key, value in _records(content, path):
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
    return values


def _records(content: bytes, path: Path) -> Iterator[tuple[str, bytes | None]]:
    at, end = 0, len(content)
    while at < end:
        header = content[at : at + HEADER]
        if len(header) < HEADER or (not any(header) and not any(content[at:end])):
            return  # cut short; some file systems leave zeros
        if _crc(header[:4]) != header[4:8]:
            raise Damaged(f"{path}: offset {at}", "the journal is damaged: the header of a record is wrong")
        start = at + HEADER
        after = start + int.from_bytes(header[:4], "big")
        body = content[start:after]
        if _crc(body) != header[8:]:
            if after >= end:
                return  # the last one, half written
            raise Damaged(f"{path}: offset {at}", "the journal is damaged: the content of a record is wrong")
        yield _body(body, path, at)
        at = after


def _body(body: bytes, path: Path, at: int) -> tuple[str, bytes | None]:
    try:
        return _decode(body)
    except msgspec.DecodeError as fault:
        raise Damaged(f"{path}: offset {at}", f"not a record of this journal: {fault}") from None


def file_name(broker: str) -> str:
    """A broker's id as a part of the names of files."""
    return "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):x}" for c in broker)
