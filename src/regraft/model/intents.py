"""Intents: what healing wants to be done, as values (Mimosa Pudica §4.3). `plan` and `deploy` do it.

An Intent names brokers and components, never links: the planner decides which links a deletion or an
insertion needs. Intents travel between brokers in the messages of an election and are kept in the log of
adaptations, hence msgspec Structs.
"""

from typing import Any

import msgspec


class _Wanted(msgspec.Struct, frozen=True, kw_only=True, tag_field="intent"):
    """`rule` names the rule that asked for it; empty if an operator did."""

    rule: str = ""
    priority: int = 0


class Delete(_Wanted, frozen=True, kw_only=True, tag="delete"):
    """The broker leaves the overlay; its neighbours are joined."""

    broker: str


class Add(_Wanted, frozen=True, kw_only=True, tag="add"):
    """The broker joins: beside the one in `between`, or in the middle of the link of the two in it."""

    broker: str
    between: tuple[str, ...] = ()


class ShiftAway(_Wanted, frozen=True, kw_only=True, tag="shift away"):
    """The overloaded broker's link to `neighbour` becomes a link of `neighbour` to `to`."""

    broker: str
    neighbour: str
    to: str


class MoveClients(_Wanted, frozen=True, kw_only=True, tag="move clients"):
    """The clients of a broker go to another one, with their sessions."""

    broker: str
    to: str


class Migrate(_Wanted, frozen=True, kw_only=True, tag="migrate"):
    """Components move from a broker to others; all that it has if none are named."""

    source: str
    targets: tuple[str, ...]
    components: tuple[str, ...] = ()


class Clone(_Wanted, frozen=True, kw_only=True, tag="clone"):
    """As `Migrate`, but the components stay where they are as well."""

    source: str
    targets: tuple[str, ...]
    components: tuple[str, ...] = ()


Intent = Delete | Add | ShiftAway | MoveClients | Migrate | Clone


class Refused(msgspec.Struct, frozen=True):
    """The expected no: an Intent that is not carried out, and why."""

    intent: Intent
    reason: str


def brokers_of(intent: Intent) -> frozenset[str]:
    """All brokers that the Intent concerns."""
    match intent:
        case Delete(broker=broker):
            return frozenset({broker})
        case Add(broker=broker, between=between):
            return frozenset({broker, *between})
        case ShiftAway(broker=broker, neighbour=neighbour, to=to):
            return frozenset({broker, neighbour, to})
        case MoveClients(broker=broker, to=to):
            return frozenset({broker, to})
        case Migrate(source=source, targets=targets) | Clone(source=source, targets=targets):
            return frozenset({source, *targets})


def as_json(intent: Intent) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(intent)
    return document


def describe(intent: Intent) -> str:
    """One line for people."""
    match intent:
        case Delete(broker=broker):
            return f"delete {broker}"
        case Add(broker=broker, between=between):
            return f"add {broker} at {', '.join(between)}" if between else f"add {broker}"
        case ShiftAway(broker=broker, neighbour=neighbour, to=to):
            return f"shift {neighbour} away from {broker} to {to}"
        case MoveClients(broker=broker, to=to):
            return f"move the clients of {broker} to {to}"
        case Migrate(source=source, targets=targets, components=components):
            return f"migrate {', '.join(components) or 'all'} from {source} to {', '.join(targets)}"
        case Clone(source=source, targets=targets, components=components):
            return f"clone {', '.join(components) or 'all'} from {source} to {', '.join(targets)}"
