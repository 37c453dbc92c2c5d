"""How good a topology is for a workload: the answer of `evaluate`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Number = float | None
"""None if there is no such number, such as a latency when a link states none; `notes` says why."""


@dataclass(frozen=True)
class Finding:
    """What one objective says: numbers for the whole, and for its parts (links, brokers, topics)."""

    numbers: Mapping[str, Number] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Assessment:
    """All findings on one topology, named by its `sha256`."""

    topology: str
    numbers: Mapping[str, Number]
    parts: Mapping[str, Mapping[str, Number]]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The numbers for a file: whole ones without a fraction."""
        return {name: plain(number) for name, number in self.numbers.items()}


@dataclass(frozen=True)
class ClassChange:
    """What a traffic class costs in two topologies."""

    members: tuple[str, ...]
    demand: float
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class Comparison:
    """Two topologies for the same workload.

    `gains` and `losses` are the classes whose cost changes most, the largest change first.
    """

    first: Assessment
    second: Assessment
    gains: tuple[ClassChange, ...]
    losses: tuple[ClassChange, ...]
    better: int
    worse: int
    same: int

    def differences(self) -> dict[str, float]:
        """Second minus first, for the numbers that both have."""
        pairs = ((name, number, self.second.numbers.get(name)) for name, number in self.first.numbers.items())
        return {name: two - one for name, one, two in pairs if one is not None and two is not None}


def plain(number: Number) -> float | int | None:
    return int(number) if number is not None and float(number).is_integer() else number
