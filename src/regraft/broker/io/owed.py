"""Interest records that the disk does not have yet: they are never given up, unlike records of traffic.

A delivery that is not recorded is one of many; a subscription is told once, and a table without it is wrong
for as long as it holds. So these wait however full the queue is, and are written again if the file that holds
them fails before it is synchronised (what stands twice is one record to whoever reads it).

Memory stays bounded while nothing can be written: what came and went meanwhile need not be told, and of
what changed several times the first and the last time are enough. What is left is what clients hold now,
and what they held when the disk failed.
"""

from collections import deque
from collections.abc import Iterable

from regraft.protocol.telemetry import Interest

AT_ONCE = 1000
"""Records that are written together: on a full disk, no more than these are tried again and again."""


class Owed:
    """`add` from the event loop, everything else from the thread that writes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: deque[Interest] = deque()
        self._written: list[Interest] = []
        """Not synchronised yet."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, records: Iterable[Interest]) -> None:
        self._waiting.extend(records)

    def take(self) -> list[Interest]:
        """The next ones to be written."""
        found = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
        self._written += found
        return found

    def safe(self) -> int:
        """What was taken is on the disk; how many that are."""
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
