"""Who is heard when: long work is done in slices, one for each round of the event loop.

A peer that says little is answered at once. What takes longer waits here, in a queue of all connections, and
between two slices the event loop looks who else has something to say. So a peer waits for one slice at
most, however many others bring however much.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterator

from regraft.filters import BadFilter, Filter, preparing
from regraft.protocol.messages import (
    Advertise,
    AnyMessage,
    ClientHello,
    Confirm,
    Run,
    Subscribe,
    Update,
    Withdraw,
)

SLICE_SECONDS = 0.0002
ALONE_SECONDS = 0.5
"""Who publishes is alone if nobody else has published for so long."""
WINDOW_SECONDS = 0.1
HEAVY_SECONDS = 0.025
"""Who has been heard for so long within the window waits for its turn when others publish."""
COSTLY = frozenset({Advertise, Subscribe, Withdraw, ClientHello, Update})
"""They change tables, and most bring filters that have to be read."""


class Turns:
    """The queue of one broker."""

    def __init__(self) -> None:
        self._waiting: deque[Iterator[None]] = deque()
        self._filters: deque[Iterator[None]] = deque()
        """Work on filters: it takes longest, and has every second slice if there is other work."""
        self._filters_next = False
        self._is_due = False
        self._talker = -1
        self._since = self._until = 0.0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._filters)

    def take(self, work: Iterator[None], filters: bool = False) -> None:
        """Do this, step by step, in turn with what others want done; it begins with `filters`, or not."""
        (self._filters if filters else self._waiting).append(work)
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._round)

    def contended(self, talker: int) -> bool:
        """This one publishes: do others as well?"""
        now = time.monotonic()
        if talker != self._talker:
            if now - self._since < ALONE_SECONDS:
                self._until = now + 2 * ALONE_SECONDS
            self._talker = talker
        self._since = now
        return now < self._until

    def _round(self) -> None:
        self._filters_next = bool(self._filters) and (self._filters_next or not self._waiting)
        queue = self._filters if self._filters_next else self._waiting
        self._filters_next = not self._filters_next
        work = queue.popleft()
        until = time.monotonic() + SLICE_SECONDS
        for _ in work:
            if time.monotonic() >= until:
                queue.append(work)
                break
        self._is_due = bool(self._waiting or self._filters)
        if self._is_due:
            asyncio.get_running_loop().call_soon(self._round)


class Used:
    """How long one connection has been heard of late."""

    __slots__ = ("_began", "_seconds")

    def __init__(self) -> None:
        self._began = self._seconds = 0.0

    def add(self, seconds: float, now: float) -> None:
        if now - self._began > WINDOW_SECONDS:
            self._began, self._seconds = now, 0.0
        self._seconds += seconds

    @property
    def heavy(self) -> bool:
        return self._seconds > HEAVY_SECONDS


def price(message: AnyMessage) -> int:
    """About how long it takes, in units of two microseconds; not for what is `COSTLY`."""
    if type(message) is Run:
        return 4 + len(message.seqs) + (sum(map(len, message.events)) >> 12)
    return 2 + len(message.ranges) // 2 if type(message) is Confirm else 4


def prepare(message: AnyMessage, kept: list[Filter]) -> Iterator[None]:
    """Read the message's filters; what is wrong with one will be said when it is asked for."""
    for text in filters_of(message):
        try:
            kept.append((yield from preparing(text)))
        except BadFilter:
            yield


def filters_of(message: AnyMessage) -> list[str]:
    """The texts of all filters that a message brings."""
    if isinstance(message, Subscribe | Advertise):
        return [message.filter]
    if isinstance(message, ClientHello | Update):
        return [text for named in (message.advertisements, message.subscriptions) for _, text in named]
    return []
