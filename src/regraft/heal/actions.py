"""What each action of the vocabulary asks for, as Intents (Mimosa Pudica §4.3). Pure.

Where a rule leaves a choice to the leader (the paper: "to B1, B3, or both"), the least loaded living
neighbour is taken; several components are distributed over all living neighbours.
"""

from collections.abc import Callable, Iterator

import msgspec

from regraft.heal.rules.evaluate import Situation
from regraft.heal.rules.syntax import Call
from regraft.model.facts import Facts, Load
from regraft.model.intents import Add, Clone, Delete, Intent, Migrate, MoveClients, Refused, ShiftAway

Wanted = Intent | Refused


def intents_of(call: Call, situation: Situation) -> tuple[Wanted, ...]:
    """An action that names no broker, or a broker that is not there, is refused with the reason."""
    brokers = situation.brokers(call.arguments[0])
    return tuple(_signed(each, situation) for each in _ACTIONS[call.action](brokers, situation))


def _signed(wanted: Wanted, of: Situation) -> Wanted:
    """Adds the rule that asks for it."""
    if isinstance(wanted, Refused):
        return Refused(_named(wanted.intent, of), wanted.reason)
    return _named(wanted, of)


def _named(intent: Intent, of: Situation) -> Intent:
    return msgspec.structs.replace(intent, rule=of.rule.name, priority=of.rule.rule.priority)


def _delete(brokers: tuple[str, ...], of: Situation) -> Iterator[Wanted]:
    for broker in brokers:
        yield Delete(broker=broker)


def _add(brokers: tuple[str, ...], of: Situation) -> Iterator[Wanted]:
    """The event's brokers say where; the paper puts the new one between the neighbours of the dead one."""
    between = tuple(each for each in of.event.brokers if each not in brokers and each not in of.facts.dead)
    for broker in brokers:
        yield Add(broker=broker, between=between)


def _go(brokers: tuple[str, ...], of: Situation) -> Iterator[Wanted]:
    yield from _components(Migrate, brokers, of)


def _clone(brokers: tuple[str, ...], of: Situation) -> Iterator[Wanted]:
    yield from _components(Clone, brokers, of)


def _components(kind: type[Migrate | Clone], brokers: tuple[str, ...], of: Situation) -> Iterator[Wanted]:
    """To these brokers or, if only the event's own broker is named, from there to its neighbours."""
    source = of.event.broker
    names = of.event.components
    targets = tuple(each for each in brokers if each != source)
    if targets:
        yield kind(source=source, targets=targets, components=names)
        return
    near = nearest(of.facts, source)
    if not near:
        nowhere = kind(source=source, targets=(), components=names)
        yield Refused(nowhere, f"no other broker lives to which the components of {source} could go")
        return
    names = names or of.facts.components.get(source, ())
    shares = [names[n :: len(near)] for n in range(len(near))] if names else [()]
    for target, share in zip(near, shares, strict=False):
        if share or not names:
            yield kind(source=source, targets=(target,), components=tuple(share))


def _move_clients(brokers: tuple[str, ...], of: Situation) -> Iterator[Wanted]:
    for broker in brokers:
        near = nearest(of.facts, broker)
        if near:
            yield MoveClients(broker=broker, to=near[0])
        else:
            yield Refused(MoveClients(broker=broker, to=""), "no other broker lives")


def _shift_away(brokers: tuple[str, ...], of: Situation) -> Iterator[Wanted]:
    """Shifts the busiest neighbour to the least busy one."""
    for broker in brokers:
        around = of.facts.overlay.neighbours.get(broker, frozenset())
        near = [each for each in nearest(of.facts, broker) if each in around]
        if len(near) >= 2:
            yield ShiftAway(broker=broker, neighbour=near[-1], to=near[0])
        else:
            alone = ShiftAway(broker=broker, neighbour="", to="")
            yield Refused(alone, f"{broker} has fewer than two living neighbours")


def nearest(facts: Facts, broker: str) -> tuple[str, ...]:
    """Living neighbours, the least loaded first; if there are none, all others that live."""
    living = set(facts.living) - {broker}
    around = facts.overlay.neighbours.get(broker, frozenset()) & living
    return tuple(sorted(around or living, key=lambda each: (_busy(facts.loads.get(each)), each)))


def _busy(load: Load | None) -> tuple[float, float]:
    """What was not measured counts as busy."""
    if load is None:
        return 1.0, 0.0
    return (1.0 if load.cpu is None else load.cpu), load.queue or 0.0


_ACTIONS: dict[str, Callable[[tuple[str, ...], Situation], Iterator[Wanted]]] = {
    "deleteBroker": _delete,
    "addBroker": _add,
    "goBroker": _go,
    "cloneBroker": _clone,
    "moveClients": _move_clients,
    "shiftAway": _shift_away,
}
