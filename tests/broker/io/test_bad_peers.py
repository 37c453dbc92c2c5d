"""Peers that break rules: each gets a clear error and is disconnected, and no other peer notices."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import replace

import msgspec
import pytest
from tests.broker.io.peers import (
    HASTY,
    RawPeer,
    at,
    broker,
    chain,
    finish,
    overlay,
    raw_peer,
    refusal,
)

from regraft.broker.core import BrokerSettings
from regraft.broker.io.configuration import Configuration
from regraft.client import connect
from regraft.protocol.events import Event, encode
from regraft.protocol.messages import (
    Advertise,
    Bye,
    ClientHello,
    Confirm,
    LinkHello,
    Run,
    Settled,
    Subscribe,
    Update,
    Welcome,
)

Attack = Callable[[RawPeer], None]
LONG = 17 * 2**20


def garbage(peer: RawPeer) -> None:
    peer.hello()
    peer.write((5).to_bytes(4, "big") + b"\xc1\xff\x00ab")


def not_even_frames(peer: RawPeer) -> None:
    peer.write(b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n")


def oversized(peer: RawPeer) -> None:
    peer.hello()
    peer.say()
    peer.write(LONG.to_bytes(4, "big") + b"x" * 1000)


def oversized_hello(peer: RawPeer) -> None:
    peer.say(ClientHello("raw", [], [("s1", "x" * 2**21)]))


def out_of_order(peer: RawPeer) -> None:
    peer.hello()
    peer.wire.sent += 1
    peer.say(Subscribe("s1", "TRUE"))


def wrong_version(peer: RawPeer) -> None:
    peer.hello(version=99)


def no_hello(peer: RawPeer) -> None:
    peer.say(Subscribe("s1", "TRUE"))


def two_hellos(peer: RawPeer) -> None:
    peer.hello()
    peer.hello()


def message_of_a_broker(peer: RawPeer) -> None:
    peer.hello()
    peer.say(Update([("x", "TRUE")], []))


def unknown_broker(peer: RawPeer) -> None:
    peer.say(LinkHello("zz", 1))


def nested(peer: RawPeer) -> None:
    peer.hello()
    body = b"\x92\x02" + b"\x91" * 65_000 + b"\x90"
    peer.write(len(body).to_bytes(4, "big") + body)


def refused_filters(peer: RawPeer) -> None:
    peer.hello()
    peer.say(*[Subscribe("s1", "n > ")] * 5000)


def confirmation_of_millions(peer: RawPeer) -> None:
    peer.hello(window=3_000_000)
    peer.say(Confirm("p#1", [1, 1] * 1_500_000))


def hello_of_thousands(peer: RawPeer) -> None:
    peer.hello(subscriptions=[(f"s{n}", "n > ") for n in range(12_001)])


def id_like_a_publication(peer: RawPeer) -> None:
    peer.hello()
    peer.say(Subscribe("raw#1#" + "9" * 50, "n > "))


def id_like_a_name(peer: RawPeer) -> None:
    peer.hello(advertisements=[("x/y", "TRUE")])


def endless_id(peer: RawPeer) -> None:
    peer.hello()
    peer.say(Advertise("a" * 256, "TRUE"))


ATTACKS: list[tuple[Attack, str]] = [
    (refused_filters, "more than 1000 filters and publications had to be refused"),
    (confirmation_of_millions, "a confirmation has 1500000 ranges, 10000 are allowed"),
    (hello_of_thousands, "a client may have 1000 filters of a kind"),
    (id_like_a_publication, "a filter's id has 1 to 255 bytes, and no '#' or '/'"),
    (id_like_a_name, "a filter's id has"),
    (endless_id, "a filter's id has"),
    (garbage, "not a message of this protocol"),
    (not_even_frames, "at most 2097152 are allowed"),
    (oversized, f"of {LONG} bytes, at most 16777216 are allowed"),
    (oversized_hello, "at most 2097152 are allowed"),
    (out_of_order, "number 3 came after 1: frames are missing"),
    (wrong_version, "protocol version 99, this broker speaks 2"),
    (no_hello, "a connection begins with a hello"),
    (two_hellos, "comes once, at the beginning"),
    (message_of_a_broker, "not a message that this peer may send"),
    (unknown_broker, "'zz' is not a neighbour of 'b0'"),
    (nested, "not a message of this protocol"),
]


async def beside_a_conversation(work: Callable[[], Awaitable[None]], where: str) -> None:
    """Do it while two clients talk; they must not notice."""
    async with connect(where) as publisher, connect(where) as subscriber:
        subscription = await subscriber.subscribe("TRUE")
        for number in range(3):
            if number == 1:
                await work()
            await publisher.send({"n": number})
            assert (await anext(subscription)).attributes == {"n": number}
            subscription.confirm()
        await publisher.flush()


@pytest.mark.parametrize(("attack", "reason"), ATTACKS, ids=[attack.__name__ for attack, _ in ATTACKS])
def test_a_broken_rule_is_named_and_only_that_peer_is_closed(attack: Attack, reason: str) -> None:
    async def scenario() -> None:
        async with broker(allowed=replace(HASTY, refusals=1000, heartbeat_seconds=1.0)) as server:

            async def work() -> None:
                async with raw_peer(server) as peer:
                    attack(peer)
                    assert reason in await peer.refusal()

            await beside_a_conversation(work, at(server))

    finish(scenario())


def test_a_frame_cut_by_the_end_of_the_connection_does_no_harm() -> None:
    async def scenario() -> None:
        async with broker() as server:

            async def work() -> None:
                async with raw_peer(server) as peer:
                    peer.hello()
                    peer.write(peer.wire.frame([Subscribe("s1", "TRUE")])[:-3])
                    peer.writer.write_eof()
                    assert any(isinstance(each, Welcome) for each in await peer.heard())

            await beside_a_conversation(work, at(server))

    finish(scenario())


@pytest.mark.parametrize("first", [b"", b"\x00\x00"], ids=["silent", "half a header"])
def test_a_peer_that_never_says_hello_is_closed(first: bytes) -> None:
    async def scenario() -> None:
        async with broker(allowed=HASTY) as server, raw_peer(server) as peer:
            peer.write(first)
            assert await peer.refusal() == "no hello within 0.3 seconds"

    finish(scenario())


def test_a_peer_that_falls_silent_is_closed() -> None:
    async def scenario() -> None:
        async with broker(allowed=replace(HASTY, silent_seconds=0.3)) as server, raw_peer(server) as peer:
            peer.hello()
            assert await peer.refusal() == "nothing heard for 0.3 seconds"

    finish(scenario())


def test_heartbeats_keep_an_idle_client_connected() -> None:
    async def scenario() -> None:
        async with broker(allowed=replace(HASTY, silent_seconds=0.3)) as server, raw_peer(server) as peer:
            peer.hello()
            await peer.hears(Welcome)
            for _ in range(20):
                peer.say()
                await asyncio.sleep(0.05)
            assert [each.hello for each in server.connections.values()]

    finish(scenario())


def flood(peer: RawPeer, runs: int, size: int = 10) -> None:
    event = encode(Event({}, bytes(size)))
    for number in range(runs):
        seqs = list(range(number * 100 + 1, number * 100 + 101))
        peer.say(Run("raw#1", seqs, [event] * 100, 0))


@pytest.mark.parametrize(
    ("size", "reason"),
    [(10, "more than the window of 100 publications"), (60_000, "more than 4000000 bytes")],
)
def test_a_client_that_floods_is_closed(size: int, reason: str) -> None:
    """Its advertisement never gets into place, so nothing of it is ever confirmed."""

    async def scenario() -> None:
        allowed = replace(HASTY, unconfirmed_bytes=4_000_000)
        settings = BrokerSettings(window=100 if size == 10 else 1000)
        async with (
            broker(neighbours=("b1",), allowed=allowed, settings=settings) as server,
            raw_peer(server) as peer,
        ):
            peer.hello(advertisements=[("a1", "TRUE")])
            peer.say(Settled())
            flood(peer, 10, size)
            assert reason in await peer.refusal()
            assert server.core is not None
            assert not server.core.sessions.all, "nothing is kept for a client that takes too much"

    finish(scenario())


def test_a_client_that_never_reads_is_closed_and_costs_no_memory() -> None:
    async def scenario() -> None:
        allowed = replace(HASTY, queue_bytes=2_000_000, stalled_seconds=0.5)
        async with (
            broker(allowed=allowed, settings=BrokerSettings(session_seconds=0.5)) as server,
            raw_peer(server) as deaf,
            connect(at(server)) as publisher,
        ):
            deaf.hello(subscriptions=[("s1", "TRUE")], window=100_000)
            deaf.reader._transport.pause_reading()  # type: ignore[attr-defined]
            await asyncio.sleep(0.1)

            async def beat() -> None:
                while True:
                    deaf.say()
                    await asyncio.sleep(0.05)

            beating = asyncio.create_task(beat())
            # Far more than the sockets' buffers take: the publisher is held up, then released.
            await publisher.publish_many([Event({"n": n}, bytes(100_000)) for n in range(200)])
            beating.cancel()
            (left,) = server.connections.values()
            assert left.hello is not None
            assert left.hello.client == publisher.name  # type: ignore[union-attr]
            assert server.counters.refused == 1

    finish(scenario())


def test_one_connection_too_many_is_asked_to_come_back_later() -> None:
    async def scenario() -> None:
        async with broker(allowed=replace(HASTY, connections=1)) as server, raw_peer(server) as first:
            first.hello()
            await first.hears(Welcome)
            async with raw_peer(server) as second:
                (goodbye,) = await second.heard()
                assert goodbye == Bye("this broker has 1 connections")
            first.say()
            assert len(server.connections) <= 2

    finish(scenario())


def test_one_session_too_many_is_asked_to_come_back_later_and_a_known_client_is_not() -> None:
    async def scenario() -> None:
        async with broker(allowed=replace(HASTY, sessions=1)) as server:
            async with raw_peer(server) as first:
                first.hello("first")
                await first.hears(Welcome)
            async with raw_peer(server) as second:
                second.hello("second")
                (goodbye,) = await second.heard()
                assert goodbye == Bye("this broker has 1 sessions")
            async with raw_peer(server) as again:
                again.hello("first", visit=1)
                assert await again.hears(Welcome) == Welcome("b0", 4096, True)

    finish(scenario())


def test_a_filter_that_can_not_be_read_is_refused_and_the_client_stays() -> None:
    async def scenario() -> None:
        async with broker() as server, raw_peer(server) as peer:
            peer.hello()
            peer.say(Subscribe("s1", "(" * 65_000), Bye())
            assert refusal(await peer.heard())

    finish(scenario())


def filling(limit: int) -> bytes:
    """A frame with one event that is as long as frames may be; what has a default is left out."""

    def body(size: int) -> bytes:
        event = encode(Event({"n": 1}, bytes(size)))
        return msgspec.msgpack.encode([2, [[9, "raw#1", [1], [event], 0]]])

    made = body(2 * limit - 300 - len(body(limit - 300)))
    assert len(made) == limit
    return limit.to_bytes(4, "big") + made


def test_what_fills_a_frame_to_the_last_byte_is_passed_on() -> None:
    """On the way it grows a little, and must not break the links and subscribers behind the first broker."""
    limit = 60_000

    async def scenario() -> None:
        base = Configuration("", allowed=replace(HASTY, frame_bytes=limit))
        async with (
            overlay(chain(2), base) as running,
            connect(at(running, "b1")) as subscriber,
            raw_peer(running) as peer,
        ):
            subscription = await subscriber.subscribe("n = 1")
            peer.hello(advertisements=[("a1", "TRUE")])
            peer.write(filling(limit))
            assert len((await anext(subscription)).data) > limit - 300

    finish(scenario())


def test_a_peer_that_resets_the_connection_as_it_leaves_does_not_stop_the_broker() -> None:
    async def scenario() -> None:
        async with broker() as server, raw_peer(server) as peer:
            peer.hello()
            await peer.hears(Welcome)
            peer.say(Bye())
            own: socket.socket = peer.writer.get_extra_info("socket")
            # Closed with a reset before the broker has read the goodbye: our end is gone when it answers.
            own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.writer.transport.abort()
            await peer.writer.wait_closed()
            async with connect(at(server)) as client:
                await client.publish({"n": 1})
            assert server.fault == ""

    # The standard loop, which `regraft` uses where uvloop is missing: there, ending a lost connection raises.
    asyncio.run(asyncio.wait_for(scenario(), 30))
