"""How long each component took, call by call (Content routes §7). The clock is an argument."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


def no_clock() -> float:
    return 0.0


@dataclass
class Stopwatch:
    """`calls[name]` are the seconds of each call; `report` is told the progress of long stages."""

    clock: Callable[[], float] = no_clock
    report: Callable[[str, int, int], None] | None = None
    calls: dict[str, list[float]] = field(default_factory=dict)

    @contextmanager
    def timing(self, name: str) -> Iterator[None]:
        started = self.clock()
        try:
            yield
        finally:
            self.calls.setdefault(name, []).append(self.clock() - started)

    def add(self, calls: Mapping[str, list[float]]) -> None:
        """Add what was measured in another process."""
        for name, seconds in calls.items():
            self.calls.setdefault(name, []).extend(seconds)

    def tell(self, stage: str, done: int, of: int) -> None:
        if self.report:
            self.report(stage, done, of)

    @property
    def totals(self) -> Mapping[str, float]:
        return {name: sum(seconds) for name, seconds in self.calls.items()}
