"""The client without `await`, for programs that are not asynchronous.

    with connect("127.0.0.1:7000") as c:
        c.publish({"temp": 21.5}, b"...")
        for event in c.subscribe("temp > 20"):
            print(event.attributes)

The session lives in a thread of its own, so that it stays connected while the program does other things.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from regraft.client import session, subscription
from regraft.client.addresses import Directory
from regraft.client.errors import ENDED, Closed, Misuse, NotConnected, OnlyBlocking
from regraft.protocol.events import Event, Value

T = TypeVar("T")
P = ParamSpec("P")
OUTSIDE = "the session is not connected: use it inside `with connect(…) as session:`"


def connect(where: "str | Iterable[str] | Directory", **options: Any) -> "Session":
    """As `regraft.client.connect`, to be used with `with`."""
    return Session(session.connect(where, **options))


class Session(OnlyBlocking):
    """Made by `connect`. Every method waits until it is done, or for `timeout` seconds."""

    def __init__(self, inner: session.Session) -> None:
        self._inner = inner
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = False
        self._lock = threading.Lock()
        """Nothing is handed to the thread once it has been told to stop."""

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def broker(self) -> str:
        """The id of the broker that has the session."""
        return self._inner.broker

    def __enter__(self) -> "Session":
        _not_in_a_loop()
        if self._ended:
            raise Closed(ENDED)
        if self._loop is not None:
            raise Misuse("the session is connected already: enter it once")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="regraft client", daemon=True)
        self._thread.start()
        try:
            self._wait(self._inner.__aenter__)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None:
            try:
                self._wait(self._inner.__aexit__, kind, fault, trace)
            finally:
                self._stop()

    def close(self, *, timeout: float | None = None) -> None:
        """End the session before its block does; closing again does nothing."""
        if self._loop is None:
            self._ended = True
            return
        try:
            self._wait(self._inner.close, timeout=timeout)
        finally:
            self._stop()

    def advertise(self, filter: str, *, timeout: float | None = None) -> str:
        return self._wait(self._inner.advertise, filter, timeout=timeout)

    def unadvertise(self, id: str, *, timeout: float | None = None) -> None:
        self._wait(self._inner.unadvertise, id, timeout=timeout)

    def publish(
        self, event: Event | Mapping[str, Value], data: bytes = b"", *, timeout: float | None = None
    ) -> None:
        self._wait(self._inner.publish, event, data, timeout=timeout)

    def publish_many(
        self, events: Iterable[Event | Mapping[str, Value]], *, timeout: float | None = None
    ) -> None:
        self._wait(self._inner.publish_many, events, timeout=timeout)

    def send(
        self, event: Event | Mapping[str, Value], data: bytes = b"", *, timeout: float | None = None
    ) -> None:
        self._wait(self._inner.send, event, data, timeout=timeout)

    def flush(self, *, timeout: float | None = None) -> None:
        self._wait(self._inner.flush, timeout=timeout)

    def subscribe(self, filter: str, *, timeout: float | None = None) -> "Subscription":
        """Returns when it is in place."""

        async def subscribed() -> subscription.Subscription:
            return await self._inner.subscribe(filter, timeout=timeout)

        return Subscription(self, self._wait(subscribed))

    def unsubscribe(self, subscription: "Subscription", *, timeout: float | None = None) -> None:
        """Close a subscription, and wait until the broker has forgotten it."""
        self._wait(self._inner.unsubscribe, subscription._inner, timeout=timeout)

    def _wait(self, work: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **options: P.kwargs) -> T:
        _not_in_a_loop()
        with self._lock:
            if self._ended:
                raise Closed(ENDED)
            if self._loop is None:
                raise NotConnected(OUTSIDE)
            future = asyncio.run_coroutine_threadsafe(work(*args, **options), self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _stop(self) -> None:
        """End the session's thread, after the calls of other threads that still wait in it."""
        with self._lock:
            loop, self._loop, self._ended = self._loop, None, True
        if loop is None:  # another thread closed it first
            return
        asyncio.run_coroutine_threadsafe(_others_done(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()


class Subscription(OnlyBlocking):
    """`for event in subscription`; `next` with a time limit is `get`."""

    def __init__(self, session: Session, inner: subscription.Subscription) -> None:
        self._session = session
        self._inner = inner

    def __iter__(self) -> Iterator[Event]:
        while (event := self.get()) is not None:
            yield event

    def get(self, timeout: float | None = None) -> Event | None:
        """The next event; None if the subscription has ended. `TimedOut` if none comes in time."""
        if self._session._ended:
            return None
        return self._session._wait(self._inner.get, timeout)

    def close(self) -> None:
        """Withdraw it; what has not been handed out is dropped. Closing again does nothing."""

        async def closed() -> None:
            self._inner.close()

        if not self._session._ended:
            self._session._wait(closed)


def _not_in_a_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise Misuse(
        "an event loop runs in this thread, and `regraft.client.sync` would block it: "
        "use `regraft.client` with `await` here"
    )


async def _others_done() -> None:
    """The session has told all its waiting tasks that it has ended: let them say so to their threads."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
