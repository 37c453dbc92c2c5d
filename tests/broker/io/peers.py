"""Brokers and raw peers for the tests with real sockets; everything ends with its block."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

from regraft.broker.io.configuration import Allowed, Configuration
from regraft.broker.io.overlay import Overlay
from regraft.broker.io.running import run
from regraft.broker.io.server import BrokerServer
from regraft.model import Topology
from regraft.protocol.messages import AnyMessage, ClientHello, Refused
from regraft.wire.numbered import Reader, Wire

T = TypeVar("T")
HASTY = Allowed(heartbeat_seconds=0.05, hello_seconds=0.3, silent_seconds=30.0)
"""Limits of a broker whose timers a test can wait for."""


def finish(work: Coroutine[Any, Any, T], seconds: float = 30.0) -> T:
    """Run to the end; a test that hangs fails instead."""
    return run(asyncio.wait_for(work, seconds))


def chain(count: int) -> Topology:
    ids = [f"b{i}" for i in range(count)]
    return Topology.of(itertools.pairwise(ids), ids)


@asynccontextmanager
async def overlay(topology: Topology, base: Configuration | None = None) -> AsyncIterator[Overlay]:
    """Brokers that differ in their id and neighbours only."""
    base = base if base is not None else Configuration("")
    running = Overlay(
        topology, lambda id, near: replace(base, broker=id, neighbours=near, kind=topology.kind)
    )
    async with running:
        yield running


@asynccontextmanager
async def broker(**options: Any) -> AsyncIterator[BrokerServer]:
    """One broker alone."""
    server = BrokerServer(Configuration("b0", **options), {})
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def at(running: Overlay | BrokerServer, id: str = "b0") -> str:
    """`host:port` of a broker."""
    address = running.addresses[id] if isinstance(running, Overlay) else running.address
    return f"{address[0]}:{address[1]}"


class RawPeer:
    """A peer that may break every rule."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.wire = Wire()
        self._frames = Reader(Wire())

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    def say(self, *messages: AnyMessage) -> None:
        self.write(self.wire.frame(list(messages)))

    def hello(self, name: str = "raw", **fields: Any) -> None:
        given: dict[str, Any] = {"advertisements": [], "subscriptions": [], **fields}
        self.say(ClientHello(name, **given))

    async def heard(self) -> list[AnyMessage]:
        """Everything until the broker closes the connection."""
        messages: list[AnyMessage] = []
        try:
            while data := await self.reader.read(1 << 16):
                messages += self._frames.messages(data)
        except ConnectionError:
            pass
        return messages

    async def hears(self, kind: type[AnyMessage]) -> AnyMessage:
        """Until a message of this kind comes."""
        while data := await self.reader.read(1 << 16):
            for message in self._frames.messages(data):
                if isinstance(message, kind):
                    return message
        raise AssertionError(f"closed before a {kind.__name__} came")

    async def refusal(self) -> str:
        """Why the broker closed the connection."""
        return refusal(await self.heard())


def refusal(messages: Sequence[AnyMessage]) -> str:
    reasons = [each.reason for each in messages if isinstance(each, Refused)]
    assert reasons, f"closed without a word: {messages}"
    return reasons[-1]


@asynccontextmanager
async def raw_peer(running: Overlay | BrokerServer, id: str = "b0") -> AsyncIterator[RawPeer]:
    host, port = at(running, id).rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield RawPeer(reader, writer)
    finally:
        writer.transport.abort()
