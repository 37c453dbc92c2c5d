"""Telemetry of one broker on its way into segments, in the telemetry thread (`telemetry_thread`).

What happened waits in a queue, is gathered as columns, and every few seconds a segment is closed and put
into the store: at once if that is a folder, otherwise into an outbox, from which it is shipped. Routing never
waits for any of this: what finds the queue full is counted instead of recorded. If the disk takes nothing,
the closed segment is kept, and the queue behind it becomes full. Interest is kept in any case
(`interest_queue`).
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from regraft.broker.io.configuration import Telemetry
from regraft.broker.io.destination import Destination, Waiting, destination
from regraft.broker.io.interest_queue import InterestQueue
from regraft.broker.io.sampling_rate import SamplingRate
from regraft.broker.io.telemetry_thread import TELEMETRY_THREAD
from regraft.model.store import Store
from regraft.protocol.telemetry import Interest
from regraft.segments.names import SegmentName
from regraft.segments.writing import OpenSegment

log = logging.getLogger("regraft.broker")
T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
"""Seconds until a segment is put again that could not be."""


class _Closed(NamedTuple):
    name: SegmentName
    content: bytes
    rows: int
    at: float


class SegmentWriter(Generic[T]):
    """`offer` from the event loop; in the thread, `gather` adds a batch to the open segment, and returns how
    many records of it could not be."""

    def __init__(
        self,
        broker: str,
        telemetry: Telemetry,
        gather: Callable[[OpenSegment, T], int],
        store: Store | None = None,
    ) -> None:
        """`store` instead of what `telemetry.place` names. Reads the store, or the outbox."""
        self._broker = broker
        self._telemetry = telemetry
        self._gather_batch = gather
        self._batches: deque[tuple[T, int, int | None]] = deque()
        """What was offered, as it was."""
        self._latest: T | None = None
        self._interest = InterestQueue(telemetry.queue)
        # Each counter is changed by one thread only, so that neither ever waits for the other.
        self._offered = self._refused = 0
        self._taken = self._failed = self._written = 0
        self._ended = False
        # Only the telemetry thread uses what follows.
        self._destination: Destination = destination(broker, telemetry, store)
        self._rate = SamplingRate(telemetry.one_in, telemetry.budget)
        self._last_closed = time.monotonic()
        self._open, self._has_sample = OpenSegment(broker), False
        self._traffic = 0
        """Records in the open segment that would be lost with it: all but those of `_interest`."""
        self._since = 0.0
        """When the open segment got its first record."""
        self._closed: _Closed | None = None
        """It is not in the store or the outbox yet."""
        self._again, self._pause = 0.0, FIRST_PAUSE
        self._failing = False
        TELEMETRY_THREAD.add(self)

    @property
    def written(self) -> int:
        """Records in segments that are in the store or the outbox, or were until they were `lost`."""
        return self._written

    @property
    def one_in(self) -> int:
        """How many publications one that is recorded from now on is to stand for."""
        return self._rate.one_in

    @property
    def lost(self) -> int:
        """Records in segments that never came from the outbox into the store."""
        return self._destination.lost

    @property
    def not_recorded(self) -> int:
        """Records that are not in the store and never will be."""
        return self._refused + self._failed + self.lost

    @property
    def waiting(self) -> Waiting:
        """The closed segments that are not in the store."""
        found, closed = self._destination.waiting, self._closed
        if closed is None:
            return found
        oldest = found.oldest if found.segments else closed.at
        return Waiting(found.segments + 1, found.bytes + len(closed.content), oldest)

    def offer(self, batch: T, weight: int, one_in: int | None = None) -> None:
        """`weight` is how many records it may become; `one_in`, how many publications one in it stands for:
        a segment has those of one sample. Never blocks."""
        if self._ended or self._offered - self._taken + weight > self._telemetry.queue:
            self._refused += weight
            return
        self._offered += weight
        self._batches.append((batch, weight, one_in))

    def refused(self, count: int) -> None:
        """So many records cannot be offered."""
        self._refused += count

    def offer_latest(self, batch: T) -> None:
        """What will be offered again, so that one that still waits need not be gathered. Never blocks."""
        if not self._ended:
            self._latest = batch

    def add_interest(self, records: Sequence[Interest]) -> None:
        """These will be written even if the queue is full. Never blocks."""
        if self._ended:
            self._refused += len(records)
        else:
            self._interest.add(records)

    def close(self) -> None:
        """Write what waits, then end. What does not arrive in the store soon stays in the outbox."""
        self._ended = True
        TELEMETRY_THREAD.remove(self)
        self._destination.close()

    # In the telemetry thread

    def write_waiting(self, last: bool) -> None:
        while True:
            self._gather()
            if self._closed is None:
                if not self._is_due(last):
                    return
                self._close_segment()
            if not self._put(last):
                break
        self._interest.squeeze()
        if last and self._closed is not None:
            waiting = sum(weight for _, weight, _ in self._batches) + len(self._interest)
            self._failed += self._closed.rows + len(self._open) + waiting
            self._closed = None

    def _gather(self) -> None:
        """Up to a full segment, also while the one before cannot be put."""
        most = self._telemetry.segment_rows
        latest = self._latest
        while self._batches and len(self._open) < most and not self._is_of_another_sample():
            batch, weight, one_in = self._batches.popleft()
            self._open.one_in = one_in or self._open.one_in
            self._has_sample = self._has_sample or one_in is not None
            self._add(batch, weight)
            self._taken += weight
        if self._interest and len(self._open) < most:
            try:
                self._open.records(self._interest.take(most - len(self._open)))
            except Exception as fault:
                self._give_up(fault)
        # Not before what was added earlier: of that, some may be squeezed away with what comes later.
        if latest is not None and not self._interest:
            self._add(latest, 0)
            if self._latest is latest:
                self._latest = None
        if len(self._open) and not self._since:
            self._since = time.monotonic()

    def _is_of_another_sample(self) -> bool:
        """Whether the next batch needs a segment of its own."""
        one_in = self._batches[0][2] if self._batches else None
        has_sample = self._has_sample and len(self._open) > 0
        return has_sample and one_in is not None and one_in != self._open.one_in

    def _add(self, batch: T, weight: int) -> None:
        before = len(self._open)
        try:
            self._failed += self._gather_batch(self._open, batch)
            self._traffic += len(self._open) - before
        except Exception as fault:
            self._failed += weight
            self._give_up(fault)

    def _is_due(self, last: bool) -> bool:
        rows, settings = len(self._open), self._telemetry
        waited = time.monotonic() - self._since
        full = rows >= settings.segment_rows or self._is_of_another_sample()
        return rows > 0 and (last or full or waited >= settings.segment_seconds)

    def _close_segment(self) -> None:
        rows, traces, one_in = len(self._open), self._open.traces, self._open.one_in
        try:
            content = self._open.close()
        except Exception as fault:
            self._give_up(fault)
            return
        now = time.monotonic()
        if not self._has_sample or one_in == self._rate.one_in:  # what waited says nothing about a new rate
            self._rate.closed(len(content), now - self._last_closed, traces / rows)
        self._last_closed = now
        name = self._destination.name_next()
        self._closed = _Closed(name, content, rows, time.time())
        self._interest.safe()
        self._begin()

    def _put(self, last: bool) -> bool:
        """Whether nothing is left to put."""
        closed = self._closed
        if closed is None:
            return True
        if not last and time.monotonic() < self._again:
            return False
        try:
            self._destination.put(closed.name, closed.content, closed.rows)
        except Exception as fault:
            self._warn(fault)
            self._again = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            return False
        self._closed = None
        self._written += closed.rows
        self._pause, self._failing = FIRST_PAUSE, False
        return True

    def _give_up(self, fault: Exception) -> None:
        """The open segment cannot hold what it was given: no reason to record nothing ever again."""
        self._warn(fault)
        self._failed += self._traffic
        self._interest.lost()
        self._begin()

    def _begin(self) -> None:
        self._open, self._has_sample = OpenSegment(self._broker), False
        self._traffic, self._since = 0, 0.0

    def _warn(self, fault: Exception) -> None:
        if not self._failing:
            log.warning("%s: telemetry is not recorded: %s", self._broker, str(fault) or repr(fault))
        self._failing = True
