"""Time and interruption as an argument: the only file of this package that knows a clock."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple


class Progress(NamedTuple):
    """What a planner has so far: the best plan's size and the proven lower bounds."""

    steps: int | None
    actions: int | None
    bound_steps: int
    bound_actions: int
    note: str = ""


@dataclass
class Watch:
    """Says how much time is left and passes progress on. `stop()` ends the work early, keeping the best."""

    seconds: float
    clock: Callable[[], float] = time.monotonic
    report: Callable[[Progress], None] | None = None
    started: float = field(init=False)
    stopped: bool = field(init=False, default=False)
    _ends: list[Callable[[], object]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.started = self.clock()

    @property
    def elapsed(self) -> float:
        return self.clock() - self.started

    @property
    def left(self) -> float:
        return 0.0 if self.stopped else max(0.0, self.seconds - self.elapsed)

    @property
    def expired(self) -> bool:
        return self.left <= 0.0

    def stop(self) -> None:
        """End the work early, from another thread or a signal handler; planners return their best."""
        self.stopped = True
        for end in list(self._ends):
            end()

    @contextmanager
    def on_stop(self, end: Callable[[], object]) -> Iterator[None]:
        """While a solver runs: what ends it when the watch is stopped."""
        self._ends.append(end)
        try:
            yield
        finally:
            self._ends.remove(end)

    def tell(self, progress: Progress) -> None:
        if self.report is not None:
            self.report(progress)
