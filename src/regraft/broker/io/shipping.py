"""The threads of a process that bring segments from the outboxes of its brokers to their stores.

What happens on failure: the outbox is tried again, after pauses that grow to ten seconds. The segments of one
broker arrive in their order, so its next one waits; those of other brokers do not.
"""

import logging
import os
import threading
import time
import weakref
from dataclasses import dataclass
from typing import Protocol

from regraft.model.store import ENDPOINT, Store, open_store

log = logging.getLogger("regraft.broker")
THREADS = 4
"""At most so many. A store that is far away takes tens of milliseconds for each segment."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 10.0


class Ships(Protocol):
    """An outbox, as these threads see it."""

    def __len__(self) -> int: ...

    def ship_next(self) -> bool:
        """Ship the oldest segment; an exception if that does not work now."""
        ...


@dataclass(eq=False)
class _Turn:
    """When it is an outbox's turn."""

    outbox: Ships
    due: float = 0.0
    """By the monotonic clock."""
    pause: float = 0.0
    busy: bool = False
    failed: bool = False


class Shipping:
    """Threads live while there is an outbox."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._turns: list[_Turn] = []
        self._threads = 0

    def add(self, outbox: Ships) -> None:
        with self._changed:
            self._turns.append(_Turn(outbox))
            if self._threads < min(THREADS, len(self._turns)):
                self._threads += 1
                threading.Thread(target=self._run, name="shipping", daemon=True).start()

    def wake(self) -> None:
        """Something waits in an outbox."""
        with self._changed:
            self._changed.notify()

    def remove(self, outbox: Ships, patience: float) -> None:
        """Returns when the outbox is empty, its store fails, or after this many seconds."""
        with self._changed:
            turn = next((each for each in self._turns if each.outbox is outbox), None)
            if turn is None:
                return
            turn.due, turn.failed = 0.0, False  # try once more, at once
            self._changed.notify_all()
            self._changed.wait_for(lambda: not turn.busy and (turn.failed or not len(outbox)), patience)
            self._turns.remove(turn)
            self._changed.notify_all()

    def _run(self) -> None:
        while (turn := self._next()) is not None:
            try:
                turn.outbox.ship_next()
                turn.pause, turn.failed = 0.0, False
            except Exception as fault:
                if not turn.pause:
                    log.warning("telemetry waits in the outbox: %s", str(fault) or repr(fault))
                turn.pause = min(max(2 * turn.pause, FIRST_PAUSE), LONGEST_PAUSE)
                turn.failed = True
            with self._changed:
                turn.due = time.monotonic() + turn.pause
                turn.busy = False
                self._changed.notify_all()

    def _next(self) -> _Turn | None:
        """The outbox whose turn it is, as soon as there is one; None when no outbox is left."""
        with self._changed:
            while self._turns:
                free = [each for each in self._turns if not each.busy and len(each.outbox)]
                turn = min(free, key=lambda each: each.due, default=None)
                now = time.monotonic()
                if turn is not None and turn.due <= now:
                    turn.busy = True
                    return turn
                self._changed.wait(turn.due - now if turn is not None else None)
            self._threads -= 1
            return None


SHIPPING = Shipping()
"""The threads of this process."""

_STORES: "weakref.WeakValueDictionary[tuple[str, str], Store]" = weakref.WeakValueDictionary()


def shared_store(place: str) -> Store:
    """One for all brokers of a process: each store keeps connections of its own."""
    key = (place, os.environ.get(ENDPOINT, ""))
    store = _STORES.get(key)
    if store is None:
        _STORES[key] = store = open_store(place)
    return store
