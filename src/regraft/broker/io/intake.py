"""Messages that a connection has read and the shell has not handled yet: how many are handled at a time.

While something waits here nothing more is read. The first part of a run may be handled before the rest.
"""

import time
from collections import deque
from collections.abc import Iterator
from typing import Protocol

from regraft.broker.io.fair_queue import COSTLY, FairQueue, RecentUse, price
from regraft.filters import Filter
from regraft.protocol.messages import AnyMessage, Run

FEW = 16
"""The most messages that are handled at once, without queueing, if no other connection publishes."""
DIRECT = 96
"""The most work (`price`) that is handled at once if others publish."""
FIRST_TURN, LONGEST_TURN = 96, 4096
"""Work per slice: the first, and the largest to which it may grow (`_adapt`)."""
TURN_SECONDS, LONG_TURN_SECONDS = 0.0002, 0.002
"""How long a slice may take if others publish, and if this connection publishes alone."""
COSTLY_AT_ONCE = 4


class IntakeOwner(Protocol):
    """The connection, which knows the shell."""

    def ahead(self, message: AnyMessage, filters: list[Filter]) -> Iterator[None]:
        """What can be done step by step before the message is heard; `filters` are kept until then."""

    def say(self, messages: list[AnyMessage]) -> bool:
        """Pass the messages on; returns whether to continue with the next."""

    def finished(self) -> None:
        """Nothing waits any more."""


class Intake:
    """Between a connection and its shell; it refers to the connection only while there is something to do."""

    def __init__(self, number: int, fair_queue: FairQueue) -> None:
        self.waiting: deque[AnyMessage] = deque()
        self._number = number
        self._fair_queue = fair_queue
        self._at_work = False
        self._limit = FIRST_TURN
        self._used = RecentUse()
        self._contended = False

    @property
    def busy(self) -> bool:
        return self._at_work

    def hear(self, messages: list[AnyMessage], owner: IntakeOwner) -> None:
        """Handle them at once, or in slices: then the intake is `busy` until `finished` is called."""
        if not self._at_work and self._is_little(messages):
            start = time.monotonic()
            owner.say(messages)
            now = time.monotonic()
            self._used.add(now - start, now)
            return
        self.waiting += messages
        if not self._at_work:
            self._at_work = True
            self._fair_queue.take(self._work(owner), type(self.waiting[0]) in COSTLY)

    def _is_little(self, messages: list[AnyMessage]) -> bool:
        if type(messages[0]) is Run:
            self._contended = self._fair_queue.contended(self._number)
        if len(messages) > FEW or not COSTLY.isdisjoint(map(type, messages)):
            return False
        if not self._contended:
            return True
        return not self._used.heavy and sum(map(price, messages)) <= DIRECT

    def _work(self, owner: IntakeOwner) -> Iterator[None]:
        going = True
        while self.waiting and going:
            if type(self.waiting[0]) in COSTLY:
                batch = self._costly()
                filters: list[Filter] = []
                for message in batch:
                    yield from owner.ahead(message, filters)
            else:
                batch = self._cheap()
            start = time.monotonic()
            going = owner.say(batch)
            self._adapt(type(batch[0]) is Run, time.monotonic() - start)
            yield
        self.waiting.clear()
        self._at_work = False
        owner.finished()

    def _costly(self) -> list[AnyMessage]:
        batch: list[AnyMessage] = []
        while self.waiting and len(batch) < COSTLY_AT_ONCE and type(self.waiting[0]) in COSTLY:
            batch.append(self.waiting.popleft())
        return batch

    def _cheap(self) -> list[AnyMessage]:
        """At least one message, or a part of a long run."""
        batch: list[AnyMessage] = []
        left = self._limit
        while self.waiting and left > 0 and type(self.waiting[0]) not in COSTLY:
            message = self.waiting.popleft()
            if type(message) is Run and len(message.seqs) > left:
                self.waiting.appendleft(message.part(slice(left, None)))
                message = message.part(slice(left))
            batch.append(message)
            left -= price(message)
        return batch

    def _adapt(self, publishes: bool, seconds: float) -> None:
        """Fit the size of the next slice to the time that it may take."""
        alone = publishes and not self._fair_queue.contended(self._number)
        allowed = LONG_TURN_SECONDS if alone else TURN_SECONDS
        if seconds > allowed:
            self._limit = max(1, int(self._limit * allowed / seconds))
        else:
            self._limit = min(LONGEST_TURN, 2 * self._limit)
