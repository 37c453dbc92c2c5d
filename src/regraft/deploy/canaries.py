"""Canaries audit a run: numbered events sent through the overlay while it changes, counted by the real
client.

One broker has a publisher, a few others, far apart, have subscribers. An event that was acknowledged to the
publisher has reached every subscriber, so at the end nothing may be missing. Canaries work on trees only: in
a mesh an event travels over brokers that are interested in its topic, and the canaries' brokers need not be
neighbours.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType

from regraft.client import Event, Session, Subscription, connect
from regraft.model.outcome import CanaryOutcome

TOPIC = "regraft.canary"
FILTER = f"topic = '{TOPIC}' AND run = "
RECENT = 1000
CONNECT_SECONDS, LATE_SECONDS = 3.0, 10.0
Address = tuple[str, int]


class Canaries:
    """`async with Canaries(run, addresses, places)`: the first place publishes, all others subscribe."""

    def __init__(
        self,
        run: str,
        addresses: Mapping[str, Address],
        places: Sequence[str],
        *,
        rate: float = 50.0,
        token: str = "",
    ) -> None:
        self._run = run
        self._addresses = addresses
        self._publisher, *self._subscribers = places
        self._rate, self._token = rate, token
        self._published = 0
        self._received: dict[str, list[int]] = {name: [] for name in self._subscribers}
        self._sent: list[float] = []
        self._latencies: list[float] = []
        self._recent: deque[tuple[float, float]] = deque(maxlen=RECENT)
        """When each event arrived, and its latency (ms)."""
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self._stop = asyncio.Event()

    async def __aenter__(self) -> "Canaries":
        filter = f"{FILTER}'{self._run}'"
        try:
            self._session = await self._stack.enter_async_context(self._connect(self._publisher))
            await self._session.advertise(filter)
            for name in self._subscribers:
                session = await self._stack.enter_async_context(self._connect(name))
                subscription = await session.subscribe(filter)
                self._tasks.append(asyncio.create_task(self._take(name, subscription)))
        except BaseException:
            await self._leave()
            raise
        self._publishing = asyncio.create_task(self._publish())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Waits until the last event has arrived, but not longer than `LATE_SECONDS`."""
        self._stop.set()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LATE_SECONDS):
                    await self._publishing
                    await self._session.flush()
                    while any(len(set(received)) < self._published for received in self._received.values()):
                        await asyncio.sleep(0.02)
        finally:
            self._publishing.cancel()
            await self._leave()

    def latency_ms(self) -> float:
        """The highest latency of the last second. An event that is still on its way counts with its age."""
        now = time.monotonic()
        late = [ms for at, ms in self._recent if now - at < 1.0]
        waiting = [
            self._sent[len(received)]
            for received in self._received.values()
            if len(received) < len(self._sent)
        ]
        return max([*late, *(1000 * (now - sent) for sent in waiting)], default=0.0)

    @property
    def outcome(self) -> CanaryOutcome:
        received = self._received.values()
        lost = sum(self._published - len(set(each)) for each in received)
        reordered = sum(map(_reordered, received))
        duplicated = sum(len(each) - len(set(each)) for each in received)
        delivered = sum(map(len, received))
        late = sorted(self._latencies)
        p50, p99 = (round(late[int(len(late) * part)], 3) if late else None for part in (0.5, 0.99))
        return CanaryOutcome(
            publisher=self._publisher,
            subscribers=tuple(self._subscribers),
            published=self._published,
            delivered=delivered,
            lost=lost,
            duplicated=duplicated,
            reordered=reordered,
            p50_ms=p50,
            p99_ms=p99,
        )

    def _connect(self, name: str) -> Session:
        host, port = self._addresses[name]
        return connect(f"{host}:{port}", token=self._token, timeout=CONNECT_SECONDS)

    async def _publish(self) -> None:
        """Publish at an even rate. A full window delays it, like any publisher."""
        next_at = time.monotonic()
        while not self._stop.is_set():
            self._published += 1
            attributes: dict[str, str | int | float | bool] = {
                "topic": TOPIC,
                "run": self._run,
                "number": self._published,
            }
            self._sent.append(time.monotonic())
            await self._session.send(Event(attributes, b""))
            next_at = max(next_at + 1 / self._rate, time.monotonic() - 1)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, next_at - time.monotonic())):
                    await self._stop.wait()

    async def _take(self, name: str, subscription: Subscription) -> None:
        async for event in subscription:
            number, now = int(event.attributes["number"]), time.monotonic()
            self._received[name].append(number)
            self._latencies.append(1000 * (now - self._sent[number - 1]))
            self._recent.append((now, self._latencies[-1]))

    async def _leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(Exception):  # a broker may be down, and its clients need nothing more
            await self._stack.aclose()


def _reordered(numbers: Sequence[int]) -> int:
    """How many numbers arrived for the first time after a higher one."""
    highest, seen, count = 0, set[int](), 0
    for number in numbers:
        count += number < highest and number not in seen
        highest = max(highest, number)
        seen.add(number)
    return count


def canary_places(names: Sequence[str], first: Sequence[str], subscribers: int) -> list[str]:
    """A broker for the publisher and for each subscriber: of `first` if those are enough, else of all."""
    chosen = list(dict.fromkeys([*sorted(first), *sorted(names)]))
    pool = sorted(first) if len(set(first)) > subscribers else chosen
    count = min(subscribers + 1, len(pool))
    return [pool[at * len(pool) // count] for at in range(count)]
