"""Whatever an application does wrong raises at once, with an exception of ours that says what to do."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

import msgspec
import pytest
from tests.broker.io.peers import at, broker, finish, overlay, raw_peer
from tests.client.brokers import distant

from regraft.client import (
    BadFilter,
    BadInput,
    Closed,
    Event,
    Misuse,
    NotAdvertised,
    NotConnected,
    RegraftError,
    connect,
    sync,
)
from regraft.model import Topology
from regraft.protocol.events import encode
from regraft.protocol.messages import Refused, Run, Settled

NOWHERE = "127.0.0.1:1"
Use = Callable[[Any], Any]
USES: dict[str, Use] = {
    "publish": lambda session: session.publish({"n": 1}),
    "publish_many": lambda session: session.publish_many([Event({"n": 1})]),
    "send": lambda session: session.send({"n": 1}),
    "flush": lambda session: session.flush(),
    "advertise": lambda session: session.advertise("TRUE"),
    "unadvertise": lambda session: session.unadvertise("a1"),
    "subscribe": lambda session: session.subscribe("TRUE"),
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with distant() as broker:
        yield broker.address


async def used(use: Use, session: Any) -> Any:
    """A subscription, too, is waited for."""
    got = use(session)
    return await got if isinstance(got, Awaitable) else got


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_session_without_with_says_so(use: Use) -> None:
    with pytest.raises(NotConnected, match="use it inside `async with connect"):
        finish(used(use, connect(NOWHERE)))
    with pytest.raises(NotConnected, match="use it inside `with connect"):
        use(sync.connect(NOWHERE))


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_session_that_has_ended_says_so(use: Use, address: str) -> None:
    async def ended() -> None:
        async with connect(address) as session:
            pass
        await used(use, session)

    with pytest.raises(Closed, match="call `connect` for a new one"):
        finish(ended())
    with sync.connect(address) as session:
        pass
    with pytest.raises(Closed, match="call `connect` for a new one"):
        use(session)


WRONG: dict[str, tuple[Use, type[RegraftError], str]] = {
    "no event": (lambda c: c.publish(None), BadInput, "event: must be an Event or attributes"),
    "text": (lambda c: c.publish("n=1"), BadInput, "is of type str"),
    "data that are text": (lambda c: c.publish({"n": 1}, "text"), BadInput, "data must be bytes"),
    "data twice": (lambda c: c.publish(Event({"n": 1}), b"x"), BadInput, "an Event has its own data"),
    "no attributes": (lambda c: c.publish(Event(None)), BadInput, "its attributes must be a dict"),  # type: ignore[arg-type]
    "a value of no kind": (lambda c: c.publish({"n": None}), BadInput, "'n' is None"),
    "a nested value": (lambda c: c.send({"n": {"m": 1}}), BadInput, "'n' is of type dict"),
    "a name that is a number": (lambda c: c.send({1: 1}), BadInput, "name of an attribute must be text"),
    "one event, not many": (lambda c: c.publish_many({"n": 1}), BadInput, "must be a list of events"),
    "many of what is none": (lambda c: c.publish_many([{"n": 1}, 2]), BadInput, "is of type int"),
    "no filter": (lambda c: c.subscribe(None), BadInput, "filter: must be text"),
    "half a filter": (lambda c: c.subscribe("n >"), BadFilter, "position 4: found the end"),
    "half an advertisement": (lambda c: c.advertise("(("), BadFilter, "position 3: found the end"),
    "an unknown advertisement": (lambda c: c.unadvertise("a1"), BadInput, "the id that `advertise` returned"),
    "a time that is none": (lambda c: c.flush(timeout="1"), BadInput, "timeout: must be a number of seconds"),
    "a negative time": (lambda c: c.publish({"n": 1}, timeout=-1), BadInput, "0 or more seconds"),
}


@pytest.mark.parametrize(("use", "kind", "words"), WRONG.values(), ids=WRONG)
def test_a_wrong_argument_is_named(use: Use, kind: type[RegraftError], words: str, address: str) -> None:
    async def scenario() -> None:
        async with connect(address) as session:
            with pytest.raises(kind, match=words):
                await used(use, session)
            await session.publish({"n": 1})

    finish(scenario())
    with sync.connect(address) as blocking:
        with pytest.raises(kind, match=words):
            use(blocking)
        blocking.publish({"n": 1})


@pytest.mark.parametrize(
    ("where", "options", "words"),
    [
        (None, {}, "an address is host:port"),
        (7000, {}, "an address is host:port"),
        ([("127.0.0.1", 7000)], {}, "an address is host:port"),
        ("http://127.0.0.1:7000", {}, "an address is host:port"),
        ([], {}, "at least one is needed"),
        (NOWHERE, {"name": 3}, "name: must be text"),
        (NOWHERE, {"token": 3}, "token: must be text"),
        (NOWHERE, {"tls": True}, "tls: must be an ssl.SSLContext"),
        (NOWHERE, {"window": 0}, "window: must be a whole number from 1"),
        (NOWHERE, {"window": 2**70}, "window: must be a whole number from 1"),
        (NOWHERE, {"timeout": "10"}, "timeout: must be a number of seconds"),
        (NOWHERE, {"durable": True}, "needs a `name` of its own"),
    ],
)
@pytest.mark.parametrize("module", [connect, sync.connect])
def test_wrong_options_are_refused_before_there_is_a_connection(
    module: Callable[..., object], where: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        module(where, **options)


def test_a_block_of_the_other_client_says_which_to_write(address: str) -> None:
    async def scenario() -> None:
        awaited: Any = connect(address)
        blocking: Any = sync.connect(address)
        with pytest.raises(Misuse, match="write `async with`"), awaited:
            pass
        with pytest.raises(Misuse, match="`connect` is not awaited"):
            await awaited
        with pytest.raises(Misuse, match="write `with` without `async`"):
            async with blocking:
                pass
        with pytest.raises(Misuse, match=r"use `regraft\.client` with `await` here"), blocking:
            pass
        async with connect(address) as session:
            with pytest.raises(Misuse, match="write `async for`"):
                list(cast(Any, session.subscribe("TRUE")))

    finish(scenario())


def test_a_session_is_entered_once(address: str) -> None:
    async def scenario() -> None:
        session = connect(address)
        async with session:
            with pytest.raises(Misuse, match="connected already"):
                await session.__aenter__()
            await session.publish({"n": 1})
        with pytest.raises(Closed):
            await session.__aenter__()

    finish(scenario())
    blocking = sync.connect(address)
    with blocking, pytest.raises(Misuse, match="connected already"):
        blocking.__enter__()
    with pytest.raises(Closed), blocking:
        pass


def test_closing_twice_does_nothing_and_what_was_subscribed_ends(address: str) -> None:
    async def scenario() -> None:
        async with connect(address) as session:
            subscription = await session.subscribe("TRUE")
            subscription.close()
            subscription.close()
            await session.close()
            await session.close()
            assert [event async for event in subscription] == []
            assert await subscription.get(timeout=0) is None
        never = connect(address)
        await never.close()
        with pytest.raises(Closed):
            await never.publish({"n": 1})

    finish(scenario())
    with sync.connect(address) as blocking:
        subscription = blocking.subscribe("TRUE")
        blocking.close()
        blocking.close()
    subscription.close()
    assert (list(subscription), subscription.get(timeout=0)) == ([], None)


def test_a_subscription_that_is_closed_before_it_is_in_place_says_so() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as session:
            subscription = session.subscribe("TRUE")
            subscription.close()
            with pytest.raises(Closed, match="before it was in place"):
                await subscription
            assert [event async for event in subscription] == []

    finish(scenario())


def test_two_tasks_can_not_read_one_subscription() -> None:
    async def scenario() -> None:
        async with broker() as server, connect(at(server)) as session:
            subscription = await session.subscribe("TRUE")
            first = asyncio.create_task(anext(subscription))
            await asyncio.sleep(0)
            with pytest.raises(Misuse, match="give each task its own subscription"):
                await anext(subscription)
            first.cancel()

    finish(scenario())


def test_a_session_belongs_to_its_event_loop(address: str) -> None:
    async def scenario() -> None:
        async with connect(address) as session:
            with pytest.raises(Misuse, match="belongs to the event loop that entered it"):
                await asyncio.to_thread(asyncio.run, session.publish({"n": 1}))

    finish(scenario())
    with pytest.raises(Misuse, match="in a coroutine"):
        connect(address).subscribe("TRUE")


def test_threads_that_wait_see_that_the_session_has_ended(address: str) -> None:
    ends: list[object] = []
    with sync.connect(address) as reader, sync.connect(address) as writer:
        subscription = reader.subscribe("TRUE")

        def publish() -> None:
            try:
                writer.publish({"n": 1})
            except RegraftError as fault:
                ends.append(type(fault))

        thread = threading.Thread(target=publish)
        thread.start()
        assert subscription.get(timeout=20) == Event({"n": 1})  # and it is not consumed
        with pytest.raises(TimeoutError, match="1 publications were not acknowledged"):
            writer.close(timeout=0.1)
        thread.join(20)
    assert ends == [Closed]


NAMES = ["a-b", "Topic", "a_b", "", "ä", "12", "in", "true"]


@pytest.mark.parametrize("name", NAMES)
def test_an_attribute_that_no_filter_can_name_is_refused(name: str, address: str) -> None:
    """By the client, and by the broker if another client sends it."""

    async def scenario() -> None:
        async with connect(address) as session:
            with pytest.raises(BadInput, match=f"attribute {name!r}: no filter can name it"):
                await session.publish({"n": 1, name: 1})
        async with broker() as server, raw_peer(server) as peer:
            peer.hello(advertisements=[("a1", "TRUE")])
            peer.say(Settled(), Run("raw#1", [1], [encode(Event({name: 1}))], 0))
            refused = await peer.hears(Refused)
            assert isinstance(refused, Refused)
            assert refused.about == "raw#1#1"
            assert "no filter can name it" in refused.reason

    finish(scenario())


def test_a_broker_says_why_something_is_no_event() -> None:
    async def scenario() -> None:
        async with broker() as server, raw_peer(server) as peer:
            peer.hello(advertisements=[("a1", "TRUE")])
            peer.say(Settled(), Run("raw#1", [1], [msgspec.msgpack.encode([{"n": None}, b""])], 0))
            refused = await peer.hears(Refused)
            assert isinstance(refused, Refused)
            assert refused.reason.startswith("not an event: Expected ")

    finish(scenario())


def test_in_a_mesh_such_a_name_is_refused_too() -> None:
    async def scenario() -> None:
        mesh = Topology.of([("b0", "b1"), ("b1", "b2"), ("b0", "b2")], ["b0", "b1", "b2"], kind="mesh")
        async with overlay(mesh) as running, raw_peer(running) as peer:
            peer.hello(advertisements=[("a1", "topic = 'red'")])
            peer.say(Settled(), Run("raw#1", [1], [encode(Event({"topic": "red", "a-b": 1}))], 0))
            refused = await peer.hears(Refused)
            assert isinstance(refused, Refused)
            assert "attribute 'a-b': no filter can name it" in refused.reason

    finish(scenario())


def test_what_was_not_advertised_says_what_to_do(address: str) -> None:
    with sync.connect(address) as session:
        session.unadvertise(session.advertise("n = 1"))
        with pytest.raises(NotAdvertised, match="advertise a filter that it matches"):
            session.publish({"n": 1})
