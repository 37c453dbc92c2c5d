"""All publishers and subscribers, in a process of their own: what the loop thinks does not delay them.

The standard input is a socket. Lines of JSON leave on it, several a second: `{"at", "published", "samples":
[[sent, ms], …], "so_far"}` with what was delivered since the last one (`sent`: seconds since 1970) and the
counts of now. Lines that come in: `{"rates": {city: …}}` changes how often cities publish; `{"finish": true}`
ends the publishing, and the answer is `{"counts": …}`, when all is acknowledged or patience is over. When the
input ends, all ends.
"""

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any

import msgspec

from regraft.client import Closed, Session, Subscription, connect
from regraft.demo.demands import Workload, filter_of
from regraft.demo.tally import Tally
from regraft.protocol.events import Value

Say = Callable[[dict[str, Any]], None]
CONNECT_SECONDS = 60.0
DRAIN_SECONDS = 30.0
STRAY_SECONDS = 0.3
"""So long one listens on for what may come once too often."""
EVERY_SECONDS = 0.25
PAYLOAD = bytes(100)


async def clients(addresses: Mapping[str, tuple[str, int]], work: Workload) -> int:
    """Until the input ends. Whoever listens may be slow: what is said waits in memory."""
    talking = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    lines, out = await asyncio.open_connection(sock=talking)

    def say(document: dict[str, Any]) -> None:
        out.write(json.dumps(document).encode() + b"\n")

    async with Clients(addresses, work) as all:
        say({"ready": True})
        telling = asyncio.create_task(_tell(all, say))
        while (told := await lines.readline()) and "rates" in (asked := json.loads(told)):
            all.shift(asked["rates"])
        if told:
            counts = await all.finish()
            telling.cancel()
            say(all.news())
            say({"counts": msgspec.to_builtins(counts)})
            await lines.readline()
        telling.cancel()
    out.close()
    return 0


async def _tell(all: "Clients", say: Say) -> None:
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        say(all.news())


class Clients:
    """`async with Clients(...)`: everybody is connected and every filter in place; publishing has begun."""

    def __init__(self, addresses: Mapping[str, tuple[str, int]], work: Workload) -> None:
        self._addresses = addresses
        self._work = work
        self._rates = dict(work.rates)
        self._tally = Tally(work.wants)
        self._samples: list[tuple[float, float]] = []
        self._published = 0
        self._stack = AsyncExitStack()
        self._publishers: dict[str, Session] = {}
        self._publishing: list[asyncio.Task[None]] = []
        self._receiving: list[asyncio.Task[None]] = []
        self._stopping = False
        self._epoch = time.time() - time.monotonic()

    async def __aenter__(self) -> "Clients":
        try:
            await asyncio.gather(*(self._advertise(city) for city in self._work.rates))
            await asyncio.gather(*(self._subscribe(city) for city in self._work.wants))
        except BaseException:
            await self._end()
            raise
        for number, (city, session) in enumerate(self._publishers.items()):
            self._publishing.append(asyncio.create_task(self._publish(city, session, number)))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    def news(self) -> dict[str, Any]:
        """Since the last time."""
        samples, self._samples = self._samples, []
        published, self._published = self._published, 0
        so_far = msgspec.to_builtins(self._tally.counts())
        return {"at": time.time(), "published": published, "samples": samples, "so_far": so_far}

    def shift(self, rates: Mapping[str, float]) -> None:
        """Events a second of each publishing city, from its next event on."""
        self._rates.update(rates)

    async def finish(self) -> Any:
        """No more is published; what never comes is the tally's to tell."""
        self._stopping = True
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await asyncio.gather(*self._publishing)
        await asyncio.sleep(STRAY_SECONDS)
        left = sum(session.core.unacknowledged for session in self._publishers.values())
        return self._tally.counts(left)

    async def _connect(self, city: str) -> Session:
        """To the broker of its city; when that is gone, to any other."""
        order = [city, *(other for other in self._addresses if other != city)]
        where = ["{}:{}".format(*self._addresses[each]) for each in order]
        return await self._stack.enter_async_context(connect(where, timeout=CONNECT_SECONDS))

    async def _advertise(self, city: str) -> None:
        session = self._publishers[city] = await self._connect(city)
        await session.advertise(filter_of([city]))

    async def _subscribe(self, city: str) -> None:
        subscription = await (await self._connect(city)).subscribe(filter_of(self._work.wants[city]))
        self._receiving.append(asyncio.create_task(self._receive(city, subscription)))

    async def _publish(self, city: str, session: Session, number: int) -> None:
        """Steadily: an event that was held up is followed by the next ones at once, and counts as late."""
        due = time.monotonic() + number / len(self._publishers) / self._rates[city]
        while not self._stopping:
            await asyncio.sleep(due - time.monotonic())
            event: dict[str, Value] = {"topic": city, "number": self._tally.publishes(city), "sent": due}
            self._published += 1
            await session.send(event, PAYLOAD)
            due += 1 / self._rates[city]
        await session.flush()

    async def _receive(self, city: str, subscription: Subscription) -> None:
        async for event in subscription:
            at = event.attributes
            self._tally.arrived(city, str(at["topic"]), int(at["number"]))
            sent = float(at["sent"])
            self._samples.append((self._epoch + sent, round(1000 * (time.monotonic() - sent), 3)))

    async def _end(self) -> None:
        tasks = (*self._publishing, *self._receiving)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        over = Closed("the demo is over")
        await self._stack.__aexit__(Closed, over, None)  # without waiting for acknowledgements
