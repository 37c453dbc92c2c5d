"""Connections on real sockets: what is said arrives, and peers that misbehave are disconnected."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme

from regraft.model import BadInput
from regraft.wire.frames import LENGTH, BadFrame, Format
from regraft.wire.identity import Tls, accepting, dialling
from regraft.wire.streams import Address, Stream, address_of, dial, listen


class Said(msgspec.Struct, frozen=True):
    text: str


FORMAT: Format[Said, Said] = Format(Said, 1 << 20)
SMALL: Format[Said, Said] = Format(Said, 100)


class End(Stream[Said, Said]):
    """Writes down what happens to it; the text `stop` pauses it."""

    def __init__(self, among: set[Any], format: Format[Said, Said] = FORMAT, **limits: Any) -> None:
        super().__init__(format, among, **limits)
        self.said: list[str] = []
        self.fault: BadFrame | None = None
        self.over = asyncio.Event()
        self.shown: set[str] = set()

    def opened(self) -> None:
        self.shown = self.names

    def heard(self, message: Said) -> None:
        self.said.append(message.text)
        if message.text == "stop":
            self.pause()

    def garbled(self, fault: BadFrame) -> None:
        self.fault = fault
        super().garbled(fault)

    def ended(self) -> None:
        self.over.set()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(20):
            await scenario

    asyncio.run(limited())


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.005)


@asynccontextmanager
async def serving(
    tls: ssl.SSLContext | None = None, **options: Any
) -> AsyncIterator[tuple[Address, set[End]]]:
    open: set[End] = set()
    server = await listen(lambda: End(open, **options), ("127.0.0.1", 0), tls)
    try:
        yield address_of(server), open
    finally:
        server.close()
        for each in list(open):
            each.abort()
        await asyncio.sleep(0)


@asynccontextmanager
async def pair(tls: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[tuple[End, End]]:
    """The end that has dialled, without limits, and the end that was dialled."""
    async with serving(**options) as (address, open):
        mine = await dial(lambda: End(set()), address, tls)
        await until(lambda: bool(open))
        yield mine, next(iter(open))
        mine.abort()


def test_what_is_said_arrives_in_order_on_both_sides() -> None:
    async def scenario() -> None:
        async with pair() as (mine, theirs):
            for number in range(100):
                mine.send(Said(str(number)))
                theirs.send(Said(f"{number}" * 1000))
            await until(lambda: len(mine.said) == len(theirs.said) == 100)
            assert theirs.said == [str(number) for number in range(100)]
            mine.close()
            await theirs.over.wait()
            assert (mine.open, theirs.open, theirs.reason) == (False, False, "")
            theirs.send(Said("to nobody"))

    run(scenario())


def test_a_peer_that_is_not_introduced_in_time_is_disconnected() -> None:
    async def scenario() -> None:
        async with pair(patience=0.05) as (mine, theirs):
            await mine.over.wait()
            assert (theirs.id, theirs.known.result()) == ("", False)
        async with pair(patience=0.05) as (mine, theirs):
            theirs.introduced("b1")
            await asyncio.sleep(0.1)
            assert (theirs.id, theirs.open, await theirs.known) == ("b1", True, True)

    run(scenario())


def test_the_first_message_may_be_limited_more_than_the_others() -> None:
    async def scenario() -> None:
        async with pair(format=SMALL) as (mine, theirs):
            mine.send(Said("x" * 200))
            await mine.over.wait()
            assert re.fullmatch(r"a frame of 2\d\d bytes, where 100 are allowed", theirs.reason)
        async with pair(format=SMALL) as (mine, theirs):
            theirs.introduced("b1", FORMAT)
            mine.send(Said("x" * 200))
            await until(lambda: theirs.said == ["x" * 200])

    run(scenario())


def test_a_peer_that_reads_nothing_is_disconnected() -> None:
    async def scenario() -> None:
        async with pair(most_unsent=1 << 16) as (mine, theirs):
            mine.pause()
            while theirs.open:
                theirs.send(Said("x" * 100_000))
            await theirs.over.wait()

    run(scenario())


def test_reading_pauses_at_once_and_nothing_is_lost() -> None:
    async def scenario() -> None:
        async with pair() as (mine, theirs):
            for text in ("a", "stop", "b", "stop", "c"):
                mine.send(Said(text))
            await until(lambda: theirs.said == ["a", "stop"])
            await asyncio.sleep(0.05)
            assert theirs.said == ["a", "stop"]
            theirs.resume()
            await until(lambda: theirs.said == ["a", "stop", "b", "stop"])
            theirs.resume()
            await until(lambda: theirs.said[-1] == "c")

    run(scenario())


def test_what_comes_before_a_bad_frame_is_heard_and_nothing_after_it() -> None:
    async def scenario() -> None:
        async with serving() as (address, open):
            reader, writer = await asyncio.open_connection(*address)
            await until(lambda: bool(open))
            theirs = next(iter(open))
            good = FORMAT.frame(Said("good"))
            writer.write(good + LENGTH.pack(1) + b"\xc1" + good)
            assert await reader.read() == b""
            writer.close()
            assert theirs.said == ["good"]
            assert theirs.fault is not None
            assert theirs.reason == theirs.fault.rule

    run(scenario())


def test_an_address_that_can_not_be_listened_on_is_bad_input() -> None:
    async def scenario() -> None:
        async with serving() as (address, _):
            with pytest.raises(BadInput, match=f"127.0.0.1:{address[1]}: cannot be listened on: "):
                await listen(lambda: End(set()), address)
        with pytest.raises(BadInput, match=r"a\.\.b:0: cannot be listened on: "):
            await listen(lambda: End(set()), ("a..b", 0))

    run(scenario())


def test_with_tls_each_side_sees_the_names_of_the_other(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    for name in ("b1", "b2"):
        certificate = authority.issue_cert(name, "127.0.0.1")
        certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / name)

    def tls(name: str) -> Tls:
        return Tls(tmp_path / name, tmp_path / name, tmp_path / "ca.pem")

    async def scenario() -> None:
        async with serving(accepting(tls("b1"))) as (address, open):
            mine = await dial(lambda: End(set()), address, dialling(tls("b2")))
            await until(lambda: bool(open))
            assert mine.shown == {"b1", "127.0.0.1"}
            assert next(iter(open)).shown == {"b2", "127.0.0.1"}
            mine.abort()
        async with pair() as (mine, theirs):
            assert mine.shown == theirs.shown == set()

    run(scenario())
