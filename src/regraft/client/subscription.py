"""A subscription as the application sees it: an asynchronous iterator of events.

An event counts as consumed when the next one is asked for (or the subscription is closed): a client that
crashes while it handles an event gets it again after it has come back under the same name.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType

from regraft.client.errors import ENDED, Closed, Misuse, OnlyAsync, TimedOut
from regraft.client.pending import resolve
from regraft.filters import Filter
from regraft.protocol.events import Event, NotAnEvent, attributes, decode

log = logging.getLogger("regraft.client")
Consumed = Callable[[str, Sequence[int]], None]
InTime = Callable[[float | None, str], AbstractAsyncContextManager[None]]
"""Limits a wait in a session: for how many seconds, and what is waited for."""


class Subscription(OnlyAsync):
    """`async for event in subscription`, or `async for events in subscription.batches()`.

    `await subscription` waits until it is in place: what is published from then on is delivered.
    """

    def __init__(
        self,
        id: str,
        filter: Filter,
        consumed: Consumed,
        withdraw: Callable[["Subscription"], None],
        in_time: InTime,
        timeout: float | None = None,
    ) -> None:
        self.id = id
        self.filter = filter
        self.placed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._runs: deque[tuple[str, Sequence[int], Sequence[bytes]]] = deque()
        self._at = 0
        """Where in the first run the next event is."""
        self._handing_out: tuple[str, Sequence[int]] | None = None
        self._arrived: asyncio.Future[None] | None = None
        self._consumed = consumed
        self._withdraw = withdraw
        self._in_time = in_time
        self._timeout = timeout
        """How long it may take to be in place."""
        self._fault: Exception | None = None
        self._closed = False
        self._warned = False
        """Whether a warning was logged: one is enough."""

    def __await__(self) -> Generator[object, None, "Subscription"]:
        yield from self._in_place().__await__()
        return self

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def get(self, timeout: float | None = None) -> Event | None:
        """The next event; None if the subscription has ended. `TimedOut` if none comes in time."""
        try:
            return await self._next(timeout)
        except StopAsyncIteration:
            return None

    async def __anext__(self) -> Event:
        return await self._next(None)

    async def _next(self, timeout: float | None) -> Event:
        event: Event | None = None
        while event is None:
            self.confirm()
            if not self._runs:
                await self._more(timeout)
            publisher, seqs, events = self._runs[0]
            at = self._at
            self._handing_out = (publisher, seqs[at : at + 1])
            self._at += 1
            if self._at == len(seqs):
                self._runs.popleft()
                self._at = 0
            event = self._decoded(events[at], publisher)
        return event

    async def batches(self, *, timeout: float | None = None) -> AsyncIterator[list[Event]]:
        """Events as they came together, for speed; a batch is consumed when the next one is asked for.

        `TimedOut` if the next one does not come within `timeout` seconds.
        """
        while True:
            self.confirm()
            if not self._runs:
                try:
                    await self._more(timeout)
                except StopAsyncIteration:
                    return
            publisher, seqs, events = self._runs.popleft()
            at, self._at = self._at, 0
            self._handing_out = (publisher, seqs[at:])
            try:
                batch = [decode(event) for event in events[at:]]
            except (ValueError, RecursionError):
                each = [self._decoded(event, publisher) for event in events[at:]]
                batch = [event for event in each if event is not None]
            if batch:
                yield batch

    async def __aenter__(self) -> "Subscription":
        return await self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def confirm(self) -> None:
        """What was handed out is consumed. Asking for the next event says so too."""
        if self._handing_out is not None:
            handed_out, self._handing_out = self._handing_out, None
            self._consumed(*handed_out)

    def end(self) -> None:
        """Iterating stops; the subscription stays, for the next time that a durable session comes back."""
        self.fail(None)

    def close(self) -> None:
        """Withdraw it; what has not been handed out is dropped."""
        if self._closed:
            return
        self._closed = True
        self.confirm()
        for publisher, seqs, _ in self._runs:
            self._consumed(publisher, seqs[self._at :])
            self._at = 0
        self._runs.clear()
        resolve(self.placed, Closed("the subscription was closed before it was in place"))
        self._withdraw(self)
        self._wake()

    # What the session calls

    def put(self, publisher: str, seqs: Sequence[int], events: Sequence[bytes]) -> None:
        self._runs.append((publisher, seqs, events))
        self._wake()

    def fail(self, fault: Exception | None) -> None:
        """No more will come: with a fault, or because the session has ended."""
        self._fault, self._closed = fault, True
        resolve(self.placed, fault or Closed(ENDED))
        self._wake()

    # Inside

    def _decoded(self, event: bytes, publisher: str) -> Event | None:
        """None if it is not an event: that must neither end the subscription nor come again for ever."""
        try:
            return decode(event)
        except (ValueError, RecursionError) as fault:
            if not self._warned:
                self._warned = True
                log.warning(
                    "%s published something that is not an event; it is skipped: %s", publisher, fault
                )
            return None

    async def _in_place(self) -> None:
        if self.placed.done():
            self.placed.result()
            return
        try:
            async with self._in_time(self._timeout, f"subscription to {str(self.filter)!r} in place"):
                await asyncio.shield(self.placed)
        except TimedOut:
            self.close()
            raise

    async def _more(self, timeout: float | None) -> None:
        """Wait until there is something to hand out."""
        if not self.placed.done():
            with suppress(Closed):  # ended while it waited: so does the iteration, below
                await self._in_place()
        while not self._runs:
            if self._closed:
                if self._fault is not None:
                    raise self._fault
                raise StopAsyncIteration
            if self._arrived is not None and not self._arrived.done():
                raise Misuse(
                    "another task waits for the next event here: give each task its own subscription"
                )
            async with self._in_time(timeout, f"event for {str(self.filter)!r}"):
                self._arrived = asyncio.get_running_loop().create_future()
                await self._arrived

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)


class Subscriptions:
    """All subscriptions of a session: each gets those deliveries that match it."""

    def __init__(self) -> None:
        self.by_id: dict[str, Subscription] = {}
        self._several = False
        """Whether there has ever been more than one: then each event is matched against all of them."""
        self._shared: dict[tuple[str, int], int] = {}
        """Events that several subscriptions have, and how many of these are not done with them."""
        self._warned = False

    def add(self, subscription: Subscription) -> None:
        self._several |= bool(self.by_id)
        self.by_id[subscription.id] = subscription

    def remove(self, id: str) -> bool:
        """Whether it was there. What is still on the way for it is not for the others."""
        self._several = True
        return self.by_id.pop(id, None) is not None

    def deliver(
        self,
        publisher: str,
        seqs: Sequence[int],
        events: Sequence[bytes],
        unwanted: Callable[[str, int], None],
    ) -> None:
        """Give each event to the subscriptions that match; `unwanted` is called if none does."""
        if not self._several and self.by_id:
            next(iter(self.by_id.values())).put(publisher, seqs, events)
            return
        for seq, event in zip(seqs, events, strict=True):
            takers = self._takers(event)
            if not takers:
                unwanted(publisher, seq)
            elif len(takers) > 1:
                self._shared[publisher, seq] = len(takers)
            for taker in takers:
                taker.put(publisher, [seq], [event])

    def _takers(self, event: bytes) -> list[Subscription]:
        try:
            values = attributes(event)
        except NotAnEvent as fault:
            if not self._warned:
                self._warned = True
                log.warning("something was published that is not an event; it is skipped: %s", fault)
            return []
        return [each for each in self.by_id.values() if each.filter.matches(values)]

    def consumed(self, publisher: str, seqs: Sequence[int]) -> Iterator[int]:
        """One subscription is done with these; returns those that no other one still has to consume."""
        shared = self._shared
        for seq in seqs:
            if shared and (left := shared.pop((publisher, seq), 1)) > 1:
                shared[publisher, seq] = left - 1
            else:
                yield seq

    def fail(self, fault: Exception | None) -> None:
        """No more will come."""
        for subscription in self.by_id.values():
            subscription.fail(fault)
