"""Which two Intents cannot both be carried out. Pure."""

from regraft.model.intents import Add, Clone, Delete, Intent, Migrate, MoveClients, ShiftAway


def contradicts(one: Intent, earlier: Intent) -> str | None:
    """Why `one` cannot be done beside `earlier`, which comes first; None if it can."""
    gone = _gone(earlier) & _needed(one) or _gone(one) & _kept_for_good(earlier)
    if gone:
        return f"{min(gone)} is deleted by one and needed by the other of {_rules(one, earlier)}"
    match one, earlier:
        case MoveClients(), MoveClients() if one.broker == earlier.broker:
            return f"the clients of {one.broker} go to {earlier.to} already"
        case ShiftAway(), ShiftAway() if {one.broker, one.neighbour} == {earlier.broker, earlier.neighbour}:
            return f"{one.neighbour} is shifted to {earlier.to} already"
        case Add(), Add() if one.broker == earlier.broker:
            return f"{one.broker} is added elsewhere already"
        case (Migrate() | Clone(), Migrate() | Clone()) if one.source == earlier.source:
            if shared := _components(one, earlier):
                return f"{shared} of {one.source} is moved or cloned already"
    return None


def _gone(intent: Intent) -> frozenset[str]:
    return frozenset({intent.broker}) if isinstance(intent, Delete) else frozenset()


def _needed(intent: Intent) -> frozenset[str]:
    """Brokers that must be there when the Intent is carried out."""
    match intent:
        case Add():
            return frozenset({intent.broker, *intent.between})
        case ShiftAway():
            return frozenset({intent.broker, intent.neighbour, intent.to})
        case MoveClients():
            return frozenset({intent.to})
        case Migrate() | Clone():
            return frozenset({intent.source, *intent.targets})
    return frozenset()


def _kept_for_good(intent: Intent) -> frozenset[str]:
    """Brokers that must still be there afterwards; the source of a migration need not."""
    match intent:
        case Migrate():
            return frozenset(intent.targets)
        case MoveClients():
            return frozenset({intent.to})
        case Clone():
            return frozenset({intent.source, *intent.targets})
    return _needed(intent)


def _components(one: Migrate | Clone, other: Migrate | Clone) -> str:
    if not one.components or not other.components:
        return "every component"
    return ", ".join(sorted(set(one.components) & set(other.components)))


def _rules(one: Intent, other: Intent) -> str:
    return " and ".join(dict.fromkeys(each.rule or "an operator" for each in (one, other)))
