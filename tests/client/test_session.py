"""The client as applications use it, on real brokers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.broker.io.peers import HASTY, at, broker, chain, finish, overlay

from regraft.broker.core import BrokerSettings
from regraft.broker.io.configuration import Configuration
from regraft.broker.io.server import BrokerServer
from regraft.client import Closed, Event, NotAdvertised, Refused, Unreachable, connect
from regraft.client.addresses import parse_address, parse_addresses, read_directory
from regraft.filters import BadFilter
from regraft.model import BadInput


def test_publish_returns_when_the_subscriber_has_consumed() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as publisher, connect(at(server)) as subscriber:
            subscription = await subscriber.subscribe("TRUE")
            publishing = asyncio.create_task(publisher.publish({"n": 1}, b"data"))
            assert await anext(subscription) == Event({"n": 1}, b"data")
            await asyncio.sleep(0.05)
            assert not publishing.done()
            asking = asyncio.create_task(anext(subscription))
            await publishing
            asking.cancel()

    finish(scenario())


def test_publish_without_subscribers_returns_at_once() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as publisher:
            await publisher.publish({"n": 1})

    finish(scenario())


def test_several_subscriptions_get_each_what_they_ask_for() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as publisher, connect(at(server)) as subscriber:
            low = await subscriber.subscribe("n < 6")
            high = await subscriber.subscribe("n > 3")
            publishing = asyncio.create_task(publisher.publish_many([Event({"n": n}) for n in range(10)]))
            assert [(await anext(low)).attributes["n"] for _ in range(6)] == [0, 1, 2, 3, 4, 5]
            low.close()
            await asyncio.sleep(0.05)
            assert not publishing.done()  # 4 and 5 are still to be consumed by the other
            assert [(await anext(high)).attributes["n"] for _ in range(6)] == [4, 5, 6, 7, 8, 9]
            high.close()
            await publishing

    finish(scenario())


def test_batches_have_everything_in_order() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as publisher, connect(at(server)) as subscriber:
            subscription = await subscriber.subscribe("TRUE")
            publishing = asyncio.create_task(publisher.publish_many([Event({"n": n}) for n in range(5000)]))
            got: list[object] = []
            async for batch in subscription.batches():
                got += [event.attributes["n"] for event in batch]
                if len(got) == 5000:
                    break
            subscription.close()
            await publishing
            assert got == list(range(5000))

    finish(scenario())


def test_what_is_left_of_a_run_goes_on_as_a_batch() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as publisher, connect(at(server)) as subscriber:
            subscription = await subscriber.subscribe("TRUE")
            publishing = asyncio.create_task(publisher.publish_many([Event({"n": n}) for n in range(4)]))
            assert (await anext(subscription)).attributes["n"] == 0
            batch = await anext(subscription.batches())
            assert [event.attributes["n"] for event in batch] == [1, 2, 3]
            subscription.close()
            await publishing

    finish(scenario())


def test_a_filter_that_can_not_be_read_fails_where_it_is_written() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as client:
            with pytest.raises(BadFilter):
                client.subscribe("n >")
            with pytest.raises(BadFilter):
                await client.advertise("n >")

    finish(scenario())


def test_one_filter_too_many_is_refused() -> None:
    async def scenario() -> None:
        async with (
            broker(settings=BrokerSettings(filters_per_client=1)) as server,
            connect(at(server)) as client,
        ):
            await client.subscribe("n = 1")
            with pytest.raises(Refused, match="a client may have 1 filters"):
                await client.subscribe("n = 2")

    finish(scenario())


def test_what_was_not_advertised_is_refused_and_the_rest_goes_on() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as publisher:
            await publisher.advertise("n < 10")
            with pytest.raises(NotAdvertised):
                await publisher.publish({"n": 11})
            await publisher.publish({"n": 1})
            for n in (2, 12, 3):
                await publisher.send({"n": n})
            with pytest.raises(NotAdvertised):
                await publisher.flush()
            await publisher.flush()

    finish(scenario())


def test_an_advertisement_can_be_withdrawn() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as publisher:
            id = await publisher.advertise("TRUE")
            await publisher.publish({"n": 1})
            await publisher.unadvertise(id)
            with pytest.raises(NotAdvertised):
                await publisher.publish({"n": 1})

    finish(scenario())


def test_an_event_too_large_for_a_frame_is_bad_input() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as publisher:
            with pytest.raises(BadInput, match=r"event: of .* bytes, at most"):
                await publisher.publish({}, bytes(17 * 2**20))
            await publisher.publish({}, bytes(15 * 2**20))

    finish(scenario())


@pytest.mark.parametrize("value", [2**64, "\ud800", object()])
def test_an_event_that_can_not_be_encoded_is_bad_input_and_the_session_goes_on(value: Any) -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as publisher:
            for publish in (publisher.publish, publisher.send):
                with pytest.raises(BadInput, match="event: attributes are text, numbers of 64 bits"):
                    await publish({"n": value})
            await publisher.publish({"n": 1})

    finish(scenario())


@pytest.mark.parametrize("name", ["a#1", "a/b", "x" * 256, "\udcff"])
def test_a_name_that_no_broker_takes_is_bad_input(name: str) -> None:
    with pytest.raises(BadInput, match="name: "):
        connect("127.0.0.1:1", name=name)


def test_a_client_comes_back_when_its_broker_does(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = BrokerServer(Configuration("b0", state=tmp_path), {})
        await first.start()
        port = first.address[1]
        async with connect(at(first)) as publisher, connect(at(first)) as subscriber:
            subscription = await subscriber.subscribe("TRUE")
            await publisher.send({"n": 0})
            assert (await anext(subscription)).attributes == {"n": 0}
            subscription.confirm()
            await publisher.flush()
            await first.stop()
            for n in range(1, 50):
                await publisher.send({"n": n})
            second = BrokerServer(Configuration("b0", port=port, state=tmp_path), {})
            await second.start()
            try:
                assert [(await anext(subscription)).attributes["n"] for _ in range(49)] == list(range(1, 50))
                subscription.close()
                await publisher.flush()
            finally:
                await second.stop()

    finish(scenario())


def test_a_client_goes_on_at_another_broker_when_its_own_is_gone() -> None:
    async def scenario() -> None:
        async with overlay(chain(3)) as running:
            addresses = [at(running, "b2"), at(running, "b1")]
            async with connect(at(running)) as publisher, connect(addresses) as subscriber:
                subscription = await subscriber.subscribe("TRUE")
                assert subscriber.broker == "b2"
                await publisher.send({"n": 0})
                assert (await anext(subscription)).attributes == {"n": 0}
                subscription.confirm()
                await publisher.flush()
                subscriber._linking._addresses = addresses_of(running, "b1")
                subscriber._linking.link.abort()  # type: ignore[union-attr]
                sending = asyncio.create_task(publisher.publish_many([Event({"n": n}) for n in range(1, 30)]))
                assert [(await anext(subscription)).attributes["n"] for _ in range(29)] == list(range(1, 30))
                assert subscriber.broker == "b1"
                subscription.close()
                await sending

    finish(scenario())


def addresses_of(running: object, id: str) -> list[tuple[str, int]]:
    return [running.addresses[id]]  # type: ignore[attr-defined]


def test_an_address_without_a_broker_is_reported() -> None:
    async def scenario() -> None:
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1: "):
            async with connect("127.0.0.1:1", timeout=0.3):
                pass

    finish(scenario())


def test_a_session_that_has_ended_takes_nothing() -> None:
    async def scenario() -> None:
        async with broker() as server:
            async with connect(at(server)) as client:
                subscription = await client.subscribe("TRUE")
            with pytest.raises(Closed):
                await client.publish({"n": 1})
            with pytest.raises(Closed):
                client.subscribe("TRUE")
            assert [event async for event in subscription] == []

    finish(scenario())


def test_what_is_not_acknowledged_at_the_end_is_said() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as subscriber:
            await subscriber.subscribe("TRUE")  # and never consumes

            async def publish() -> None:
                async with connect(at(server), timeout=0.3) as publisher:
                    await publisher.send({"n": 1})
                    await publisher.send({"n": 2})

            with pytest.raises(Unreachable, match="2 publications were not acknowledged"):
                await publish()

    finish(scenario())


def test_a_publisher_is_held_up_by_a_subscriber_that_does_not_consume() -> None:
    async def scenario() -> None:
        async with (
            broker(allowed=HASTY) as server,
            connect(at(server)) as publisher,
            connect(at(server), window=10) as subscriber,
        ):
            subscription = await subscriber.subscribe("TRUE")
            sent = 0

            async def send() -> None:
                nonlocal sent
                for n in range(6000):
                    await publisher.send({"n": n})
                    sent = n + 1

            sending = asyncio.create_task(send())
            while sent < 4096:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            assert sent == 4096  # the window
            got = [(await anext(subscription)).attributes["n"] for _ in range(6000)]
            subscription.close()
            await sending
            assert got == list(range(6000))

    finish(scenario())


@pytest.mark.parametrize("text", ["", "host", ":80", "host:", "host:x", "host:0", "host:70000"])
def test_an_address_that_is_none_is_bad_input(text: str) -> None:
    with pytest.raises(BadInput, match="an address is host:port"):
        parse_address(text)


def test_addresses_may_be_several() -> None:
    assert parse_addresses("a:1, [::1]:2") == [("a", 1), ("::1", 2)]
    assert parse_addresses(["a:1"]) == [("a", 1)]


def test_a_directory_that_is_none_is_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "overlay.json"
    with pytest.raises(BadInput, match="there is no such file"):
        read_directory(file)
    for content in ("{", "[]", '{"brokers": {"a": {}}}', '{"brokers": {"a": {"address": "x"}}}'):
        file.write_text(content)
        with pytest.raises(BadInput):
            read_directory(file)
