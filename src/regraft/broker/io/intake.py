"""What a connection has read and the shell has not heard yet: how much of it is heard at a time.

While something waits here nothing more is read. The first part of a run may be heard before the rest.
"""

import time
from collections import deque
from collections.abc import Iterator
from typing import Protocol

from regraft.broker.io.turns import COSTLY, Turns, Used, price
from regraft.filters import Filter
from regraft.protocol.messages import AnyMessage, Run

FEW = 16
"""So many messages are heard at once from who talks alone;"""
DIRECT = 96
"""from others so much (`price`),"""
FIRST_TURN, LONGEST_TURN = 96, 4096
"""and in a turn this, or more as long as that takes no longer than"""
TURN_SECONDS, LONG_TURN_SECONDS = 0.0002, 0.002
"""when others publish, and for who does it alone."""
COSTLY_AT_ONCE = 4


class Owner(Protocol):
    """The connection, which knows the shell."""

    def ahead(self, message: AnyMessage, filters: list[Filter]) -> Iterator[None]:
        """What can be done step by step before the message is heard; `filters` are kept until then."""

    def say(self, messages: list[AnyMessage]) -> bool:
        """Pass the messages on; whether to go on with the next."""

    def finished(self) -> None:
        """Nothing waits any more."""


class Intake:
    """Between a connection and its shell; it refers to the connection only while there is something to do."""

    def __init__(self, number: int, turns: Turns) -> None:
        self.waiting: deque[AnyMessage] = deque()
        self._number = number
        self._turns = turns
        self._at_work = False
        self._limit = FIRST_TURN
        self._used = Used()
        self._contended = False

    @property
    def busy(self) -> bool:
        return self._at_work

    def hear(self, messages: list[AnyMessage], owner: Owner) -> None:
        """At once, or when it is this connection's turn: then `busy`, until `finished` is called."""
        if not self._at_work and self._is_little(messages):
            start = time.monotonic()
            owner.say(messages)
            now = time.monotonic()
            self._used.add(now - start, now)
            return
        self.waiting += messages
        if not self._at_work:
            self._at_work = True
            self._turns.take(self._work(owner), type(self.waiting[0]) in COSTLY)

    def _is_little(self, messages: list[AnyMessage]) -> bool:
        if type(messages[0]) is Run:
            self._contended = self._turns.contended(self._number)
        if len(messages) > FEW or not COSTLY.isdisjoint(map(type, messages)):
            return False
        if not self._contended:
            return True
        return not self._used.heavy and sum(map(price, messages)) <= DIRECT

    def _work(self, owner: Owner) -> Iterator[None]:
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
        """The next turn takes as long as it may."""
        alone = publishes and not self._turns.contended(self._number)
        allowed = LONG_TURN_SECONDS if alone else TURN_SECONDS
        if seconds > allowed:
            self._limit = max(1, int(self._limit * allowed / seconds))
        else:
            self._limit = min(LONGEST_TURN, 2 * self._limit)
