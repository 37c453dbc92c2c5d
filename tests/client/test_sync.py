"""The client without `await`."""

from collections.abc import Iterator

import pytest
from tests.client.brokers import distant

from regraft.client import Event, NotAdvertised, Unreachable
from regraft.client.sync import connect


@pytest.fixture
def address() -> Iterator[str]:
    with distant() as broker:
        yield broker.address


def test_publish_and_subscribe_without_await(address: str) -> None:
    with connect(address) as publisher, connect(address, name="desk") as subscriber:
        assert subscriber.name == "desk"
        publisher.publish({"n": 0})
        subscription = subscriber.subscribe("n > 0")
        with pytest.raises(TimeoutError):
            subscription.get(timeout=0.05)
        for n in range(1, 4):
            publisher.send({"n": n}, b"x")
        got = []
        for event in subscription:
            got.append(event)
            if len(got) == 3:
                break
        subscription.close()
        publisher.flush()
        assert got == [Event({"n": n}, b"x") for n in (1, 2, 3)]
        publisher.publish_many([Event({"n": 9})])
        assert subscription.get() is None


def test_faults_come_through(address: str) -> None:
    with connect(address) as client:
        client.advertise("n = 1")
        with pytest.raises(NotAdvertised):
            client.publish({"n": 2})
    with pytest.raises(Unreachable), connect("127.0.0.1:1", timeout=0.2):
        pass
