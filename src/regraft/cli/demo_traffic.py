"""The demo's traffic: cities that report, subscribers with content filters, and a ledger that counts.

The ledger knows what every subscriber is due from plain predicates of its own, not from the filters that
the brokers route by.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from regraft.client import Session, Subscription, connect
from regraft.model import RegraftError

if TYPE_CHECKING:
    from regraft.protocol.events import Value

Reading = dict[str, "Value"]
PUBLISHERS = ("London", "Madrid", "Istanbul", "Vienna", "Amsterdam", "Bucharest", "Marseille", "Milan")
RATE = 400
"""Messages in a second, all publishers together."""
DRAIN_SECONDS = 10.0
STRAY_SECONDS = 0.2
"""So long one listens on for what may come once too often."""


class Interest(NamedTuple):
    """A subscriber in a city: its filter, and the same as the ledger understands it."""

    city: str
    filter: str
    wants: Callable[[Reading], bool]


INTERESTS = (
    Interest("Roma", "TRUE", lambda at: True),
    Interest("Dublin", "kind = 'alarm'", lambda at: at["kind"] == "alarm"),
    Interest("Athens", "load > 90", lambda at: int(at["load"]) > 90),
    Interest("Lyon", "city IN ('Madrid', 'Milan')", lambda at: at["city"] in ("Madrid", "Milan")),
    Interest(
        "Kiev",
        "load >= 20 AND load <= 50 AND city LIKE '%m'",
        lambda at: 20 <= int(at["load"]) <= 50 and str(at["city"]).endswith("m"),
    ),
    Interest(
        "Lisbon",
        "kind = 'alarm' OR city = 'Istanbul'",
        lambda at: at["kind"] == "alarm" or at["city"] == "Istanbul",
    ),
)


def reading(city: str, number: int) -> Reading:
    """What a city publishes as its message of this number."""
    load = (number * 37 + len(city) * 11) % 100
    return {"city": city, "kind": "alarm" if number % 10 == 0 else "load", "load": load, "number": number}


class Counts(NamedTuple):
    """Deliveries, counted end to end."""

    published: int
    due: int
    delivered: int
    lost: int
    repeated: int
    reordered: int
    unwanted: int

    @property
    def flawless(self) -> bool:
        return not (self.lost or self.repeated or self.reordered or self.unwanted)


class Arrival(NamedTuple):
    publisher: str
    number: int
    at: float


class Ledger:
    """Every message published and every delivery, with their times."""

    def __init__(self, interests: tuple[Interest, ...] = INTERESTS) -> None:
        self.interests = interests
        self.published: dict[tuple[str, int], tuple[Reading, float]] = {}
        self.arrivals: dict[str, list[Arrival]] = {interest.city: [] for interest in interests}

    def publishes(self, publisher: str, number: int, what: Reading, at: float) -> None:
        self.published[publisher, number] = what, at

    def arrived(self, subscriber: str, publisher: str, number: int, at: float) -> None:
        self.arrivals[subscriber].append(Arrival(publisher, number, at))

    @property
    def deliveries(self) -> int:
        return sum(map(len, self.arrivals.values()))

    def counts(self) -> Counts:
        due = delivered = repeated = reordered = unwanted = 0
        for interest in self.interests:
            wanted = {key for key, (what, _) in self.published.items() if interest.wants(what)}
            seen: set[tuple[str, int]] = set()
            highest: dict[str, int] = defaultdict(lambda: -1)
            for publisher, number, _ in self.arrivals[interest.city]:
                if (publisher, number) in seen:
                    repeated += 1
                elif number < highest[publisher]:
                    reordered += 1
                highest[publisher] = max(highest[publisher], number)
                seen.add((publisher, number))
            due += len(wanted)
            delivered += len(wanted & seen)
            unwanted += len(seen - wanted)
        return Counts(len(self.published), due, delivered, due - delivered, repeated, reordered, unwanted)

    def slowest(self, begun: float, ended: float) -> float:
        """Seconds of the slowest delivery that was on its way at some time between the two."""
        return max(
            (
                each.at - sent
                for arrivals in self.arrivals.values()
                for each in arrivals
                if (sent := self.published[each.publisher, each.number][1]) < ended and each.at > begun
            ),
            default=0.0,
        )


class Traffic:
    """`async with Traffic(addresses, ledger)`: published from the beginning of the block until `finish`."""

    def __init__(self, addresses: Mapping[str, tuple[str, int]], ledger: Ledger, rate: int = RATE) -> None:
        self._addresses = addresses
        self._ledger = ledger
        self._pause = len(PUBLISHERS) / rate
        self._sessions = AsyncExitStack()
        self._stopping = False
        self._publishing: list[asyncio.Task[None]] = []
        self._receiving: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Traffic":
        """Everybody is connected, and every filter in place, before the first message."""
        try:
            publishers = {city: await self._connect(city) for city in PUBLISHERS}
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

    async def finish(self) -> None:
        """Publish no more and wait for what is on its way; what never comes is the ledger's to tell."""
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
        await self._sessions.aclose()
