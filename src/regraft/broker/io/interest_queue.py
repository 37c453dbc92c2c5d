"""Interest records that are not in a segment yet: they are never dropped, unlike records of traffic.

A delivery that is not recorded is one of many. A subscription is recorded when it changes, and a table
without that is wrong for as long as the subscription lasts. So these records wait however full the queue is,
and are put into another segment if theirs cannot be closed.

Memory stays bounded while nothing can be written: a filter that came and went meanwhile need not be recorded,
and of one that changed several times the first and the last change are enough. What is left is what clients
have now, and what they had when the disk failed.
"""

from collections import deque
from collections.abc import Iterable

from regraft.protocol.telemetry import Interest


class InterestQueue:
    """`add` from the event loop, everything else from the thread that writes."""

    def __init__(self, most: int) -> None:
        self._most = self._squeeze_at = most
        self._waiting: deque[Interest] = deque()
        self._taken: list[Interest] = []
        """Records of a segment that is not closed."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, records: Iterable[Interest]) -> None:
        self._waiting.extend(records)

    def take(self, most: int) -> list[Interest]:
        """Take the next records for the open segment."""
        found = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        self._taken += found
        return found

    def safe(self) -> None:
        """What was taken is in a segment in the outbox or the store, or one that is kept until it is."""
        self._taken = []

    def lost(self) -> None:
        """The segment cannot be closed: what was taken waits again, before what has come since."""
        again, self._taken = self._taken, []
        self._waiting.extendleft(reversed(again))
        self.squeeze()

    def squeeze(self) -> None:
        """Nothing can be written: keep what still matters, if it is more than is kept otherwise."""
        if len(self._waiting) <= self._squeeze_at:
            return
        kept = squeezed([self._waiting.popleft() for _ in range(len(self._waiting))])
        self._waiting.extendleft(reversed(kept))
        self._squeeze_at = max(self._most, 2 * len(kept))  # not at once again, if all of it matters


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
