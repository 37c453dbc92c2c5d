"""Everything that waits ends in time, and says what it waited for and how the connection is."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.broker.io.peers import at, broker, finish
from tests.client.brokers import distant

from regraft.broker.io.configuration import Configuration
from regraft.broker.io.server import BrokerServer
from regraft.client import Event, RegraftError, Session, Subscription, TimedOut, Unreachable, connect, sync

SOON = 0.2
GONE = r" within 0\.2 s; not connected: 127\.0\.0\.1:\d+: "
Wait = Callable[[Any, Any], Any]
WAITS: dict[str, tuple[Wait, str]] = {
    "publish": (
        lambda c, _: c.publish({"n": 1}, timeout=SOON),
        r"no acknowledgement \(what was sent may still",
    ),
    "publish_many": (lambda c, _: c.publish_many([{"n": 1}], timeout=SOON), "no acknowledgement"),
    "flush": (lambda c, _: c.flush(timeout=SOON), "no acknowledgement"),
    "advertise": (lambda c, _: c.advertise("n > 1", timeout=SOON), "no advertisement 'n > 1' in place"),
    "subscribe": (lambda c, _: c.subscribe("n > 1", timeout=SOON), "no subscription to 'n > 1' in place"),
    "unsubscribe": (lambda c, s: c.unsubscribe(s, timeout=SOON), "no answer to the withdrawal"),
    "next event": (lambda _, s: s.get(timeout=SOON), "no event for 'TRUE'"),
}


@pytest.fixture
def gone() -> Iterator[tuple[sync.Session, sync.Subscription]]:
    """A session whose broker has left, with an event that was not acknowledged."""
    with distant() as broker:
        session = sync.connect(broker.address).__enter__()
        subscription = session.subscribe("TRUE")
        broker.leave()
        session.send({"n": 0})
        while session._inner.core.connected:
            time.sleep(0.01)
        yield session, subscription
        with pytest.raises(Unreachable, match=r"publications were not acknowledged: not connected"):
            session.close(timeout=SOON)


@pytest.mark.parametrize(("wait", "words"), WAITS.values(), ids=WAITS)
def test_every_wait_for_a_broker_that_is_gone_ends(
    wait: Wait, words: str, gone: tuple[sync.Session, sync.Subscription]
) -> None:
    with pytest.raises(TimedOut, match=words + ".*" + GONE) as raised:
        wait(*gone)
    assert isinstance(raised.value, TimeoutError)
    assert isinstance(raised.value, RegraftError)


def test_without_await_it_is_the_same() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as publisher, connect(at(server)) as subscriber:
            subscription = await subscriber.subscribe("TRUE", timeout=20)
            up = r" within 0\.2 s; connected to broker b0"
            with pytest.raises(TimedOut, match="no event for 'TRUE'" + up):
                await subscription.get(timeout=SOON)
            with pytest.raises(TimedOut, match="no event for 'TRUE'" + up):
                await anext(subscription.batches(timeout=SOON))
            with pytest.raises(TimedOut, match="no acknowledgement .*" + up):
                await publisher.publish({"n": 1}, timeout=SOON)
            assert await subscription.get(timeout=20) == Event({"n": 1})  # it was delivered after all
            await subscriber.unsubscribe(subscription, timeout=20)
            await publisher.flush(timeout=20)

    finish(scenario(), 60)


def test_room_in_the_window_is_waited_for_in_time() -> None:
    async def fill(publisher: Session) -> None:
        while True:
            await publisher.send({"n": 1}, timeout=SOON)

    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as subscriber, connect(at(server)) as publisher:
            subscription = await subscriber.subscribe("TRUE")
            with pytest.raises(TimedOut, match="this event was not sent"):
                await fill(publisher)
            subscription.close()
            await publisher.flush()

    finish(scenario(), 60)


def test_an_address_without_a_broker_is_reported_in_time() -> None:
    with pytest.raises(
        Unreachable, match=r"no broker that lets us in within 1 s; not connected: 127\.0\.0\.1:1: Conn"
    ):
        sync.connect("127.0.0.1:1", timeout=1).__enter__()
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1: no answer yet"):
        sync.connect("127.0.0.1:1", timeout=0).__enter__()


def test_a_filter_that_was_not_in_place_in_time_is_withdrawn(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = BrokerServer(Configuration("b0", state=tmp_path), {})
        await first.start()
        port = first.address[1]
        async with connect(at(first)) as session:
            await first.stop()
            with pytest.raises(TimedOut):
                await session.subscribe("n = 1", timeout=SOON)
            with pytest.raises(TimedOut):
                await session.advertise("n = 2", timeout=SOON)
            assert (session.core.subscriptions, session.core.advertisements) == ({}, {})
            second = BrokerServer(Configuration("b0", port=port, state=tmp_path), {})
            await second.start()
            try:
                await session.subscribe("n = 3", timeout=20)
            finally:
                await second.stop()

    finish(scenario(), 60)


def test_what_is_withdrawn_while_the_broker_is_away_is_gone_when_it_is_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = BrokerServer(Configuration("b0", state=tmp_path), {})
        await first.start()
        port = first.address[1]
        async with connect(at(first)) as session:
            id = await session.advertise("n = 1")
            subscription: Subscription = await session.subscribe("n = 1")
            await first.stop()
            waiting = [
                asyncio.create_task(session.unadvertise(id, timeout=20)),
                asyncio.create_task(session.unsubscribe(subscription, timeout=20)),
            ]
            await asyncio.sleep(0)
            second = BrokerServer(Configuration("b0", port=port, state=tmp_path), {})
            await second.start()
            try:
                await asyncio.gather(*waiting)
            finally:
                await second.stop()

    finish(scenario(), 60)
