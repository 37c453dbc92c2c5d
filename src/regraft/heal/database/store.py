"""One second-layer database: three tables, and the SQL that SQLite and PostgreSQL share.

A store keeps and gives back bytes; `records` knows what they mean, and whether they are valid. On failure
every call ends with `StoreFailed` within the time limit; the node then answers from its peers.
"""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from regraft.model import BadInput, RegraftError

SECONDS = 2.0
KEPT_ADAPTATIONS = 10_000

TABLES = (
    "CREATE TABLE IF NOT EXISTS brokers (id TEXT PRIMARY KEY, version BIGINT NOT NULL, writer TEXT NOT NULL,"
    " record TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS documents (name TEXT PRIMARY KEY, data TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS adaptations (id TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL,"
    " record TEXT NOT NULL)",
)
PUT_BROKER = (
    "INSERT INTO brokers (id, version, writer, record) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO UPDATE SET"
    " version = excluded.version, writer = excluded.writer, record = excluded.record"
    " WHERE (excluded.version, excluded.writer) > (brokers.version, brokers.writer)"
)
"""An older record never replaces a newer one, whatever the order in which they come."""
FORGET_BROKER = "DELETE FROM brokers WHERE id = $1"
ALL_BROKERS = "SELECT id, record FROM brokers"
PUT_DOCUMENT = (
    "INSERT INTO documents (name, data) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET data = excluded.data"
)
DOCUMENT = "SELECT data FROM documents WHERE name = $1"
LOG = (
    "INSERT INTO adaptations (id, at, record) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET"
    " at = excluded.at, record = excluded.record"
)
LOGGED = "SELECT record FROM adaptations ORDER BY at DESC, id LIMIT $1"
TRIM = (
    "DELETE FROM adaptations WHERE id NOT IN (SELECT id FROM adaptations ORDER BY at DESC, id LIMIT"
    f" {KEPT_ADAPTATIONS})"
)

Row = Sequence[Any]
T = TypeVar("T")


class StoreFailed(RegraftError):
    """The database itself does not answer, or not in time."""


class Store(Protocol):
    """Runs statements like those above, with parameters $1, $2 …"""

    name: str
    some_brokers: str
    """Like ALL_BROKERS, for a parameter that `listed` makes of ids."""

    def listed(self, ids: Sequence[str]) -> Any: ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def read(self, statement: str, *values: Any) -> list[Row]: ...

    async def write(self, statement: str, rows: Sequence[Row]) -> None:
        """The statement for every row, in one transaction."""


def store_of(url: str) -> Store:
    """`sqlite:PATH`, or `postgresql://…`."""
    if url.startswith("sqlite:") and url != "sqlite:":
        return SqliteStore(Path(url.removeprefix("sqlite:")))
    if url.startswith(("postgresql://", "postgres://")):
        from regraft.heal.database.postgres import PostgresStore  # noqa: PLC0415 (loads asyncpg)

        return PostgresStore(url)
    raise BadInput("store", "must be sqlite:PATH or postgresql://USER@HOST:PORT/DATABASE")


class SqliteStore:
    """A file, used by one thread. It has a write-ahead log, so a kill loses nothing that was acknowledged."""

    some_brokers = f"{ALL_BROKERS} WHERE id IN (SELECT value FROM json_each($1))"

    def __init__(self, path: Path) -> None:
        self.name = f"sqlite:{path}"
        self._path = path
        self._thread = ThreadPoolExecutor(1, "regraft-sqlite")
        self._connection: sqlite3.Connection | None = None

    def listed(self, ids: Sequence[str]) -> str:
        return json.dumps(ids)

    async def open(self) -> None:
        def begin() -> None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=SECONDS, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            for statement in TABLES:
                connection.execute(statement)
            self._connection = connection

        await self._run(begin)

    async def close(self) -> None:
        def end() -> None:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

        with contextlib.suppress(StoreFailed):
            await self._run(end)
        self._thread.shutdown(wait=False)

    async def read(self, statement: str, *values: Any) -> list[Row]:
        return await self._run(lambda: list(self._open().execute(statement, _numbered(values))))

    async def write(self, statement: str, rows: Sequence[Row]) -> None:
        def commit() -> None:
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.executemany(statement, [_numbered(row) for row in rows])
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise

        await self._run(commit)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreFailed(f"{self.name}: is closed")
        return self._connection

    async def _run(self, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        try:
            # Not wait_for: in Python 3.11 that swallows a cancellation that comes together with the result.
            async with asyncio.timeout(SECONDS):
                return await loop.run_in_executor(self._thread, work)
        except TimeoutError:
            raise StoreFailed(f"{self.name}: no answer within {SECONDS:g} s") from None
        except (sqlite3.Error, OSError, RuntimeError) as fault:
            raise StoreFailed(f"{self.name}: {fault}") from None


def _numbered(values: Row) -> dict[str, Any]:
    return {str(number): value for number, value in enumerate(values, start=1)}
