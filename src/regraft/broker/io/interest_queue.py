"""Interest records that the disk does not have yet: they are never dropped, unlike records of traffic.

A delivery that is not recorded is one of many. A subscription is recorded once, and a table without it is
wrong for as long as the subscription lasts. So these records wait however full the queue is, and are written
again if their file fails before it is synchronised (readers take a record that stands twice for one).

Memory stays bounded while nothing can be written: a filter that came and went meanwhile need not be recorded,
and of one that changed several times the first and the last change are enough. What is left is what clients
have now, and what they had when the disk failed.
"""

from collections import deque
from collections.abc import Iterable

from regraft.protocol.telemetry import Interest

AT_ONCE = 1000
"""The most records that are written together: on a full disk only these are tried again and again."""


class InterestQueue:
    """`add` from the event loop, everything else from the thread that writes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: deque[Interest] = deque()
        self._written: list[Interest] = []
        """Records that were written and are not synchronised yet."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, records: Iterable[Interest]) -> None:
        self._waiting.extend(records)

    def take(self) -> list[Interest]:
        """Take the next records to be written."""
        found = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
        self._written += found
        return found

    def safe(self) -> int:
        """What was taken is on the disk; returns how many records that are."""
        count = len(self._written)
        self._written.clear()
        return count

    def lost(self) -> None:
        """What was taken is not on the disk: it waits again, before what has come since."""
        again = self._written
        if len(again) + len(self._waiting) > self._most:
            again = squeezed([*again, *(self._waiting.popleft() for _ in range(len(self._waiting)))])
        self._waiting.extendleft(reversed(again))
        self._written = []


def squeezed(records: Iterable[Interest]) -> list[Interest]:
    """The fewest of these records, in their order, that describe the same current interest."""
    by_filter: dict[tuple[str, str, str], list[Interest]] = {}
    for record in records:
        by_filter.setdefault((record.client, record.role, record.filter), []).append(record)
    found = []
    for first, *others in by_filter.values():
        last = others[-1] if others else first
        if (first.change, last.change) != ("added", "removed"):
            found += [first] if last is first else [first, last]
    return sorted(found, key=lambda record: record.at)
