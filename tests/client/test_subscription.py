"""Something that is not an event is skipped and confirmed, wherever that is noticed; the others come."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext

import msgspec
import pytest
from tests.broker.io.peers import finish

from regraft.client.subscription import Subscription, Subscriptions
from regraft.filters import parse
from regraft.protocol.events import Event, encode

POISON = [b"\xc1", msgspec.msgpack.encode([{"n": 2, "long": "z" * 5000}, 7]), b"\x91" * 70_000]
"""Not MessagePack; a good head with data that are none; nested without end."""


class Consumed:
    """A subscription, and what it has confirmed."""

    def __init__(self, filter: str = "TRUE") -> None:
        self.seqs: list[int] = []
        self.subscription = Subscription(
            "s1", parse(filter), self._consumed, lambda _: None, lambda _timeout, _what: nullcontext()
        )
        self.subscription.placed.set_result(None)

    def _consumed(self, publisher: str, seqs: Sequence[int]) -> None:
        self.seqs += seqs


def run_with(poison: bytes) -> tuple[str, list[int], list[bytes]]:
    return "p#1", [1, 2, 3, 4], [encode(Event({"n": 1})), poison, poison, encode(Event({"n": 4}))]


@pytest.mark.parametrize("poison", POISON, ids=["garbage", "no data", "nested"])
def test_a_subscriber_gets_what_follows_and_confirms_what_it_skips(
    poison: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        one = Consumed()
        one.subscription.put(*run_with(poison))
        assert [(await anext(one.subscription)).attributes["n"] for _ in range(2)] == [1, 4]
        assert one.seqs == [1, 2, 3]
        asking = asyncio.create_task(anext(one.subscription))
        await asyncio.sleep(0)
        assert one.seqs == [1, 2, 3, 4]
        asking.cancel()

    finish(scenario())
    assert [record.getMessage()[:38] for record in caplog.records] == [
        "p#1 published something that is not an"
    ]


@pytest.mark.parametrize("poison", POISON, ids=["garbage", "no data", "nested"])
def test_batches_are_without_it(poison: bytes) -> None:
    async def scenario() -> None:
        one = Consumed()
        one.subscription.put("p#1", [1], [poison])
        one.subscription.put(*run_with(poison))
        batches = one.subscription.batches()
        assert [event.attributes["n"] for event in await anext(batches)] == [1, 4]
        one.subscription.confirm()
        assert one.seqs == [1, 1, 2, 3, 4]

    finish(scenario())


@pytest.mark.parametrize("poison", POISON, ids=["garbage", "no data", "nested"])
def test_several_subscriptions_are_not_ended_by_it(poison: bytes) -> None:
    async def scenario() -> None:
        low, high = Consumed("n < 3"), Consumed("n > 3")
        high.subscription.id = "s2"
        both = Subscriptions()
        both.add(low.subscription)
        both.add(high.subscription)
        unwanted: list[int] = []
        both.deliver(*run_with(poison), lambda publisher, seq: unwanted.append(seq))
        assert (await anext(low.subscription)).attributes["n"] == 1
        assert (await anext(high.subscription)).attributes["n"] == 4
        low.subscription.close()
        high.subscription.close()
        assert sorted(unwanted + low.seqs + high.seqs) == [1, 2, 3, 4]

    finish(scenario())
