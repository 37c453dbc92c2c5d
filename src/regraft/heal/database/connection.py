"""One connection to a database: calls by number, answers as they come, and a time limit for each.

On failure: a call that is not answered in time, or whose connection ends, or is answered with garbage, raises
`DatabaseAway` with the reason; the next call connects anew.
"""

import asyncio
import contextlib

from regraft.heal.database.protocol import ANSWERS, Answer, Ask, Call, frame, receive
from regraft.heal.database.records import Garbled
from regraft.model import RegraftError


class DatabaseAway(RegraftError):
    """This database does not answer, or answers garbage; another one may know."""


class Connection:
    """Connects at the first call. `place` names it in messages."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.place = f"database at {host}:{port}"
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._calls = 0
        self._opening = asyncio.Lock()

    async def call(self, ask: Ask, seconds: float) -> Answer:
        try:
            async with asyncio.timeout(seconds):
                return await self._call(ask)
        except TimeoutError:
            raise DatabaseAway(f"{self.place}: no answer in {seconds:g} s") from None
        except OSError as fault:
            raise DatabaseAway(f"{self.place}: {fault.strerror or fault}") from None

    async def _call(self, ask: Ask) -> Answer:
        async with self._opening:
            if self._writer is None:
                reader, self._writer = await asyncio.open_connection(self.host, self.port)
                self._reading = asyncio.create_task(self._read(reader, self._writer))
        self._calls += 1
        number = self._calls
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._writer.write(frame(Call(number, ask)))
            await self._writer.drain()
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reason = "the connection has ended"
        try:
            while True:
                answer: Answer = await receive(reader, ANSWERS, self.place)
                waiting = self._waiting.get(answer.number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        except Garbled as fault:
            reason = fault.reason
        except (EOFError, OSError):
            pass
        finally:
            self._end(writer, reason)

    def _end(self, writer: asyncio.StreamWriter, reason: str) -> None:
        writer.close()
        if self._writer is writer:
            self._writer = None
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            if not each.done():
                each.set_exception(DatabaseAway(f"{self.place}: {reason}"))

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError, DatabaseAway):
                await self._reading
