"""All publishers and subscribers, in one process of their own: the loop's computing does not delay them.

Standard input is a socket that carries lines of JSON in both directions. The process writes, several times
a second, `{"at", "published", "samples": [[sent, ms], …], "so_far"}`: what was delivered since the line
before (`sent`: seconds since 1970) and the counts so far. It reads `{"rates": {city: …}}`, which changes how
often cities publish, and `{"finish": true}`, which ends the publishing; the answer `{"counts": …}` comes when
every event is acknowledged or `DRAIN_SECONDS` are over. The process ends when its input ends.
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
"""How long subscribers still listen for duplicates after the last acknowledgement."""
REPORT_SECONDS = 0.25
PAYLOAD = bytes(100)


async def run_until_input_ends(addresses: Mapping[str, tuple[str, int]], work: Workload) -> int:
    """Connect, publish, report. If the reader of the reports is slow, they wait in memory."""
    talking = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    lines, out = await asyncio.open_connection(sock=talking)

    def say(document: dict[str, Any]) -> None:
        out.write(json.dumps(document).encode() + b"\n")

    async with Clients(addresses, work) as clients:
        say({"ready": True})
        reporting = asyncio.create_task(_report(clients, say))
        while (line := await lines.readline()) and "rates" in (asked := json.loads(line)):
            clients.set_rates(asked["rates"])
        if line:  # `finish`; at the end of the input there is no line
            counts = await clients.finish()
            reporting.cancel()
            say(clients.news())
            say({"counts": msgspec.to_builtins(counts)})
            await lines.readline()
        reporting.cancel()
    out.close()
    return 0


async def _report(clients: "Clients", say: Say) -> None:
    while True:
        await asyncio.sleep(REPORT_SECONDS)
        say(clients.news())


class Clients:
    """Inside `async with Clients(...)` all are connected, filters are in place, and publishing has begun."""

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
        """What happened since the last call."""
        samples, self._samples = self._samples, []
        published, self._published = self._published, 0
        so_far = msgspec.to_builtins(self._tally.counts())
        return {"at": time.time(), "published": published, "samples": samples, "so_far": so_far}

    def set_rates(self, rates: Mapping[str, float]) -> None:
        """Set the events a second of publishing cities; each changes after its next event."""
        self._rates.update(rates)

    async def finish(self) -> Any:
        """Stop publishing, wait for acknowledgements and stray duplicates, and count."""
        self._stopping = True
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await asyncio.gather(*self._publishing)
        await asyncio.sleep(STRAY_SECONDS)
        left = sum(session.core.unacknowledged for session in self._publishers.values())
        return self._tally.counts(left)

    async def _connect(self, city: str) -> Session:
        """Connect to the broker of the city; when that is gone, to any other."""
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
        """Publish at a steady rate. `sent` is when the event was due: if sending is held up, the events that
        follow leave at once, and the delay counts in their latencies."""
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
