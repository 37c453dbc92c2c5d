"""Faults for a client: a wire that loses requests or answers on command, and the end of a session."""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from kazoo.client import KazooClient

from regraft.coord import ConnectionState, Coord

T = TypeVar("T")


def finish(scenario: Coroutine[Any, Any, T], seconds: float = 60) -> T:
    """With a limit, so that a test that hangs fails."""

    async def within() -> T:
        async with asyncio.timeout(seconds):
            return await scenario

    return asyncio.run(within())


class Wire:
    """Between a client and a server. Loses requests or answers from now on; `cut` breaks it once."""

    def __init__(self, hosts: str) -> None:
        host, _, port = hosts.partition(":")
        self._server = (host, int(port))
        self._writers: list[asyncio.StreamWriter] = []
        self.loses_requests = False
        self.loses_answers = False
        self.refuses = False
        self.breaks_after: int | None = None
        """Answers that pass on the next connection before it breaks; once."""
        self.lost_answer = asyncio.Event()
        self.lost_request = asyncio.Event()

    async def __aenter__(self) -> "Wire":
        self._listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.hosts = f"127.0.0.1:{self._listening.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.close()
        self.cut()

    def cut(self) -> None:
        """Break every connection. New ones are possible, and lose nothing any more."""
        self.loses_requests = self.loses_answers = False
        self.lost_answer.clear()
        self.lost_request.clear()
        writers, self._writers = self._writers, []
        for writer in writers:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection(*self._server)
        self._writers += [writer, far_writer]
        passing, self.breaks_after = self.breaks_after, None
        await asyncio.gather(
            self._carry(reader, far_writer, "loses_requests", self.lost_request),
            self._carry(far_reader, writer, "loses_answers", self.lost_answer, passing),
        )

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        loses: str,
        lost: asyncio.Event,
        passing: int | None = None,
    ) -> None:
        try:
            while passing != 0 and (data := await reader.read(65536)):
                passing = None if passing is None else passing - 1
                if getattr(self, loses):
                    lost.set()
                else:
                    writer.write(data)
        except ConnectionError:
            pass
        writer.transport.abort()


async def expire(coord: Coord) -> None:
    """Ends the session of `coord` on the server: a second client takes it over, and closes it."""
    session_id = coord.session_id
    # The id and password are kazoo's own; there is no other way to let a session expire at once.
    client_id = coord._session._client.client_id
    renewed = asyncio.Event()
    forget = coord.on_state(lambda change: renewed.set() if change.new_session else None)

    def take_over_and_close() -> None:
        thief = KazooClient(hosts=coord.configuration.hosts, client_id=client_id)
        thief.start()
        thief.stop()
        thief.close()

    await asyncio.to_thread(take_over_and_close)
    await renewed.wait()
    forget()
    assert coord.state is ConnectionState.CONNECTED
    assert coord.session_id != session_id


async def until(coord: Coord, state: ConnectionState) -> None:
    """Wait until the connection is in this state."""
    reached = asyncio.Event()
    forget = coord.on_state(lambda change: reached.set() if change.state is state else None)
    if coord.state is not state:
        await reached.wait()
    forget()
