"""The client without `await`, for programs that are not asynchronous.

    with connect("127.0.0.1:7000") as c:
        c.publish({"temp": 21.5}, b"...")
        for event in c.subscribe("temp > 20"):
            print(event.attributes)

The session lives in a thread of its own, so that it stays connected while the program does other things.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

from regraft.client import session, subscription
from regraft.client.addresses import Directory
from regraft.protocol.events import Event, Value

T = TypeVar("T")


def connect(where: "str | Iterable[str] | Directory", **options: Any) -> "Session":
    """As `regraft.client.connect`, to be used with `with`."""
    return Session(session.connect(where, **options))


class Session:
    """Made by `connect`. Every method waits until it is done."""

    def __init__(self, inner: session.Session) -> None:
        self._inner = inner
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="regraft client", daemon=True)

    @property
    def name(self) -> str:
        return self._inner.name

    def __enter__(self) -> "Session":
        self._thread.start()
        try:
            self._wait(self._inner.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._wait(self._inner.__aexit__(kind, fault, trace))
        finally:
            self._stop()

    def advertise(self, filter: str) -> str:
        return self._wait(self._inner.advertise(filter))

    def publish(self, event: Event | Mapping[str, Value], data: bytes = b"") -> None:
        self._wait(self._inner.publish(event, data))

    def publish_many(self, events: Iterable[Event]) -> None:
        self._wait(self._inner.publish_many(events))

    def send(self, event: Event | Mapping[str, Value], data: bytes = b"") -> None:
        self._wait(self._inner.send(event, data))

    def flush(self) -> None:
        self._wait(self._inner.flush())

    def subscribe(self, filter: str) -> "Subscription":
        """Returns when it is in place."""

        async def subscribed() -> subscription.Subscription:
            return await self._inner.subscribe(filter)

        return Subscription(self, self._wait(subscribed()))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Subscription:
    """`for event in subscription`; `next` with a time limit is `get`."""

    def __init__(self, session: Session, inner: subscription.Subscription) -> None:
        self._session = session
        self._inner = inner

    def __iter__(self) -> Iterator[Event]:
        while (event := self.get()) is not None:
            yield event

    def get(self, timeout: float | None = None) -> Event | None:
        """The next event; None if the subscription has ended. `TimeoutError` if none comes in time."""

        async def following() -> Event | None:
            try:
                async with asyncio.timeout(timeout):
                    return await anext(self._inner)
            except StopAsyncIteration:
                return None

        return self._session._wait(following())

    def close(self) -> None:
        async def closed() -> None:
            self._inner.close()

        self._session._wait(closed())
