"""Filters that somebody waits for: until they are in place or, once withdrawn, until they are gone."""

import asyncio
from collections.abc import Container


class Placing:
    """By the filter's id, who waits for it."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[None]] = {}

    def expect(self, id: str) -> asyncio.Future[None]:
        future = self._waiting[id] = asyncio.get_running_loop().create_future()
        return future

    def settle(self, id: str, fault: Exception | None) -> None:
        """The broker has answered; the fault says why it refuses."""
        if (future := self._waiting.pop(id, None)) is not None:
            resolve(future, fault)

    def reconnected(self, known: Container[str]) -> None:
        """A new hello has listed every filter: what was withdrawn is gone, and no other answer will come."""
        for id in [each for each in self._waiting if each not in known]:
            self.settle(id, None)

    def fail(self, fault: Exception) -> None:
        """Nobody will answer any more."""
        for id in list(self._waiting):
            self.settle(id, fault)


def resolve(future: asyncio.Future[None], fault: Exception | None) -> None:
    """Nobody need wait for it: a fault that nobody looks at is not reported by the event loop."""
    if future.done():
        return
    if fault is None:
        future.set_result(None)
    else:
        future.set_exception(fault)
        future.exception()
