"""Followers of the stream are told of each adaptation once, and again when its outcome is known."""

import asyncio
from typing import Any

from msgspec.structs import replace

from regraft.serve.adaptations import Adaptations
from regraft.serve.stream import Stream
from regraft.serve.views import AdaptationView, Refused

FIRST = AdaptationView(
    id="1",
    kind="delete",
    cause="b2 does not answer",
    at=1.0,
    rules=("deleteBrokerRules",),
    leader="b1",
    intents=(),
    said=(),
    timeout_ms=30.0,
    vote_ms=5.0,
    election_ms=5.0,
    adaptation_ms=0.0,
    outcome="begun",
    reason="",
)


class Written(Adaptations):
    def __init__(self) -> None:
        nobody: Any = None
        super().__init__(nobody)
        self.all: tuple[AdaptationView, ...] = ()
        self.asked = 0
        self.away = False

    async def recent(self, limit: int) -> tuple[AdaptationView, ...] | Refused:
        self.asked += 1
        return Refused(code="away", reason="") if self.away else self.all[:limit]


def test_followers_are_told_what_is_new_and_what_became_of_it() -> None:
    async def scenario() -> None:
        stream, written = Stream(), Written()
        written.all = (replace(FIRST, id="0"),)
        following = asyncio.create_task(written.follow(stream, 0.001))
        await asyncio.sleep(0.02)
        assert written.asked == 0
        events = stream.follow(None)
        told = asyncio.ensure_future(anext(events))
        while not written.asked:
            await asyncio.sleep(0.001)
        written.all = (FIRST, *written.all)
        assert ((await told).kind, told.result().data["id"]) == ("adaptation", "1")
        told = asyncio.ensure_future(anext(events))
        written.away = True
        await asyncio.sleep(0.02)
        assert not told.done()
        written.away, written.all = False, (replace(FIRST, outcome="done"), *written.all[1:])
        assert (await told).data["outcome"] == "done"
        following.cancel()

    asyncio.run(asyncio.wait_for(scenario(), 20))
