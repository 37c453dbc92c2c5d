"""Calls are repeated until a neighbour answers; pauses between them grow, are random, and have a limit."""

import asyncio

import pytest
from tests.broker.io.peers import broker, finish

from regraft.broker.io.configuration import Configuration
from regraft.broker.io.dialling import FIRST_PAUSE, LONGEST_PAUSE, MANY, pause
from regraft.broker.io.server import BrokerServer
from regraft.protocol.messages import LinkHello
from regraft.wire.numbered import Wire


def test_pauses_double_up_to_a_limit() -> None:
    longest = [pause(attempt, lambda: 1.0) for attempt in range(20)]
    assert longest[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert longest[-1] == LONGEST_PAUSE


def test_half_of_a_pause_is_random() -> None:
    assert pause(3, lambda: 0.0) == pause(3, lambda: 1.0) / 2


def test_an_odd_host_is_called_again_when_its_address_is_known_better() -> None:
    """Looking up such a name raises something else than an unreachable host does."""

    async def scenario() -> None:
        async with broker(neighbours=("a0",)) as called:
            addresses = {"b0": ("a..b", 1)}
            calling = BrokerServer(Configuration("a0", ("b0",)), addresses)
            await calling.start()
            await asyncio.sleep(0.2)
            addresses["b0"] = called.address
            while not any(each.hello for each in calling.connections.values()):
                await asyncio.sleep(0.01)
            await calling.stop()

    finish(scenario())


def test_a_neighbour_that_answers_and_vanishes_is_called_with_growing_pauses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As when two brokers have one id: each hello ends the connection of the other."""

    async def scenario() -> int:
        calls = 0

        async def vanish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal calls
            calls += 1
            writer.write(Wire().frame([LinkHello("b0", 1)]))
            await writer.drain()
            writer.close()

        listening = await asyncio.start_server(vanish, "127.0.0.1", 0)
        address = listening.sockets[0].getsockname()[:2]
        calling = BrokerServer(Configuration("a0", ("b0",)), {"b0": address})
        await calling.start()
        while "are there two of that name" not in caplog.text:
            await asyncio.sleep(0.01)
        await calling.stop()
        listening.close()
        return calls

    assert finish(scenario()) <= MANY + 1
    assert "b0 answers and is lost again" in caplog.text
