"""The demo's publishers and subscribers: clients of running brokers, everything noted in the ledger."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from types import TracebackType

from regraft.cli.demo_ledger import PUBLISHERS, Ledger, reading
from regraft.client import Closed, Session, Subscription, connect
from regraft.model import RegraftError

RATE = 400
"""Messages in a second, all publishers together."""
DRAIN_SECONDS = 10.0
STRAY_SECONDS = 0.2
"""So long one listens on for what may come once too often."""


class Traffic:
    """`async with Traffic(addresses, ledger)`: published from the beginning of the block until `finish`."""

    def __init__(self, addresses: Mapping[str, tuple[str, int]], ledger: Ledger, rate: int = RATE) -> None:
        self._addresses = addresses
        self._ledger = ledger
        self._pause = len(PUBLISHERS) / rate
        self._sessions = AsyncExitStack()
        self._publishers: dict[str, Session] = {}
        self._stopping = False
        self._publishing: list[asyncio.Task[None]] = []
        self._receiving: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Traffic":
        """Everybody is connected, and every filter in place, before the first message."""
        try:
            publishers = self._publishers = {city: await self._connect(city) for city in PUBLISHERS}
            for city, session in publishers.items():
                await session.advertise(f"city = '{city}'")
            for interest in self._ledger.interests:
                subscription = await (await self._connect(interest.city)).subscribe(interest.filter)
                self._receiving.append(asyncio.create_task(self._receive(interest.city, subscription)))
        except BaseException:
            await self._end()
            raise
        for index, (city, session) in enumerate(publishers.items()):
            offset = self._pause * index / len(publishers)
            self._publishing.append(asyncio.create_task(self._publish(city, session, offset)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    @property
    def unacknowledged(self) -> int:
        """Messages of which their publishers do not know that they have reached everybody."""
        return sum(session.core.unacknowledged for session in self._publishers.values())

    async def finish(self) -> None:
        """Publish no more and wait until all is acknowledged; what never comes is the ledger's to tell."""
        self._stopping = True
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await asyncio.gather(*self._publishing)
        await asyncio.sleep(STRAY_SECONDS)
        for task in self._receiving:
            if task.done():
                raise RegraftError(f"a subscriber has ended: {task.exception()}")

    async def _connect(self, city: str) -> Session:
        host, port = self._addresses[city]
        return await self._sessions.enter_async_context(connect(f"{host}:{port}"))

    async def _publish(self, city: str, session: Session, offset: float) -> None:
        """Steadily: a message that was held up is followed by the next ones at once."""
        begun = time.monotonic() + offset
        number = 0
        while not self._stopping:
            await asyncio.sleep(begun + number * self._pause - time.monotonic())
            what = reading(city, number)
            self._ledger.publishes(city, number, what, time.monotonic())
            await session.send(what)
            number += 1
        await session.flush()

    async def _receive(self, city: str, subscription: Subscription) -> None:
        async for event in subscription:
            at = event.attributes
            self._ledger.arrived(city, str(at["city"]), int(at["number"]), time.monotonic())

    async def _end(self) -> None:
        for task in (*self._publishing, *self._receiving):
            task.cancel()
        await asyncio.gather(*self._publishing, *self._receiving, return_exceptions=True)
        over = Closed("the demo is over")
        await self._sessions.__aexit__(Closed, over, None)  # without waiting for acknowledgements
