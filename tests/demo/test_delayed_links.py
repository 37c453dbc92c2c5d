"""A delayed link is late in both directions, keeps the order, and loses nothing that a direct one keeps."""

import asyncio
import time
from collections.abc import Coroutine
from functools import partial
from typing import Any

from regraft.broker.io.configuration import Configuration
from regraft.broker.io.running import run
from regraft.broker.io.server import BrokerServer
from regraft.client import connect
from regraft.demo.delayed_links import DelayedCalls, DelayedTransport, delayed_server

FAR = 0.06


def within(scenario: Coroutine[Any, Any, None]) -> None:
    run(asyncio.wait_for(scenario, 30))


def test_calls_come_later_and_in_order() -> None:
    async def scenario() -> None:
        late = DelayedCalls(0.02)
        seen: list[tuple[int, float]] = []
        began = time.monotonic()

        def see(number: int) -> None:
            seen.append((number, time.monotonic() - began))

        for number in range(100):
            late.put(partial(see, number))
        assert len(late) == 100
        while len(late):
            await asyncio.sleep(0.005)
        assert [number for number, _ in seen] == list(range(100))
        assert min(after for _, after in seen) >= 0.019

    within(scenario())


def test_what_waits_can_be_hurried_or_dropped() -> None:
    async def scenario() -> None:
        late, seen = DelayedCalls(10.0), []
        late.put(lambda: seen.append(1))
        late.hurry()
        late.put(lambda: seen.append(2))
        late.drop()
        assert (seen, len(late)) == ([1], 0)

    within(scenario())


class Told:
    """A transport that notes what it is told."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def is_closing(self) -> bool:
        return "close" in self.calls or "abort" in self.calls

    def get_write_buffer_size(self) -> int:
        return 5

    def write(self, data: bytes) -> None:
        self.calls.append(data.decode())

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")


def test_a_transport_closes_after_what_was_written_and_aborts_at_once() -> None:
    async def scenario() -> None:
        told: Any = Told()
        far = DelayedTransport(told, 0.01)
        far.write(b"abc")
        assert (far.get_write_buffer_size(), far.is_closing()) == (8, False)
        far.close()
        assert far.is_closing()
        await asyncio.sleep(0.05)
        assert told.calls == ["abc", "close"]
        told = Told()
        far = DelayedTransport(told, 0.01)
        far.write(b"abc")
        far.abort()
        await asyncio.sleep(0.05)
        assert told.calls == ["abort"]

    within(scenario())


def test_a_transport_that_was_lost_before_anybody_was_told_ends_at_once() -> None:
    class Lost(Told):
        def write(self, data: bytes) -> None:
            raise RuntimeError("the handler is closed")

    async def scenario() -> None:
        told: Any = Lost()
        far = DelayedTransport(told, 0.01)
        for data in (b"abc", b"def"):
            far.write(data)
        await asyncio.sleep(0.05)
        assert told.calls == ["abort"]
        assert (far.is_closing(), len(far._out)) == (True, 0)

    within(scenario())


def test_events_over_a_far_link_take_as_long_as_the_link() -> None:
    async def scenario() -> None:
        addresses: dict[str, tuple[str, int]] = {}
        made = delayed_server({("a", "b"): FAR})
        brokers: list[BrokerServer] = [
            made(Configuration(id, (near,)), addresses) for id, near in (("a", "b"), ("b", "a"))
        ]
        for broker in brokers:
            addresses[broker.id] = await broker.listen()
        for broker in brokers:
            await broker.start()
        one, other = ("{}:{}".format(*addresses[id]) for id in ("a", "b"))
        async with connect(one) as publisher, connect(other) as subscriber:
            subscription = await subscriber.subscribe("n >= 0")
            began = time.monotonic()
            for number in range(20):
                await publisher.send({"n": number})
            numbers = []
            async for event in subscription:
                numbers.append(event.attributes["n"])
                if len(numbers) == 20:
                    break
            subscription.confirm()
            assert numbers == list(range(20))
            assert time.monotonic() - began >= FAR
            await publisher.flush()
            assert time.monotonic() - began >= 2 * FAR  # the acknowledgement comes back over the link
        for broker in brokers:
            await broker.stop()

    within(scenario())
