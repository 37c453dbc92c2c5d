"""Managers' connections: who is let in, what arrives, what is noticed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regraft.heal.wire.connections import Connections
from regraft.heal.wire.messages import FORMAT, Cause, Hello, Message, Ping, Pong
from regraft.model import BadInput
from regraft.model.facts import Event, Load
from regraft.wire.frames import LENGTH, Frames
from regraft.wire.streams import Address


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(20):
            await scenario

    asyncio.run(limited())


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.005)


class Manager:
    """One end; writes down what happens to it."""

    def __init__(self, id: str, book: dict[str, Address], token: str = "secret") -> None:
        self.id = id
        self.heard: list[tuple[str, Message]] = []
        self.events: list[str] = []
        self.connections = Connections(
            Hello(id=id, life=1, token=token),
            book.get,
            lambda peer, message: self.heard.append((peer, message)),
            lambda peer: self.events.append(f"up {peer}"),
            lambda peer: self.events.append(f"down {peer}"),
        )


@asynccontextmanager
async def managers(*ids: str, **tokens: str) -> AsyncIterator[list[Manager]]:
    book: dict[str, Address] = {}
    made = [Manager(id, book, tokens.get(id, "secret")) for id in ids]
    for each in made:
        book[each.id] = await each.connections.listen("127.0.0.1")
    try:
        yield made
    finally:
        for each in made:
            await each.connections.stop()


def test_what_is_said_arrives_in_order_and_one_connection_serves_both() -> None:
    async def scenario() -> None:
        async with managers("a", "b") as (a, b):
            for number in range(5):
                a.connections.send("b", Ping(number=number, broker="b"))
            await until(lambda: len(b.heard) == 5)
            assert b.heard == [("a", Ping(number=number, broker="b")) for number in range(5)]
            b.connections.send("a", Pong(number=1, broker="b", load=Load(cpu=0.5)))
            await until(lambda: bool(a.heard))
            assert a.heard == [("b", Pong(number=1, broker="b", load=Load(cpu=0.5)))]
            assert (a.events, b.events) == (["up b"], ["up a"])

    run(scenario())


def test_a_kept_peer_is_called_again_and_its_end_is_noticed() -> None:
    async def scenario() -> None:
        async with managers("a", "b") as (a, b):
            a.connections.keep("b")
            await until(lambda: a.events == ["up b"])
            for each in list(b.connections.open):
                each.abort()
            await until(lambda: a.events == ["up b", "down b", "up b"])
            await b.connections.stop()
            await until(lambda: a.events[-1] == "down b")
            assert not a.connections.connected("b")

    run(scenario())


def test_a_peer_that_does_not_know_the_secret_gets_no_answer() -> None:
    async def scenario() -> None:
        async with managers("a", "b", b="wrong") as (a, b):
            b.connections.send("a", Ping(number=1, broker="a"))
            a.connections.send("b", Ping(number=1, broker="b"))
            await asyncio.sleep(0.2)
            assert (a.heard, b.heard, a.events, b.events) == ([], [], [], [])

    run(scenario())


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        LENGTH.pack(FORMAT.largest + 1),
        LENGTH.pack(3) + b"\xc1\xc1\xc1",
        FORMAT.frame(Ping(number=1, broker="a")),
        FORMAT.frame(Hello(id="a", life=1, token="secret")),
    ],
    ids=["another protocol", "too long", "no message", "no hello", "our own name"],
)
def test_garbage_ends_the_connection_and_nothing_else(garbage: bytes) -> None:
    async def scenario() -> None:
        async with managers("a", "b") as (a, b):
            where = a.connections._server
            assert where is not None
            reader, writer = await asyncio.open_connection(*where.sockets[0].getsockname())
            writer.write(garbage)
            assert await reader.read() == b""
            writer.close()
            b.connections.send("a", Ping(number=7, broker="a"))
            await until(lambda: bool(a.heard))
            assert a.heard == [("b", Ping(number=7, broker="a"))]

    run(scenario())


def test_what_is_said_to_an_unknown_peer_is_forgotten() -> None:
    async def scenario() -> None:
        async with managers("a", "b") as (a, b):
            a.connections.send("nobody", Ping(number=1, broker="x"))
            a.connections.send("a", Ping(number=1, broker="a"))
            await b.connections.stop()
            a.connections.send("b", Ping(number=1, broker="b"))
            await asyncio.sleep(0.1)
            assert a.heard == b.heard == []

    run(scenario())


@given(st.lists(st.integers(0, 2**31), max_size=20), st.randoms(use_true_random=False))
def test_frames_come_out_however_they_are_cut(numbers: list[int], rng: Any) -> None:
    event = Event(name="brokerOverloaded", broker="b", arguments={"cpu": 1.0})
    sent: list[Message] = [Cause(election="1", cause="x", event=event, vote_ms=float(n)) for n in numbers]
    data = b"".join(map(FORMAT.frame, sent))
    frames, got = Frames(FORMAT), list[Message]()
    while data:
        cut = rng.randint(1, len(data))
        frames.add(data[:cut])
        got += frames.messages()
        data = data[cut:]
    assert got == sent


@given(st.binary(min_size=1, max_size=200))
def test_bytes_that_are_no_message_are_refused_or_waited_for(data: bytes) -> None:
    try:
        frames = Frames(FORMAT)
        frames.add(data)
        found = list(frames.messages())
    except BadInput:
        return
    assert all(isinstance(each, Message) for each in found)
