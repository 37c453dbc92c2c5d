"""Sends numbered events through an overlay whose brokers die, and records what each subscriber gets when.

Clients know every broker's address. Each begins at one broker, its home; when that is gone, it goes to
another one with its session. Everything that was acknowledged must have reached every subscriber once, in
order.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import pairwise
from types import TracebackType
from typing import NamedTuple

from regraft.client import Event, Session, Subscription, connect

Address = tuple[str, int]
PATIENCE = 60.0


class Arrival(NamedTuple):
    publisher: int
    number: int
    sent: float
    at: float


class Wrong(NamedTuple):
    lost: int
    duplicated: int
    reordered: int


class HealingTraffic:
    """Inside `async with` all subscriptions are in place: call `begin`, and after a while `finish`."""

    def __init__(
        self,
        addresses: Mapping[str, Address],
        publishers: Sequence[str],
        subscribers: Sequence[str],
        rate: float,
        payload: bytes = bytes(100),
    ) -> None:
        """`publishers`, `subscribers`: their homes. `rate`: events per second of all publishers together."""
        self.arrivals: list[list[Arrival]] = [[] for _ in subscribers]
        self.published: list[int] = [0 for _ in publishers]
        self._addresses = dict(addresses)
        self._publishers, self._subscribers = publishers, subscribers
        self._pause = len(publishers) / rate
        self._payload = payload
        self._stack = AsyncExitStack()
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []
        self._publishing: list[asyncio.Task[None]] = []
        self._sessions: list[Session] = []
        self._subscriptions: list[Subscription] = []

    async def __aenter__(self) -> "HealingTraffic":
        for number, home in enumerate(self._subscribers):
            session = await self._stack.enter_async_context(self._connect(home))
            subscription = await session.subscribe("n >= 0")
            self._subscriptions.append(subscription)
            self._tasks.append(asyncio.create_task(self._take(subscription, number)))
        self._sessions = [
            await self._stack.enter_async_context(self._connect(home)) for home in self._publishers
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Does not wait for publications: `finish` does."""
        for task in (*self._publishing, *self._tasks):
            task.cancel()
        await asyncio.gather(*self._publishing, *self._tasks, return_exceptions=True)
        await self._stack.__aexit__(kind, fault, trace)

    def begin(self) -> None:
        self._publishing = [
            asyncio.create_task(self._publish(session, number))
            for number, session in enumerate(self._sessions)
        ]

    async def finish(self, seconds: float = PATIENCE) -> Wrong:
        """Wait until everything is acknowledged; returns what has gone wrong."""
        self._stopping = True
        async with asyncio.timeout(seconds):
            await asyncio.gather(*self._publishing)
        for subscription in self._subscriptions:
            subscription.close()
        await asyncio.gather(*self._tasks)
        return self.wrong()

    def wrong(self) -> Wrong:
        lost = duplicated = reordered = 0
        for arrivals in self.arrivals:
            for publisher, count in enumerate(self.published):
                numbers = [each.number for each in arrivals if each.publisher == publisher]
                lost += len(set(range(count)) - set(numbers))
                duplicated += len(numbers) - len(set(numbers))
                reordered += sum(one > other for one, other in pairwise(numbers))
        return Wrong(lost, duplicated, reordered)

    def latencies(self, since: float = 0.0, until: float = float("inf")) -> list[float]:
        """The latencies, in seconds, of events published between these moments (`time.monotonic`)."""
        return [
            each.at - each.sent
            for arrivals in self.arrivals
            for each in arrivals
            if since <= each.sent < until
        ]

    def _connect(self, home: str) -> Session:
        order: Iterable[str] = [home, *(id for id in self._addresses if id != home)]
        return connect(["{}:{}".format(*self._addresses[id]) for id in order], timeout=PATIENCE)

    async def _publish(self, session: Session, publisher: int) -> None:
        """Publish at a steady rate. An event that has to wait for the window counts from when it was due."""
        start = time.monotonic() + publisher * self._pause / len(self._sessions)
        while not self._stopping:
            number = self.published[publisher]
            due = start + number * self._pause
            if (early := due - time.monotonic()) > 0:
                await asyncio.sleep(early)
            event = Event({"n": number, "p": publisher, "sent": due}, self._payload)
            self.published[publisher] += 1
            await session.send(event)
        await session.flush()

    async def _take(self, subscription: Subscription, number: int) -> None:
        async for event in subscription:
            attributes = event.attributes
            self.arrivals[number].append(
                Arrival(
                    int(attributes["p"]), int(attributes["n"]), float(attributes["sent"]), time.monotonic()
                )
            )
