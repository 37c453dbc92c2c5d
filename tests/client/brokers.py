"""A broker in a thread of its own, for clients that block; it can be taken away."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from regraft.broker.io.configuration import Configuration
from regraft.broker.io.server import BrokerServer


class Distant:
    """Its address, and `leave`, after which no answer comes from there."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._server = BrokerServer(Configuration("b0"), {})
        asyncio.run_coroutine_threadsafe(self._server.start(), loop).result(10)
        self.address = "{}:{}".format(*self._server.address)

    def leave(self) -> None:
        asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result(10)


@contextmanager
def distant() -> Iterator[Distant]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    broker = Distant(loop)
    try:
        yield broker
    finally:
        broker.leave()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
