"""The clock that the core sees: it counts only time in which the broker could hear its peers.

While the process itself is stopped, by the machine or by long work, it hears no peer. A silence of that kind
is not the peers' fault, so that time does not count.
"""

import time
from collections.abc import Callable

LATE_SECONDS = 0.1
"""If a pause lasts longer than wanted by more than this, the process was stopped meanwhile."""


class Clock:
    """Seconds since an arbitrary moment; they never go back."""

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
