"""The time that the core sees: that in which the broker could hear its peers.

When the process was stopped for a moment, by the machine or by itself, nobody else is to blame for having
been silent; that time does not count.
"""

import time
from collections.abc import Callable

LATE_SECONDS = 0.1
"""A pause that lasts so much longer than it should: the process was stopped."""


class Clock:
    """Seconds from some moment on; they never go back."""

    def __init__(self, real: Callable[[], float] = time.monotonic) -> None:
        self._real = real
        self._lost = 0.0
        self._last = real()

    def now(self) -> float:
        self._last = max(self._last, self._real() - self._lost)
        return self._last

    def paused(self, wanted: float, seconds: float) -> None:
        """A pause of `wanted` seconds has taken this many."""
        if seconds > wanted + LATE_SECONDS:
            self._lost += seconds - wanted
