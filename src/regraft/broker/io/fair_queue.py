"""A fair queue of the connections' work: long work is done in slices, one for each round of the event loop.

A peer that says little is answered at once. What takes longer waits here, in a queue of all connections, and
between two slices the event loop reads what other peers have sent. So a peer waits for one slice at most,
however many others there are and however much they send.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterator

from regraft.filters import BadFilter, Filter, prepare_in_steps
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
"""A connection publishes alone if no other one has published for this long."""
WINDOW_SECONDS = 0.1
HEAVY_SECONDS = 0.025
"""A connection whose messages took this long within the window has to queue when others publish."""
COSTLY = frozenset({Advertise, Subscribe, Withdraw, ClientHello, Update})
"""Messages that change tables; most bring filters, which have to be parsed."""


class FairQueue:
    """The queue of one broker."""

    def __init__(self) -> None:
        self._waiting: deque[Iterator[None]] = deque()
        self._filters: deque[Iterator[None]] = deque()
        """Work on filters: it takes longest, so it gets only every second slice if there is other work."""
        self._filters_next = False
        self._is_due = False
        self._talker = -1
        self._since = self._until = 0.0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._filters)

    def take(self, work: Iterator[None], filters: bool = False) -> None:
        """Do this step by step, in turn with other work; `filters` says whether it begins with filters."""
        (self._filters if filters else self._waiting).append(work)
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._round)

    def contended(self, talker: int) -> bool:
        """This connection publishes: whether others do as well."""
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


class RecentUse:
    """How long the latest messages of one connection took."""

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
    """About how long the message takes, in units of two microseconds; not for `COSTLY` ones."""
    if type(message) is Run:
        return 4 + len(message.seqs) + (sum(map(len, message.events)) >> 12)
    return 2 + len(message.ranges) // 2 if type(message) is Confirm else 4


def prepare(message: AnyMessage, kept: list[Filter]) -> Iterator[None]:
    """Parse the message's filters ahead of time. A bad one is ignored here and refused when it is used."""
    for text in filters_of(message):
        try:
            kept.append((yield from prepare_in_steps(text)))
        except BadFilter:
            yield


def filters_of(message: AnyMessage) -> list[str]:
    """The texts of all filters that a message brings."""
    if isinstance(message, Subscribe | Advertise):
        return [message.filter]
    if isinstance(message, ClientHello | Update):
        return [text for named in (message.advertisements, message.subscriptions) for _, text in named]
    return []
