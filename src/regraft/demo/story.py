"""What the demo saw, as values: the times of what happened, latencies between them, and the end's figures."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from regraft.demo.tally import Counts
from regraft.model import Ends

Sample = tuple[float, float]
"""When an event was published (seconds since 1970), and the milliseconds until it was delivered."""


CANARIES = ("published", "delivered", "lost", "duplicated", "reordered")


class Spell(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time, and the deliveries of what was published in it."""

    name: str
    began: float
    ended: float
    deliveries: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None
    worst_ms: float | None = None
    cost: float | None = None
    """Routing cost of a publication: milliseconds of fibre over all its links, and of brokers."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What the loop carried out."""

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
    """Of these, Spark's."""
    costs: tuple[float, ...]
    """Of a publication: before, after each step."""
    canaries: dict[str, int | None]
    """What the deployer's own events counted meanwhile, as the page shows it."""
    moves: tuple[tuple[str, ...], ...]
    """The actions of each step."""


class Healing(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds since the kill, and what is written of the adaptation."""

    victim: str
    pid: int
    links: int
    deputy: float
    """Until another broker stood in for it."""
    removed: float
    """Until it was out of the overlay, its links and clients at others."""
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
    """Of the traffic."""
    seconds: float
    """Of the whole demo, with the start."""
    brokers: int
    publishers: int
    subscribers: int
    rate: float
    counts: Counts
    spells: tuple[Spell, ...]
    change: Change
    healing: Healing
    before: tuple[Ends, ...]
    after: tuple[Ends, ...]
    healed: tuple[Ends, ...]
    decisions: tuple[Decision, ...]
    windows: tuple[dict[str, Any], ...]
    """What Spark measured, one for each window."""

    @property
    def flawless(self) -> bool:
        return self.counts.flawless

    def spell(self, name: str) -> Spell:
        return next(each for each in self.spells if each.name == name)


def spell(
    name: str, samples: Sequence[Sample], began: float, ended: float, cost: float | None = None
) -> Spell:
    """What was published between the two moments."""
    found = sorted(ms for sent, ms in samples if began <= sent < ended)
    if not found:
        return Spell(name=name, began=began, ended=ended, cost=cost)
    return Spell(
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
    """The least number that at least this share is not above."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
