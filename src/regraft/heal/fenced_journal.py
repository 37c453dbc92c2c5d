"""What a broker remembers beyond a crash, in ZooKeeper. A new owner reads it; the old one can write no more.

The values are distributed over buckets, so that a write is small; each bucket is one node, a MessagePack map.
Every write is one transaction with a check of the owner's node: it succeeds only while that is as we wrote
it. What is appended during a write goes into the next one, together.

On failure: while ZooKeeper is away a write waits for it, and is repeated until its outcome is known; no other
process writes these buckets, so their content shows it. Once there is another owner, every write ends with
`Deposed`.
"""

import asyncio
import zlib
from collections.abc import Iterable, Sequence

import msgspec

from regraft.coord import (
    Check,
    Conflict,
    ConnectionState,
    Coord,
    CoordUnreachable,
    Corrupt,
    Missing,
    Node,
    Operation,
    Set,
)
from regraft.coord.layout import corrupt
from regraft.model import RegraftError

BUCKETS = 16
SESSIONS = "session/"
MOST_BYTES = 800_000
"""The size of a transaction; more is split. The first bucket, where order matters, is never split."""
AGAIN_SECONDS = 0.1
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, bytes]).decode


class Deposed(RegraftError):
    """Another owner holds the broker: nothing more can be written."""


def bucket_of(key: str) -> int:
    """Sessions are many, and independent of each other; everything else is together in the first bucket."""
    return 1 + zlib.crc32(key.encode()) % (BUCKETS - 1) if key.startswith(SESSIONS) else 0


def bucket_name(number: int) -> str:
    return f"{number:02d}"


def contents(paths: Sequence[str], nodes: Sequence[Node | None]) -> list[dict[str, bytes]]:
    """What the buckets hold; `Corrupt` if one is not a bucket."""
    return [_bucket(path, node) for path, node in zip(paths, nodes, strict=True)]


def _bucket(path: str, node: Node | None) -> dict[str, bytes]:
    if node is None or not node.data:
        return {}
    try:
        return _decode(node.data)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        fault_at: Corrupt = corrupt(path, f"is no part of a broker's journal: {fault}")
        raise fault_at from None


class FencedJournal:
    """`regraft.broker.io.durable.Memory` of a broker that this process owns; made by `ownership.take`."""

    def __init__(
        self,
        coord: Coord,
        owner: str,
        owner_version: int,
        life: int,
        paths: Sequence[str],
        versions: Sequence[int],
        buckets: Sequence[dict[str, bytes]],
    ) -> None:
        self.life = life
        self.values = {key: value for bucket in buckets for key, value in bucket.items()}
        self.fence = Check(owner, owner_version)
        self._coord = coord
        self._paths = list(paths)
        self._versions = list(versions)
        self._buckets = [dict(bucket) for bucket in buckets]
        self._dirty: set[int] = set()
        self._appended = self._durable = 0
        self._writing = asyncio.Lock()
        self._closed = ""

    def append(self, changes: Iterable[tuple[str, bytes | None]]) -> None:
        """Durable after the next `sync`."""
        for key, value in changes:
            number = bucket_of(key)
            self._dirty.add(number)
            for kept in (self.values, self._buckets[number]):
                if value is None:
                    kept.pop(key, None)
                else:
                    kept[key] = value
        self._appended += 1

    async def sync(self) -> None:
        """All that was appended before is durable when this returns; `Deposed` if it cannot be any more."""
        wanted = self._appended
        while self._durable < wanted:
            async with self._writing:
                if self._durable < wanted:
                    await self._write()

    def close(self) -> None:
        self._closed = "closed"

    async def _write(self) -> None:
        mark, dirty = self._appended, self._dirty
        self._dirty = set()
        for part in self._parts(sorted(dirty)):
            await self._put(part)
        self._durable = mark

    def _parts(self, dirty: list[int]) -> list[dict[int, bytes]]:
        parts: list[dict[int, bytes]] = [{}]
        size = 0
        for number in dirty:
            data = _encode(self._buckets[number])
            if parts[-1] and size + len(data) > MOST_BYTES:
                parts.append({})
                size = 0
            parts[-1][number] = data
            size += len(data)
        return parts

    async def _put(self, part: dict[int, bytes]) -> None:
        """Repeats the write until it has happened, or cannot happen any more."""
        while True:
            if self._closed:
                raise Deposed(f"{self.fence.path}: the journal is {self._closed}")
            sets: list[Operation] = [
                Set(self._paths[number], data, self._versions[number]) for number, data in part.items()
            ]
            try:
                await self._coord.transaction([self.fence, *sets])
            except (Conflict, Missing, CoordUnreachable):
                if await self._is_there(part):
                    return
            else:
                for number in part:
                    self._versions[number] += 1
                return

    async def _is_there(self, part: dict[int, bytes]) -> bool:
        """Whether an unanswered write has happened. No other process writes while we are the owner."""
        while not self._closed:
            if self._coord.state is ConnectionState.CLOSED:
                raise Deposed(f"{self.fence.path}: the connection to ZooKeeper was closed")
            try:
                await self._coord.sync()
                owner, *nodes = await asyncio.gather(
                    self._coord.get(self.fence.path),
                    *[self._coord.get(self._paths[number]) for number in part],
                )
            except CoordUnreachable:
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            if owner is None or owner.version != self.fence.version:
                self._closed = "another's"
                raise Deposed(f"{self.fence.path}: the broker has another owner")
            for (number, _), node in zip(part.items(), nodes, strict=True):
                if node is None:
                    raise Deposed(f"{self._paths[number]}: was deleted")
                self._versions[number] = node.version
            return all(
                node is not None and node.data == part[number]
                for number, node in zip(part, nodes, strict=True)
            )
        return False
