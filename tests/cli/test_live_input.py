"""Input in a thread: everything in order, faults come through, nothing waits for it."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from tests.broker.io.peers import finish

from regraft.cli.live_input import AHEAD, from_thread, lines_of
from regraft.model import BadInput


def test_everything_comes_in_order() -> None:
    async def scenario() -> list[int]:
        return [item async for item in from_thread(range(3 * AHEAD))]

    assert finish(scenario()) == list(range(3 * AHEAD))


def test_others_run_while_it_waits_and_no_more_is_read_than_allowed() -> None:
    go, taken = threading.Event(), []

    def items() -> Iterator[int]:
        yield 0
        assert go.wait(20)
        for number in range(1, 3 * AHEAD):
            taken.append(number)
            yield number

    async def scenario() -> None:
        coming = from_thread(items())
        assert await anext(coming) == 0
        go.set()
        while len(taken) < AHEAD:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert len(taken) <= AHEAD + 1

    finish(scenario())


def test_a_fault_comes_after_what_was_read_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise BadInput("line 2", "planted")

    async def scenario() -> None:
        coming = from_thread(items())
        assert await anext(coming) == 1
        with pytest.raises(BadInput, match="line 2: planted"):
            await anext(coming)

    finish(scenario())


def test_a_closed_standard_input_is_bad_input() -> None:
    with pytest.raises(BadInput, match="standard input: is closed"):
        lines_of(None)
