"""What no rule may do: checks of one Intent against the overlay. Pure.

Removals can ruin an overlay, so they are counted within a window of time: all of them, and those of living
brokers. At least two living brokers always stay; and no living broker is removed if more living brokers would
then have been removed than stay.
"""

from dataclasses import dataclass

from regraft.model import BadInput
from regraft.model.facts import Facts
from regraft.model.intents import Add, Clone, Delete, Intent, Migrate, MoveClients, ShiftAway, brokers_of


@dataclass(frozen=True)
class RemovalLimits:
    """Brokers that healing may remove within `window` seconds; `healthy` counts those that still answer."""

    window: float = 60.0
    removals: int = 8
    healthy: int = 1
    least: int = 2
    """Living brokers that must stay: two make a path."""

    def __post_init__(self) -> None:
        if not (self.window > 0 and self.removals >= 0 and self.healthy >= 0 and self.least >= 1):
            raise BadInput(
                "limits", "the window must be positive, the counts not negative, and one broker stays"
            )


def permitted(intent: Intent, facts: Facts, limits: RemovalLimits) -> str | None:
    """None if it is allowed, otherwise why it is not."""
    match intent:
        case Delete():
            return _known(intent.broker, facts) or _removal(intent.broker, facts, limits)
        case Add():
            return _new(intent.broker, facts) or _there(intent.between, facts)
        case MoveClients():
            return _known(intent.broker, facts) or _there((intent.to,), facts)
        case ShiftAway():
            return _there(brokers_of(intent), facts) or _linked(intent, facts)
        case Migrate() | Clone():
            return _known(intent.source, facts) or _there(intent.targets, facts)


def _known(broker: str, facts: Facts) -> str | None:
    return None if broker in facts.overlay.neighbours else f"{broker!r} is no broker of the overlay"


def _new(broker: str, facts: Facts) -> str | None:
    if not broker:
        return "the event names no broker to be added"
    return f"{broker!r} is in the overlay already" if broker in facts.overlay.neighbours else None


def _removal(broker: str, facts: Facts, limits: RemovalLimits) -> str | None:
    recent = [each for each in facts.removed if each.at > facts.now - limits.window]
    healthy = broker not in facts.dead
    if any(each.broker == broker and each.at == facts.now for each in recent):
        return None  # the same broker, twice in one reaction
    if len(recent) >= limits.removals:
        return f"{len(recent)} brokers were removed within {limits.window:g} s, and no more may be"
    if healthy and sum(each.healthy for each in recent) >= limits.healthy:
        return (
            f"{broker!r} lives, and {limits.healthy} living brokers may be removed within {limits.window:g} s"
        )
    just_gone = {each.broker for each in recent}
    stay = [id for id in facts.living if id != broker and id not in just_gone]
    if len(stay) < limits.least:
        return f"only {len(stay)} living brokers would stay: the last path is never removed"
    removed_alive = sum(each.healthy for each in recent) + healthy
    if healthy and removed_alive > len(stay):
        return "a healthy majority would be removed"
    return None


def _there(brokers: frozenset[str] | tuple[str, ...], facts: Facts) -> str | None:
    for broker in sorted(brokers):
        if reason := _known(broker, facts):
            return reason
        if broker in facts.dead:
            return f"{broker!r} does not answer"
    return None


def _linked(intent: ShiftAway, facts: Facts) -> str | None:
    """shift(neighbour, broker, to) needs both links; `to` keeps the tree in one piece."""
    around = facts.overlay.neighbours[intent.broker]
    missing = sorted({intent.neighbour, intent.to} - around)
    if missing or intent.neighbour == intent.to:
        return (
            f"{intent.broker!r} has no link to {missing[0]!r}" if missing else "a shift needs two neighbours"
        )
    return None
