"""What happened in the demo, as values: when, the latencies meanwhile, and the final counts."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from regraft.demo.tally import Counts
from regraft.model import Ends

Sample = tuple[float, float]
"""When an event was published (seconds since 1970), and the milliseconds until it was delivered."""


CANARIES = ("published", "delivered", "lost", "duplicated", "reordered")


class Period(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time, and the deliveries of the events that were published in it."""

    name: str
    began: float
    ended: float
    deliveries: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None
    worst_ms: float | None = None
    cost: float | None = None
    """Routing cost of a publication: milliseconds of fibre over all its links, and of its brokers."""


class CarriedOut(msgspec.Struct, frozen=True, kw_only=True):
    """The change that the loop carried out."""

    plan: str
    method: str
    planner: str
    gain: float
    measured_gain: float | None
    steps: int
    actions: int
    seconds: float
    waited: float
    """Seconds from the end of the window until the first shift."""
    measuring: float
    """How many of these Spark took."""
    costs: tuple[float, ...]
    """Routing cost of a publication: before the change, and after each step."""
    canaries: dict[str, int | None]
    """What the deployer counted of its own test events, as the dashboard shows it."""
    moves: tuple[tuple[str, ...], ...]
    """The actions of each step."""


class HealedCrash(msgspec.Struct, frozen=True, kw_only=True):
    """The crash: seconds since the kill, and what the record of the adaptation says."""

    victim: str
    pid: int
    links: int
    deputy: float
    """Seconds until another broker stood in for the victim."""
    removed: float
    """Seconds until it was out of the overlay, its links and clients at other brokers."""
    by: str
    rules: tuple[str, ...] = ()
    timeout_ms: float | None = None
    vote_ms: float | None = None
    election_ms: float | None = None
    adaptation_ms: float | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    at: float
    kind: str
    text: str


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """The whole demo."""

    began: float
    """When the traffic began."""
    seconds: float
    """How long the whole demo took, with its start."""
    brokers: int
    publishers: int
    subscribers: int
    rate: float
    counts: Counts
    periods: tuple[Period, ...] = msgspec.field(name="spells")
    """`spells` is their name in summary.json."""
    change: CarriedOut
    healing: HealedCrash
    before: tuple[Ends, ...]
    after: tuple[Ends, ...]
    healed: tuple[Ends, ...]
    decisions: tuple[Decision, ...]
    windows: tuple[dict[str, Any], ...]
    """What Spark measured in each window."""

    @property
    def flawless(self) -> bool:
        return self.counts.flawless

    def period(self, name: str) -> Period:
        return next(each for each in self.periods if each.name == name)


def period(
    name: str, samples: Sequence[Sample], began: float, ended: float, cost: float | None = None
) -> Period:
    """The deliveries of the events that were published between the two moments."""
    found = sorted(ms for sent, ms in samples if began <= sent < ended)
    if not found:
        return Period(name=name, began=began, ended=ended, cost=cost)
    return Period(
        name=name,
        began=began,
        ended=ended,
        deliveries=len(found),
        p50_ms=quantile(found, 0.5),
        p99_ms=quantile(found, 0.99),
        worst_ms=found[-1],
        cost=cost,
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The least of the numbers that is not below this share of them (nearest rank)."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
