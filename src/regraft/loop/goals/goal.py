"""What all goals share: the topology and traffic that they judge, their limits, and their verdict."""

from dataclasses import dataclass
from typing import Protocol

import msgspec

from regraft.model import Topology
from regraft.model.assessment import Assessment, Number


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of the hard goals. A limit that is None does not apply."""

    max_degree: int | None = None
    broker_capacity: float | None = None
    """How many messages a second a broker may carry."""
    link_capacity: float | None = None
    latency_ms: float | None = None
    """The highest expected latency over all deliveries."""
    k: int | None = None
    """In a mesh, fewer broker failures than this never cut a topic."""


@dataclass(frozen=True)
class Seen:
    """A topology, assessed by the traffic of a period of `seconds`."""

    topology: Topology
    assessment: Assessment
    seconds: float

    def number(self, name: str) -> Number:
        return self.assessment.numbers.get(name)

    def rate(self, name: str) -> Number:
        count = self.number(name)
        return None if count is None else count / self.seconds


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """`kept` is None if it is not known, and always True for a soft goal. A smaller `number` is better."""

    goal: str
    hard: bool
    kept: bool | None
    reason: str
    number: float | None = None
    limit: float | None = None


def goal_name(goal: str | None) -> str:
    """A goal in words; None stands for the routing cost, by which every change is measured."""
    names = {None: "routing cost", "routing_cost": "routing cost", "k": "k-connectivity"}
    return names.get(goal, goal or "")


class Goal(Protocol):
    """A goal that does not apply (no limit is set, or the overlay is of another kind) returns None."""

    @property
    def name(self) -> str: ...

    @property
    def hard(self) -> bool: ...

    def judge(self, seen: Seen, limits: Limits) -> Verdict | None: ...


def within(goal: str, what: str, number: Number, limit: float | None, unit: str = "") -> Verdict | None:
    """The verdict of a hard goal that is a number with an upper limit."""
    if limit is None:
        return None
    if number is None:
        return Verdict(
            goal=goal, hard=True, kept=None, reason=f"{what} cannot be said (at most {limit:g}{unit})"
        )
    kept = number <= limit
    reason = f"{what} is {number:.6g}{unit}, {'at most' if kept else 'above the limit of'} {limit:g}{unit}"
    return Verdict(goal=goal, hard=True, kept=kept, reason=reason, number=number, limit=limit)


def small(goal: str, what: str, number: Number) -> Verdict | None:
    """The verdict of a soft goal."""
    if number is None:
        return None
    return Verdict(goal=goal, hard=False, kept=True, reason=f"{what} is {number:.6g}", number=number)
