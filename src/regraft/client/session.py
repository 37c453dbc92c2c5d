"""What an application holds: publish, subscribe, and nothing of connections.

async with connect("127.0.0.1:7000") as c:
    await c.publish({"temp": 21.5}, b"...")
    async for event in c.subscribe("temp > 20"):
        print(event.attributes)
"""

import asyncio
import secrets
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType

from regraft.client.addresses import parse_addresses
from regraft.client.checks import check_name, encoded, sendable
from regraft.client.core import Acknowledged, Client, Connected, Delivered, Happening, Placed, Waits
from regraft.client.errors import Closed, NotInPlace, Unreachable, refused
from regraft.client.link import Linking
from regraft.client.publishing import FRAME_BYTES, Outstanding, encoded_parts, event_of
from regraft.client.subscription import Subscription
from regraft.client.subscriptions import Subscriptions
from regraft.filters import parse
from regraft.protocol.events import Event, Value
from regraft.protocol.messages import AnyMessage

ON_THE_WAY_BYTES = 16 * 2**20
"""Of our publications; brokers close a client that has four times as much unconfirmed."""
PIPELINED = 256
"""So many publications leave at once, even if the application has not waited for anything yet."""


def connect(
    where: str | Iterable[str],
    *,
    name: str = "",
    token: str = "",
    tls: ssl.SSLContext | None = None,
    durable: bool = False,
    window: int = 4096,
    timeout: float = 10.0,
) -> "Session":
    """A session at one of the brokers, to be used with `async with`.

    `where` is `host:port`, or several of them: if one is gone the next is tried. A session with a `name` of
    its own that is `durable` survives the process: what it has subscribed to is kept for it for as long
    as the broker allows. `timeout` is for the first connection, and at the end for the next acknowledgement.
    """
    name = name or f"client-{secrets.token_hex(8)}"
    check_name(name)
    sendable("token", token)
    core = Client(name, time.time_ns() // 1_000_000, window, token, returning=durable)
    return Session(core, parse_addresses(where), tls, durable=durable, timeout=timeout)


class Session:
    """Made by `connect`."""

    def __init__(
        self,
        core: Client,
        addresses: Sequence[tuple[str, int]],
        tls: ssl.SSLContext | None,
        *,
        durable: bool,
        timeout: float,
    ) -> None:
        self.core = core
        self._addresses = addresses
        self._tls = tls
        self._durable = durable
        self._timeout = timeout
        self._outstanding = Outstanding(4096, ON_THE_WAY_BYTES)
        self._subscriptions = Subscriptions()
        self._placing: dict[str, asyncio.Future[None]] = {}
        self._waiting: dict[str, str] = {}
        """Filters that are not in place, and what they wait for, as the broker said."""
        self.on_waiting: Callable[[str], None] = lambda reason: None
        """Called with what a filter waits for, if that takes long."""
        self._advertised = False
        self._scheduled = True
        """Before there is a connection, nothing is: the hello says it all."""
        self._closed = False
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
        self._loop = asyncio.get_running_loop()
        self._welcomed: asyncio.Future[None] = self._loop.create_future()
        self._linking = Linking(self.core, self._addresses, self._tls, FRAME_BYTES, self._received)
        self._task = asyncio.create_task(self._linking.run())
        self._task.add_done_callback(self._linking_ended)
        try:
            async with asyncio.timeout(self._timeout):
                await self._welcomed
        except BaseException as fault:
            await self._end()
            if isinstance(fault, TimeoutError):
                raise Unreachable(self._linking.last_fault) from None
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self._outstanding.fault is None:
                while self.core.unacknowledged:
                    async with asyncio.timeout(self._timeout):
                        await self._outstanding.change()
                await self.flush()
        except TimeoutError:
            left = self.core.unacknowledged
            why = self._why_waiting() or self._linking.last_fault
            raise Unreachable(f"{left} publications were not acknowledged: {why}") from None
        finally:
            if not self._durable:
                self.core.leave()
            self._pump()
            await self._end()

    async def _end(self) -> None:
        self._closed = True
        self._subscriptions.fail(None)
        self._outstanding.fail(Closed("the session has ended"))
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.sleep(0)

    # Publishing

    async def advertise(self, filter: str) -> str:
        """Announce what will be published; returns its id when the overlay knows it."""
        sendable("filter", filter)
        text = str(parse(filter))
        self._advertised = True
        id = self.core.advertise(text)
        await self._place(id)
        return id

    async def unadvertise(self, id: str) -> None:
        """Withdraw an advertisement, after everything published so far has been acknowledged."""
        await self.flush()
        self.core.withdraw(id)
        await self._place(id)

    async def publish(self, event: Event | Mapping[str, Value], data: bytes = b"") -> None:
        """Returns when the event has reached everybody who subscribed to it."""
        await self.publish_many([event_of(event, data)])

    async def publish_many(self, events_: Iterable[Event]) -> None:
        """Returns when all of them have; in between, as many as the window allows are on the way."""
        waiting = [await self._queue(part) for part in encoded_parts(events_)]
        try:
            for each in waiting:
                await each
        finally:
            for each in waiting:
                each.cancel()

    async def send(self, event: Event | Mapping[str, Value], data: bytes = b"") -> None:
        """Waits only for room in the window; `flush` waits for what was sent and says what was refused."""
        body = encoded(event_of(event, data))
        if self._outstanding.room <= 0:
            await self._room()
        self._publish([body])

    async def flush(self) -> None:
        """Until everything sent so far is acknowledged; raises the first refusal since the last time."""
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
        if self._closed:
            raise Closed("the session has ended")
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

    def subscribe(self, filter: str) -> Subscription:
        """Events that match, from when it is in place (`await` it to know) until it is closed.

        A durable session that comes back must say what it had: subscribe before entering it.
        """
        if self._closed:
            raise Closed("the session has ended")
        sendable("filter", filter)
        parsed = parse(filter)
        id = self.core.subscribe(str(parsed))
        subscription = Subscription(id, parsed, self._consumed, self._withdraw)
        self._subscriptions.add(subscription)
        self._schedule()
        return subscription

    def _withdraw(self, subscription: Subscription) -> None:
        if self._subscriptions.remove(subscription.id) and not self._closed:
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
            if not self._welcomed.done():
                self._welcomed.set_result(None)
        elif happening.about.isdecimal():
            self._outstanding.rejected(int(happening.about), happening.reason)
        elif happening.about:
            self._settle(happening.about, refused(happening.reason))

    def _settle(self, id: str, fault: Exception | None) -> None:
        """A filter is in place, or refused."""
        subscription = self._subscriptions.by_id.get(id)
        if subscription is not None and fault is not None:
            self._subscriptions.remove(id)
            subscription.fail(fault)
        future = subscription.placed if subscription is not None else self._placing.pop(id, None)
        if future is None or future.done():
            return
        if fault is not None:
            future.set_exception(fault)
        else:
            future.set_result(None)

    def _linking_ended(self, task: asyncio.Task[str]) -> None:
        """Every broker refuses us, or linking itself failed: nothing will ever come."""
        if task.cancelled():
            return
        fault = task.exception() or refused(task.result())
        assert isinstance(fault, Exception)
        self._closed = True
        self._outstanding.fail(fault)
        self._subscriptions.fail(fault)
        for future in [self._welcomed, *self._placing.values()]:
            if not future.done():
                future.set_exception(fault)

    async def within(self, seconds: float | None, placed: Awaitable[object]) -> None:
        """Wait for a filter to be in place, `await`ed by this, for not longer than so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await placed
        except TimeoutError:
            why = self._why_waiting() or "the broker has not said why"
            raise NotInPlace(f"not in place after {seconds:g} s: {why}") from None

    def _why_waiting(self) -> str:
        return next(reversed(self._waiting.values()), "")

    async def _place(self, id: str) -> None:
        self._placing[id] = self._loop.create_future()
        self._schedule()
        await self._placing[id]

    # Sending

    def _schedule(self) -> None:
        """Soon: what the application does until it waits leaves together."""
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        self._scheduled = False
        self._queued = 0
        link = self._linking.link
        if link is not None and not link.paused and (messages := self.core.take()):
            link.send(messages)
