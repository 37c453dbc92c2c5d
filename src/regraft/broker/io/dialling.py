"""Calls to neighbours: each is repeated, with growing and random pauses, until the neighbour answers."""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping

from regraft.broker.io.configuration import Address
from regraft.broker.io.connection import Connection
from regraft.wire.identity import Tls, dialling
from regraft.wire.streams import dial

log = logging.getLogger("regraft.broker")
FIRST_PAUSE = 0.01
"""Short, because a new neighbour is often called a moment before it has heard of the change (`relink`)."""
LONGEST_PAUSE = 2.0
CONNECT_SECONDS = 5.0
LASTING_SECONDS = 5.0
"""A connection that lasted for this long was a good one: the next call is made without a pause."""
MANY = 5


def pause(attempt: int, random_part: Callable[[], float] = random.random) -> float:
    """Seconds before the next attempt: doubled each time, and at random between half and all of that,
    so that brokers that lost the same neighbour do not come back at the same moment."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * float(2 ** min(attempt, 10)))
    return longest * (0.5 + random_part() / 2)


class Dialling:
    """One task for each neighbour that is being called."""

    def __init__(
        self, connection: Callable[[str], Connection], addresses: Mapping[str, Address], tls: Tls | None
    ) -> None:
        self._connection = connection
        self._addresses = addresses
        self._tls = tls
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._answered: dict[str, tuple[float, int]] = {}
        """When a neighbour last answered, and how many times in a row it has been lost soon afterwards."""

    def dial(self, neighbour: str) -> None:
        if (call := self._calls.get(neighbour)) is None or call.done():
            call = self._calls[neighbour] = asyncio.create_task(self._call(neighbour))
            call.add_done_callback(lambda ended: self._ended(neighbour, ended))

    def dial_anew(self, neighbour: str) -> None:
        """Its address has changed: if it is being called, call again at once."""
        if neighbour in self._calls:
            self.hangup(neighbour)
            self.dial(neighbour)

    def hangup(self, neighbour: str) -> None:
        """It is no longer a neighbour. If it becomes one again, earlier losses do not count."""
        self._answered.pop(neighbour, None)
        if (call := self._calls.pop(neighbour, None)) is not None:
            call.cancel()

    def hangup_all(self) -> None:
        for neighbour in list(self._calls):
            self.hangup(neighbour)

    async def stop(self) -> None:
        calls = list(self._calls.values())
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        self._calls.clear()

    async def _call(self, neighbour: str) -> None:
        """Call until the neighbour says hello: a port that accepts may belong to a broker that refuses us."""
        attempt = lost = self._attempt(neighbour)
        if attempt:
            await asyncio.sleep(pause(attempt))
        while not await self._once(neighbour):
            await asyncio.sleep(pause(attempt))
            attempt += 1
        self._answered[neighbour] = (asyncio.get_running_loop().time(), lost + 1)

    def _attempt(self, neighbour: str) -> int:
        """A neighbour that answers and is lost at once, again and again, is called no more often than one
        that does not answer: perhaps there are two of that name, or it does not want us."""
        answered, attempt = self._answered.get(neighbour, (-LASTING_SECONDS, 0))
        if asyncio.get_running_loop().time() - answered > LASTING_SECONDS:
            return 0
        if attempt == MANY:
            log.warning(
                "%s answers and is lost again, %d times in a row: are there two of that name?",
                neighbour,
                attempt,
            )
        return attempt

    def _ended(self, neighbour: str, call: asyncio.Task[None]) -> None:
        """The call has ended; the neighbour can be called again."""
        if self._calls.get(neighbour) is call:
            del self._calls[neighbour]

    async def _once(self, neighbour: str) -> bool:
        address = self._addresses.get(neighbour)
        if address is None:
            return False
        connection: Connection | None = None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                connection = await dial(lambda: self._connection(neighbour), address, dialling(self._tls))
                await asyncio.wait({connection.ended, connection.known}, return_when=asyncio.FIRST_COMPLETED)
        except Exception as fault:  # also from certificate files that are being replaced, and odd names
            log.info("the call to %s failed: %r", neighbour, fault)
            if connection is not None:
                connection.close("the neighbour accepts but does not answer")
            return False
        return connection.known.done() and not connection.ended.done()
