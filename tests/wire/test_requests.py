"""Requests and their answers: by number, within a time limit, and at once when a connection ends."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from regraft.wire.frames import Format
from regraft.wire.requests import Answering, Away, Caller, Requests
from regraft.wire.streams import Address, address_of, listen


class Ask(msgspec.Struct, frozen=True):
    number: int
    wait: float = 0.0
    token: str = ""


class Told(msgspec.Struct, frozen=True):
    number: int
    order: int = 0


ASKED: Format[Ask, Told] = Format(Ask, 1000)
ASKING: Format[Told, Ask] = Format(Told, 1000)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(20):
            await scenario

    asyncio.run(limited())


def number(told: Told) -> int:
    return told.number


class Peer:
    """Answers after the time that was asked for."""

    def __init__(self) -> None:
        self.open: set[Answering[Ask, Told]] = set()
        self.under_way = self.most = 0
        self.done: list[int] = []
        self.refused: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._order = itertools.count(1)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def answer(self, ask: Ask) -> Told:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(ask.wait)
        self.under_way -= 1
        self.done.append(ask.number)
        return Told(ask.number, next(self._order))

    def refuse(self, peer: str, reason: str) -> Told:
        self.refused.append(reason)
        return Told(0)

    @asynccontextmanager
    async def serving(self, most: int = 100) -> AsyncIterator[Address]:
        server = await listen(
            lambda: Answering(ASKED, self.open, self.answer, self.begin, self.refuse, most), ("127.0.0.1", 0)
        )
        try:
            yield address_of(server)
        finally:
            server.close()
            for each in list(self.open):
                each.abort()
            await asyncio.sleep(0)


def asking(caller: Caller[Told, Ask], wait: float, seconds: float = 10.0) -> Coroutine[Any, Any, Told]:
    return caller.call(lambda number: Ask(number, wait), seconds)


def test_answers_may_come_in_another_order_than_requests() -> None:
    async def scenario() -> None:
        async with Peer().serving() as address:
            caller = Caller(address, ASKING, number)
            slow, fast = await asyncio.gather(asking(caller, 0.1), asking(caller, 0.0))
            assert (fast.order, slow.order) == (1, 2)
            assert fast.number != slow.number
            caller.close()

    run(scenario())


def test_a_request_that_takes_too_long_is_given_up_and_others_are_answered() -> None:
    async def scenario() -> None:
        async with Peer().serving() as address:
            caller = Caller(address, ASKING, number)
            slow = asyncio.create_task(asking(caller, 0.2))
            with pytest.raises(TimeoutError):
                await asking(caller, 0.1, seconds=0.05)
            assert isinstance(await slow, Told)
            caller.close()

    run(scenario())


def test_when_the_connection_ends_requests_fail_and_the_next_one_connects_again() -> None:
    async def scenario() -> None:
        peer, ends = Peer(), list[str]()
        async with peer.serving() as address:
            caller = Caller(address, ASKING, number, ended=lambda: ends.append("ended"))
            await asking(caller, 0.0)
            waiting = asyncio.create_task(asking(caller, 0.05))
            await asyncio.sleep(0.02)
            for each in list(peer.open):
                each.abort()
            with pytest.raises(Away, match="the connection has ended"):
                await waiting
            assert (ends, (await asking(caller, 0.0)).number) == (["ended"], 3)
            await asyncio.sleep(0.1)
            assert sorted(peer.done) == [1, 2, 3]  # what was asked is done, although no answer arrives
            caller.close()
        await asyncio.sleep(0.01)
        with pytest.raises(Away, match=r"refused|Connect"):
            await asking(caller, 0.0)

    run(scenario())


def test_only_so_many_requests_are_answered_at_a_time() -> None:
    async def scenario() -> None:
        peer = Peer()
        async with peer.serving(most=3) as address:
            caller = Caller(address, ASKING, number)
            answers = await asyncio.gather(*(asking(caller, 0.01) for _ in range(20)))
            assert sorted(answer.number for answer in answers) == list(range(1, 21))
            assert peer.most == 3
            caller.close()

    run(scenario())


def test_a_peer_that_sends_garbage_gets_a_last_answer() -> None:
    async def scenario() -> None:
        peer = Peer()
        async with peer.serving() as address:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(ASKING.frame(Ask(1)) + b"GET / HTTP/1.1")
            assert (await reader.read()).endswith(ASKED.frame(Told(0)))
            writer.close()
            assert peer.refused == ["a frame of 1195725856 bytes, where 1000 are allowed"]
            assert peer.done == [1]

    run(scenario())


async def _lines(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers a hello with the right token, then everything; each time it also says something unasked."""
    hello = msgspec.msgpack.decode((await reader.read(1000))[4:], type=Ask)
    if hello.token == "secret":
        writer.write(ASKED.frame(Told(0)))
        while data := await reader.read(1000):
            ask = msgspec.msgpack.decode(data[4:], type=Ask)
            writer.write(ASKED.frame(Told(0, 7)) + ASKED.frame(Told(ask.number)))
    writer.close()


async def _garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1000)
    writer.write(b"\x00\x00\x00\x01\xc1")
    await reader.read()
    writer.close()


async def _silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1000)
    await reader.read()
    writer.close()


def test_a_hello_is_answered_before_the_first_request() -> None:
    async def scenario() -> None:
        server = await asyncio.start_server(_lines, "127.0.0.1", 0)
        heard: list[Told] = []
        caller = Caller(address_of(server), ASKING, number, hello=Ask(0, token="secret"), heard=heard.append)
        assert await asking(caller, 0.0) == Told(1)
        assert heard == [Told(0, 7), Told(1)]
        caller.close()
        stranger = Caller(address_of(server), ASKING, number, hello=Ask(0, token="guess"))
        with pytest.raises(Away, match="does not accept the token"):
            await asking(stranger, 0.0)
        server.close()

    run(scenario())


def test_garbage_is_the_reason_and_silence_is_a_time_out() -> None:
    async def scenario() -> None:
        server = await asyncio.start_server(_garbage, "127.0.0.1", 0)
        with pytest.raises(Away, match="something that is not a message"):
            await asking(Caller(address_of(server), ASKING, number), 0.0)
        with pytest.raises(Away, match="something that is not a message"):
            await asking(Caller(address_of(server), ASKING, number, hello=Ask(0)), 0.0)
        server.close()
        server = await asyncio.start_server(_silent, "127.0.0.1", 0)
        silent = Caller(address_of(server), ASKING, number, hello=Ask(0), connect_seconds=0.05)
        with pytest.raises(TimeoutError):
            await asking(silent, 0.0)
        server.close()

    run(scenario())


def test_garbage_ends_the_waiting_although_the_peer_does_not_read() -> None:
    async def garbage_only(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"\xff" * 100)
        await asyncio.sleep(30)

    async def scenario() -> None:
        server = await asyncio.start_server(garbage_only, "127.0.0.1", 0)
        caller: Caller[Told, Ask] = Caller(address_of(server), ASKING, number)
        large = "x" * 50_000_000  # more than the system takes in before the peer reads
        with pytest.raises(Away):
            await caller.call(lambda number: Ask(number, token=large), 15.0)
        server.close()

    run(scenario())


def test_what_waits_for_one_peer_does_not_end_with_another() -> None:
    async def scenario() -> None:
        requests = Requests[str, int]()
        one = asyncio.create_task(requests.ask("a", lambda: None, "b1", 10.0))
        two = asyncio.create_task(requests.ask("b", lambda: None, "b2", 10.0))
        await asyncio.sleep(0)
        requests.lost("b1", "b1 has ended")
        requests.answered("b", 5)
        requests.answered("nobody", 5)
        with pytest.raises(Away, match="b1 has ended"):
            await one
        assert await two == 5

    run(scenario())
