"""A follower of the stream misses nothing, or is told to begin anew."""

import asyncio

from regraft.serve.stream import BEHIND, KEPT, Stream
from regraft.serve.views import EventView


async def first(stream: Stream, count: int, after: int | None = None) -> list[EventView]:
    found = []
    async for event in stream.follow(after):
        found.append(event)
        if len(found) == count:
            break
    return found


def test_ids_grow_and_what_was_missed_is_told_again() -> None:
    async def scenario() -> None:
        stream = Stream()
        for number in range(5):
            stream.tell("state", {"number": number})
        start = (await first(stream, 1, 0))[0]
        assert start.kind == "reset"
        assert [each.data["number"] for each in await first(stream, 2, start.id - 2)] == [3, 4]

    asyncio.run(scenario())


def test_a_follower_that_was_away_for_too_long_begins_anew() -> None:
    async def scenario() -> None:
        stream = Stream()
        stream.tell("state", {})
        early = stream._next
        for _ in range(KEPT + 1):
            stream.tell("state", {})
        assert (await first(stream, 1, early))[0].kind == "reset"

    asyncio.run(scenario())


def test_a_slow_follower_is_told_to_begin_anew_and_does_not_grow() -> None:
    async def scenario() -> None:
        stream = Stream()
        events = stream.follow(None)
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        for number in range(3 * BEHIND):
            stream.tell("state", {"number": number})
        assert (await waiting).data == {"number": 0}
        seen = [await anext(events) for _ in range(BEHIND)]
        assert seen[-1].kind == "reset"
        stream.tell("state", {"number": -1})
        assert (await anext(events)).data == {"number": -1}

    asyncio.run(scenario())
