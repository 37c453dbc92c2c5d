"""What an application holds: publish, subscribe, and nothing of connections.

async with connect("127.0.0.1:7000") as c:
    await c.publish({"temp": 21.5}, b"...")
    async for event in c.subscribe("temp > 20"):
        print(event.attributes)

A session is used inside its block, in the event loop that entered it: everything else raises at once. Every
method that waits takes a `timeout`; without one it waits as long as it takes, while the connection is kept up
and made again behind it.
"""

import asyncio
import secrets
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import NoReturn

from regraft.client.addresses import Directory, parse_addresses
from regraft.client.checks import (
    check_name,
    check_timeout,
    check_tls,
    check_window,
    encoded,
    event_of,
    events_of,
    parsed,
    sendable,
)
from regraft.client.core import Acknowledged, Client, Connected, Delivered, Happening, Placed, Waits
from regraft.client.errors import (
    ENDED,
    Closed,
    Misuse,
    NotConnected,
    OnlyAsync,
    TimedOut,
    Unreachable,
    refused,
)
from regraft.client.link import Linking
from regraft.client.pending import FRAME_BYTES, Outstanding, Placing, encoded_parts, resolve
from regraft.client.subscription import Subscription, Subscriptions
from regraft.model import BadInput
from regraft.protocol.events import Event, Value
from regraft.protocol.messages import AnyMessage

ON_THE_WAY_BYTES = 16 * 2**20
"""The most bytes of ours that may be unconfirmed; brokers disconnect a client that has four times as many."""
PIPELINED = 256
"""When this many publications are queued they leave at once, even if the application has not waited yet."""
OUTSIDE = "the session is not connected: use it inside `async with connect(…) as session:`"


def connect(
    where: str | Iterable[str] | Directory,
    *,
    name: str = "",
    token: str = "",
    tls: ssl.SSLContext | None = None,
    durable: bool = False,
    window: int = 4096,
    timeout: float | None = 10.0,
) -> "Session":
    """A session at one of the brokers, to be used with `async with`.

    `where` is `host:port`, or several of them: if one is gone the next is tried. (Or a `Directory`, the file
    that `regraft up` writes.) A session with a `name` of its own that is `durable` survives the process: what
    it has subscribed to is kept for it for as long as the broker allows. `timeout` limits the wait for the
    first connection, and at the end that for each acknowledgement.
    """
    if durable and not name:
        raise BadInput("durable", "a session that is to be found again needs a `name` of its own")
    name = name or f"client-{secrets.token_hex(8)}"
    check_name(name)
    sendable("token", token)
    check_tls(tls)
    check_window(window)
    check_timeout(timeout)
    core = Client(name, time.time_ns() // 1_000_000, window, token, returning=durable)
    return Session(core, parse_addresses(where), tls, durable=durable, timeout=timeout)


class Session(OnlyAsync):
    """Made by `connect`."""

    def __init__(
        self,
        core: Client,
        addresses: Sequence[tuple[str, int]],
        tls: ssl.SSLContext | None,
        *,
        durable: bool,
        timeout: float | None,
    ) -> None:
        self.core = core
        self._addresses = addresses
        self._durable = durable
        self._timeout = timeout
        self._outstanding = Outstanding(4096, ON_THE_WAY_BYTES)
        self._subscriptions = Subscriptions()
        self._linking = Linking(core, addresses, tls, FRAME_BYTES, self._received)
        self._placing = Placing()
        self._waiting: dict[str, str] = {}
        """Filters that are not in place, and what they wait for, as the broker said."""
        self.on_waiting: Callable[[str], None] = lambda reason: None
        """Called with what a filter waits for, if that takes long."""
        self._advertised = False
        self._scheduled = True
        """Also before there is a connection, so that nothing is sent: the hello says it all."""
        self._unusable: Exception | None = NotConnected(OUTSIDE)
        """Why the session takes nothing: it has not begun, it has ended, or every broker refuses it."""
        self._queued = 0

    @property
    def name(self) -> str:
        return self.core.name

    @property
    def broker(self) -> str:
        """The id of the broker that has the session."""
        return self.core.home

    # Coming and going

    async def __aenter__(self) -> "Session":
        if self._unusable is None:
            raise Misuse("the session is connected already: enter it once")
        if not isinstance(self._unusable, NotConnected):
            raise Closed(ENDED)
        self._unusable = None
        self._loop = asyncio.get_running_loop()
        self._welcomed: asyncio.Future[None] = self._loop.create_future()
        self._task = asyncio.create_task(self._linking.run())
        self._task.add_done_callback(self._linking_ended)
        try:
            async with self._in_time(self._timeout, "broker that lets us in"):
                await self._welcomed
        except BaseException as fault:
            await self._end()
            if isinstance(fault, TimedOut):
                raise Unreachable(str(fault)) from None
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close(self._timeout, waits=kind is None)

    def __await__(self) -> NoReturn:
        raise Misuse("`connect` is not awaited: write `async with connect(…) as session:`")

    async def close(self, *, timeout: float | None = None) -> None:
        """End the session before its block does; waits until everything sent is acknowledged.

        `timeout` limits the wait for each acknowledgement; without it, that of `connect` does. Closing again
        does nothing.
        """
        check_timeout(timeout)
        await self._close(self._timeout if timeout is None else timeout, waits=True)

    async def _close(self, timeout: float | None, *, waits: bool) -> None:
        if isinstance(self._unusable, NotConnected | Closed):
            self._unusable = Closed(ENDED)
            self._subscriptions.fail(None)
            return
        self._in_own_loop()
        try:
            if waits and self._outstanding.fault is None:
                while self.core.unacknowledged:
                    async with self._in_time(
                        timeout, f"acknowledgement of {self.core.unacknowledged} publications"
                    ):
                        await self._outstanding.change()
                await self._acknowledged()
        except TimedOut:
            left = self.core.unacknowledged
            raise Unreachable(f"{left} publications were not acknowledged: {self._situation}") from None
        finally:
            if not self._durable:
                self.core.leave()
            self._pump()
            await self._end()

    async def _end(self) -> None:
        self._stop(Closed(ENDED), None)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.sleep(0)

    def _stop(self, fault: Exception, for_subscribers: Exception | None) -> None:
        """Nothing will come any more, and nothing is taken."""
        self._unusable = fault
        self._outstanding.fail(fault)
        self._subscriptions.fail(for_subscribers)
        self._placing.fail(fault)

    # Waiting

    def _check(self) -> None:
        """Raise unless the session can be used, and in this event loop."""
        if self._unusable is not None:
            raise self._unusable.with_traceback(None)
        self._in_own_loop()

    def _in_own_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise Misuse(
                "the session belongs to the event loop that entered it: connect in each loop, "
                "or call it with asyncio.run_coroutine_threadsafe"
            )

    @asynccontextmanager
    async def _in_time(self, timeout: float | None, what: str) -> AsyncIterator[None]:
        check_timeout(timeout)
        self._check()
        try:
            async with asyncio.timeout(timeout) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimedOut(f"no {what} within {timeout:g} s; {self._situation}") from None

    # Publishing

    async def advertise(self, filter: str, *, timeout: float | None = None) -> str:
        """Announce what will be published; returns its id when the overlay knows it.

        If that takes longer than the time given, it is withdrawn.
        """
        text = str(parsed(filter))
        self._check()
        check_timeout(timeout)
        self._advertised = True
        id = self.core.advertise(text)
        try:
            await self._place(id, timeout, f"advertisement {text!r} in place")
        except (TimedOut, asyncio.CancelledError):
            self.core.withdraw(id)
            self._schedule()
            raise
        return id

    async def unadvertise(self, id: str, *, timeout: float | None = None) -> None:
        """Withdraw an advertisement, after everything published so far has been acknowledged."""
        self._check()
        if id not in self.core.advertisements:
            raise BadInput(
                repr(id), "no advertisement of this session: give the id that `advertise` returned"
            )
        async with self._in_time(timeout, "acknowledgement of what was published before"):
            await self._acknowledged()
        self.core.withdraw(id)
        await self._place(id, timeout, "answer to the withdrawal of an advertisement")

    async def publish(
        self, event: Event | Mapping[str, Value], data: bytes = b"", *, timeout: float | None = None
    ) -> None:
        """Returns when the event has reached every client that subscribed to it.

        `TimedOut` takes nothing back: the event stays on its way, and may still be delivered.
        """
        await self.publish_many([event_of(event, data)], timeout=timeout)

    async def publish_many(
        self, events_: Iterable[Event | Mapping[str, Value]], *, timeout: float | None = None
    ) -> None:
        """Returns when all have reached their subscribers; the window limits how many are on the way."""
        events = events_of(events_)
        waiting: list[asyncio.Future[None]] = []
        try:
            async with self._in_time(timeout, "acknowledgement (what was sent may still be delivered)"):
                for part in encoded_parts(events):
                    waiting.append(await self._queue(part))
                for each in waiting:
                    await each
        finally:
            for each in waiting:
                each.cancel()

    async def send(
        self, event: Event | Mapping[str, Value], data: bytes = b"", *, timeout: float | None = None
    ) -> None:
        """Waits only for room in the window; `flush` waits for what was sent and says what was refused."""
        self._check()
        check_timeout(timeout)
        body = encoded(event_of(event, data))
        if self._outstanding.room <= 0:
            async with self._in_time(
                timeout, "room: too much is not acknowledged yet, and this event was not sent"
            ):
                await self._room()
        self._publish([body])

    async def flush(self, *, timeout: float | None = None) -> None:
        """Wait until everything sent so far is acknowledged; raise the first refusal since the last flush."""
        async with self._in_time(timeout, "acknowledgement (what was sent may still be delivered)"):
            await self._acknowledged()

    async def _acknowledged(self) -> None:
        while self.core.unacknowledged:
            await self._outstanding.change()
        if (fault := self._outstanding.take_rejected()) is not None:
            raise fault

    async def _queue(self, bodies: list[bytes]) -> asyncio.Future[None]:
        if self._outstanding.room <= 0:
            await self._room()
        last = self._publish(bodies)
        return self._outstanding.expect(last - len(bodies) + 1, last)

    def _publish(self, bodies: list[bytes]) -> int:
        if not self._advertised:
            self._advertised = True
            self.core.advertise("TRUE")
        last = self.core.publish(bodies, time.time_ns() // 1000)
        self._outstanding.sent(last, bodies)
        self._queued += len(bodies)
        if self._queued >= PIPELINED:
            self._pump()
        else:
            self._schedule()
        return last

    async def _room(self) -> None:
        while self._outstanding.room <= 0:
            await self._outstanding.change()

    # Subscribing

    def subscribe(self, filter: str, *, timeout: float | None = None) -> Subscription:
        """Events that match, from when it is in place (`await` it to know) until it is closed.

        If you wait for it and it is not in place within `timeout` seconds, it is withdrawn. A durable
        session that comes back must say what it had: subscribe before entering it.
        """
        found = parsed(filter)
        check_timeout(timeout)
        if not isinstance(self._unusable, NotConnected):
            self._check()
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise Misuse(f"{OUTSIDE} in a coroutine") from None
        id = self.core.subscribe(str(found))
        subscription = Subscription(id, found, self._consumed, self._withdraw, self._in_time, timeout)
        self._subscriptions.add(subscription)
        self._schedule()
        return subscription

    async def unsubscribe(self, subscription: Subscription, *, timeout: float | None = None) -> None:
        """Close a subscription, and wait until the broker has forgotten it."""
        self._check()
        check_timeout(timeout)
        if self._subscriptions.by_id.get(subscription.id) is not subscription:
            return
        subscription.close()
        await self._place(subscription.id, timeout, "answer to the withdrawal of a subscription")

    def _withdraw(self, subscription: Subscription) -> None:
        if self._subscriptions.remove(subscription.id) and self._unusable is None:
            self.core.withdraw(subscription.id)
            self._schedule()

    def _consumed(self, publisher: str, seqs: Sequence[int]) -> None:
        for seq in self._subscriptions.consumed(publisher, seqs):
            self.core.consumed(publisher, seq)
        self._schedule()

    # What the broker says

    def _received(self, messages: list[AnyMessage]) -> None:
        for happening in self.core.received(messages):
            self._happened(happening)
        self._pump()

    def _happened(self, happening: Happening) -> None:
        if isinstance(happening, Delivered):
            self._subscriptions.deliver(*happening[:3], self.core.consumed)
        elif isinstance(happening, Acknowledged):
            self._outstanding.acknowledged(happening.up_to)
        elif isinstance(happening, Waits):
            self._waiting[happening.id] = happening.reason
            self.on_waiting(happening.reason)
        elif isinstance(happening, Placed):
            self._waiting.pop(happening.id, None)
            self._settle(happening.id, None)
        elif isinstance(happening, Connected):
            resolve(self._welcomed, None)
            self._placing.reconnected(self.core.advertisements.keys() | self.core.subscriptions.keys())
        elif happening.about.isdecimal():
            self._outstanding.rejected(int(happening.about), happening.reason)
        elif happening.about:
            self._settle(happening.about, refused(happening.reason))

    def _settle(self, id: str, fault: Exception | None) -> None:
        """A filter is in place, or refused."""
        if (subscription := self._subscriptions.by_id.get(id)) is None:
            self._placing.settle(id, fault)
        elif fault is None:
            resolve(subscription.placed, None)
        else:
            self._subscriptions.remove(id)
            subscription.fail(fault)

    def _linking_ended(self, task: asyncio.Task[str]) -> None:
        """Every broker refuses us, or the task itself failed: nothing will ever come."""
        if task.cancelled():
            return
        fault = task.exception() or refused(task.result())
        assert isinstance(fault, Exception)
        self._stop(fault, fault)
        resolve(self._welcomed, fault)

    @property
    def _situation(self) -> str:
        """Why something takes long: what a filter waits for if its broker said so, else the connection."""
        return next(reversed(self._waiting.values()), "") or self._linking.status

    async def _place(self, id: str, timeout: float | None, what: str) -> None:
        answered = self._placing.expect(id)
        self._schedule()
        async with self._in_time(timeout, what):
            await answered

    # Sending

    def _schedule(self) -> None:
        """Send soon, so that everything the application does before it waits leaves together."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        self._scheduled = False
        self._queued = 0
        link = self._linking.link
        if link is not None and not link.paused and (messages := self.core.take()):
            link.send(messages)
