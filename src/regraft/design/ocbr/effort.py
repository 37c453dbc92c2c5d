"""How long a search may take, and where it reports. Time is an argument: this package knows no clock."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Progress(NamedTuple):
    """What a search is doing, the moves tried so far and the lowest cost."""

    doing: str
    moves: int
    cost: float


def _never() -> bool:
    return False


def _ignore(progress: Progress) -> None:
    pass


@dataclass(frozen=True)
class Effort:
    """The search ends when `expired` says so or after `moves` moves, whichever is first."""

    moves: int | None = None
    expired: Callable[[], bool] = _never
    tell: Callable[[Progress], None] = _ignore
    fraction: Callable[[], float] | None = None
    """How much of the time is spent, from 0 to 1; without it, only moves count."""

    def spent(self, moves: int) -> float:
        """The part of the effort that is spent after this many moves; 1 ends the search."""
        if self.expired():
            return 1.0
        counted = moves / self.moves if self.moves else (1.0 if self.moves == 0 else 0.0)
        return min(1.0, max(counted, self.fraction() if self.fraction else 0.0))
