"""A second-layer database in PostgreSQL, by asyncpg: no threads, and every call has a time limit of its own.

On failure: after a lost connection the next call connects again; every call ends within the limit.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import asyncpg

from regraft.heal.database.store import ALL_BROKERS, SECONDS, TABLES, Row, StoreFailed
from regraft.model import BadInput

T = TypeVar("T")


class PostgresStore:
    """`postgresql://USER:PASSWORD@HOST:PORT/DATABASE`; the schema `regraft` is made there."""

    some_brokers = f"{ALL_BROKERS} WHERE id = ANY($1::text[])"

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        try:
            place = f"{parts.hostname or ''}:{parts.port or 5432}{parts.path}"
        except ValueError:
            raise BadInput("store", "the port in the URL of PostgreSQL is not a number") from None
        self.name = f"postgresql://{place}"  # without the password
        self._url = url
        self._connection: Any = None
        self._one_at_a_time = asyncio.Lock()

    def listed(self, ids: Sequence[str]) -> list[str]:
        return list(ids)

    async def open(self) -> None:
        async with self._one_at_a_time:
            await self._limited(self._connected())

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    async def read(self, statement: str, *values: Any) -> list[Row]:
        async def work() -> list[Row]:
            connection = await self._connected()
            return [tuple(row) for row in await connection.fetch(statement, *values)]

        async with self._one_at_a_time:
            return await self._limited(work())

    async def write(self, statement: str, rows: Sequence[Row]) -> None:
        async def work() -> None:
            connection = await self._connected()
            await connection.executemany(statement, rows)  # one transaction

        async with self._one_at_a_time:
            await self._limited(work())

    async def _connected(self) -> Any:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(
                self._url,
                timeout=SECONDS,
                server_settings={"search_path": "regraft", "application_name": "regraft"},
            )
            await self._connection.execute("CREATE SCHEMA IF NOT EXISTS regraft")
            for statement in TABLES:
                await self._connection.execute(statement)
        return self._connection

    async def _limited(self, work: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(SECONDS):
                return await work
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as fault:
            await self.close()  # the outcome is not known: the next call connects again
            text = str(fault).splitlines()[0] if str(fault) else type(fault).__name__
            raise StoreFailed(f"{self.name}: {text}") from None
