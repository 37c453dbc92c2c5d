"""Efforts measured by the clock, for experiments and benchmarks; designers know no clock."""

import time
from dataclasses import dataclass, field
from typing import Any

from regraft.design.ocbr import Effort, Problem, cost_of
from regraft.design.ocbr.neighbourhoods import by_neighbourhoods
from regraft.design.ocbr.search import global_search


@dataclass
class Clock:
    """Seconds since it was made."""

    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started


def within_seconds(seconds: float) -> Effort:
    clock = Clock()
    return Effort(expired=lambda: clock.seconds >= seconds, fraction=lambda: clock.seconds / seconds)


def searched(problem: Problem, start: Any, seconds: float, seed: int = 0) -> tuple[float, float]:
    """The cost that the global search reaches, and the seconds it took."""
    clock = Clock()
    found = global_search(problem, start, within_seconds(seconds), seed)
    spent = clock.seconds
    return cost_of(problem, found).total, spent


def settled(problem: Problem, start: Any, cost: float, seconds: float, seed: int = 0) -> tuple[float, float]:
    """The cost that neighbourhoods alone reach, and the seconds to their fixpoint (or the limit)."""
    clock = Clock()
    fixpoint = by_neighbourhoods(problem, start, cost, within_seconds(seconds), seed=seed)
    return fixpoint.cost, clock.seconds
