"""From one rule set to the next while events are on their way: the fewest messages, in a safe order.

Only what differs is sent. Units of rules that may be changed directly (see `units`) are changed in place:
each rule is touched once. The others get versions, as in two-phase updates: at the switches where something
differs, the new rules are laid over the old ones for events that carry the mark `IN_CHANGE`. Then the doors
begin to set that mark, and each event meets either the old rules everywhere or the new ones everywhere. When
no event without the mark is left, the rules below are changed and the doors clear the mark again. When no
marked event is left, the overlay is deleted. The switches then hold exactly the new rule set.

Within a switch, every event meets its old rule or its new one and never a third (see `ordering`).

Every message may be sent again, so an interrupted change is repeated from its beginning. Until the doors
clear the mark, a change can also be taken back (`undone`), as safely as it was made: first the rules below
are restored, then the doors lead events to them, then the overlay is deleted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from regraft.flows.block import AddressBlock, Prefix
from regraft.flows.ordering import append, frozen, ordered
from regraft.flows.rendering import FlowRules
from regraft.flows.rules import (
    DOORS,
    IN_CHANGE,
    ROUTES,
    Barrier,
    Command,
    FlowMod,
    Match,
    Message,
    Output,
    Phase,
    Readdress,
    Rule,
    SetMark,
)
from regraft.flows.units import Judge, Part, PartIndex, Tables, Unit, doors, units
from regraft.flows.wiring import Port
from regraft.model import BadInput

OVERLAY = 1 << 10
"""Added to the priority of a rule that is laid over the others: more than any other rule's priority."""


@dataclass(frozen=True)
class RuleChange:
    """Phases in order, and the units that are changed in place and those that get versions."""

    old: FlowRules
    new: FlowRules
    in_place: tuple[Unit, ...]
    versioned: tuple[Unit, ...]
    phases: tuple[Phase, ...]

    @property
    def changes(self) -> int:
        return sum(phase.changes for phase in self.phases)

    @cached_property
    def undo(self) -> Phase:
        """Takes back any part of the first phase: the steps of each switch in reverse."""
        return Phase("undo", _undo(self.old, self.new, self.in_place, self.versioned))

    def undone(self, place: int) -> tuple[Phase, ...]:
        """The phases that take back everything up to any point of phase `place`; none in the last two phases,
        which can only be finished.

        No switch needs more room for them than it has needed already: a rule that is put back replaces its
        successor, or takes the room that it had beside the new rules.
        """
        close = Phase("close", _doors_back(self.old, self.new, self.versioned), drain=True)
        back = {
            "prepare": (self.undo,),
            "switch over": (close, self.undo),
            "settle": (Phase("unsettle", _unsettle(self.old, self.new, self.versioned)), close, self.undo),
        }
        return back.get(self.phases[place].name, ())


def change(old: FlowRules | None, new: FlowRules) -> RuleChange:
    """What to send. If the rules of a switch (or of all of them) are not known, it is wiped first."""
    old = old or FlowRules(new.block, new.wiring)
    if old.block != new.block:
        raise BadInput("address block", f"cannot change from {old.block.network} to {new.block.network}")
    far = {**old.wiring.far, **new.wiring.far}
    before, after, entrances = Tables(old), Tables(new), list(doors(old))
    judge, moved = Judge(before, after, entrances, far), _moved(old, new)
    in_place: list[Unit] = []
    versioned: list[Unit] = []
    # Without an old door no event can come in yet, so all rules may be changed at once, as a single unit.
    for unit in units(before, after, one=not entrances):
        (in_place if judge.direct(unit, moved) else versioned).append(unit)
    phases = (
        Phase("prepare", _prepare(old, new, after, in_place, versioned)),
        Phase("switch over", _doors(old, new, versioned), drain=True),
        Phase("settle", _settle(old, new, versioned)),
        Phase("unmark", _unmark(new, versioned), drain=True),
        Phase("clean", _clean(versioned, new)),
    )
    # The first phase is kept even if it is empty: `undo` is the way back from it.
    sent = (phases[0], *(phase for phase in phases[1:] if phase.messages))
    return RuleChange(old, new, tuple(in_place), tuple(versioned), sent)


def _moved(old: FlowRules, new: FlowRules) -> frozenset[Port]:
    """Ports of hosts that have another port in the new rules."""
    before, after = _places(old), _places(new)
    return frozenset(port for address, ports in before.items() for port in ports - after.get(address, ports))


def _places(rules: FlowRules) -> dict[int, set[Port]]:
    """Address -> the ports where its host sends or receives, according to the rules: a wiring may also name
    hosts that no rule is for."""
    places: dict[int, set[Port]] = {}
    for switch, held in rules.switches.items():
        for rule in held:
            if rule.match.source is not None and rule.match.in_port is not None:
                places.setdefault(rule.match.source, set()).add(Port(switch, rule.match.in_port))
            for action, then in pairwise(rule.actions):
                if isinstance(action, Readdress) and isinstance(then, Output):
                    places.setdefault(action.address, set()).add(Port(switch, then.port))
    return places


def _prepare(
    old: FlowRules, new: FlowRules, after: Tables, in_place: Sequence[Unit], versioned: Sequence[Unit]
) -> dict[str, tuple[Message, ...]]:
    messages: dict[str, list[Message]] = {}
    for switch, rules in new.switches.items():
        if switch not in old.switches:
            wipe = (FlowMod(Command.DELETE_WITHIN, Rule(table, 0, Match())) for table in (DOORS, ROUTES))
            messages[switch] = [*wipe, Barrier()]
        fixed = [rule for rule in rules if _is_fixed(rule)]
        known = {rule for rule in old.switches.get(switch, ()) if _is_fixed(rule)}
        append(messages, switch, ordered((), [rule for rule in fixed if rule not in known]))
    _append_units(messages, in_place, new)
    for unit in versioned:
        for switch in unit.switches:
            if switch in new.switches:
                parts = unit.parts_at(switch)
                laid = [rule for part in parts for rule in _overlay(part, switch, after, new.block)]
                append(messages, switch, ordered((), laid))
    return frozen(messages)


def _undo(
    old: FlowRules, new: FlowRules, in_place: Sequence[Unit], versioned: Sequence[Unit]
) -> dict[str, tuple[Message, ...]]:
    messages: dict[str, list[Message]] = {
        switch: list(each) for switch, each in _clean(versioned, new).items()
    }
    _append_units(messages, [Unit(unit.part, unit.new, unit.old) for unit in in_place], new)
    for switch, rules in new.switches.items():
        known = {rule for rule in old.switches.get(switch, ()) if _is_fixed(rule)}
        # The rules that drop everything else stay: without them, a switch in standalone mode would flood.
        added = (rule for rule in rules if _is_fixed(rule) and rule not in known and rule.match.prefix)
        append(messages, switch, ordered(added, ()))
    return frozen(messages)


def _overlay(differing: Part, switch: str, after: Tables, block: AddressBlock) -> list[Rule]:
    """The new rules that marked events of a part which differs here may meet, restricted to that part.

    Rules for wider parts are narrowed to the part; if no rule matches an event of the part, it is dropped
    before old rules can match it.
    """
    source, dz = differing
    wider: dict[int | None, tuple[Part, Rule]] = {}
    laid: list[Rule] = []
    for part, rule in after.related(switch, differing):
        if part.dz.startswith(dz):
            laid.append(_laid(rule, source))
        elif part.source not in wider or len(wider[part.source][0].dz) < len(part.dz):
            wider[part.source] = part, rule
    whole = block.prefix(dz)
    laid += (_laid(rule, source, whole) for _, rule in wider.values())
    if not any((rule.match.source, rule.match.prefix) == (source, whole) for rule in laid):
        laid.append(Rule(ROUTES, OVERLAY, Match(block.family, None, IN_CHANGE, source, whole)))
    return laid


def _laid(rule: Rule, source: int | None, prefix: Prefix | None = None) -> Rule:
    match = rule.match
    narrowed = match._replace(
        mark=IN_CHANGE,
        source=source if match.source is None else match.source,
        prefix=prefix or match.prefix,
    )
    return rule._replace(priority=rule.priority + OVERLAY, match=narrowed)


def _doors(old: FlowRules, new: FlowRules, versioned: Sequence[Unit]) -> dict[str, tuple[Message, ...]]:
    """The publishers' doors as the new rules have them, except that those of versioned units set the mark."""
    parts = PartIndex((unit.part, True) for unit in versioned)
    messages: dict[str, list[Message]] = {}
    for switch, rules in new.switches.items():
        before = [rule for rule in old.switches.get(switch, ()) if _is_door(rule)]
        after = [_marked(rule) if _enters(rule, new, parts) else rule for rule in rules if _is_door(rule)]
        append(messages, switch, ordered(before, after))
    return frozen(messages)


def _doors_back(old: FlowRules, new: FlowRules, versioned: Sequence[Unit]) -> dict[str, tuple[Message, ...]]:
    """The publishers' doors as they were before the change."""
    parts = PartIndex((unit.part, True) for unit in versioned)
    messages: dict[str, list[Message]] = {}
    for switch, rules in new.switches.items():
        now = [_marked(rule) if _enters(rule, new, parts) else rule for rule in rules if _is_door(rule)]
        before = [rule for rule in old.switches.get(switch, ()) if _is_door(rule)]
        append(messages, switch, ordered(now, before))
    return frozen(messages)


def _unsettle(old: FlowRules, new: FlowRules, versioned: Sequence[Unit]) -> dict[str, tuple[Message, ...]]:
    """Below the overlay, the old rules again: marked events do not meet them."""
    messages: dict[str, list[Message]] = {}
    for switch, rules in new.switches.items():
        fixed = {rule for rule in rules if _is_fixed(rule)}
        gone = (rule for rule in old.switches.get(switch, ()) if _is_fixed(rule) and rule not in fixed)
        append(messages, switch, ordered((), gone))
    _append_units(messages, [Unit(unit.part, unit.new, unit.old) for unit in versioned], new)
    return frozen(messages)


def _settle(old: FlowRules, new: FlowRules, versioned: Sequence[Unit]) -> dict[str, tuple[Message, ...]]:
    messages: dict[str, list[Message]] = {}
    _append_units(messages, versioned, new)
    for switch, rules in new.switches.items():
        fixed = {rule for rule in rules if _is_fixed(rule)}
        gone = (rule for rule in old.switches.get(switch, ()) if _is_fixed(rule) and rule not in fixed)
        append(messages, switch, ordered(gone, ()))
    return frozen(messages)


def _unmark(new: FlowRules, versioned: Sequence[Unit]) -> dict[str, tuple[Message, ...]]:
    parts = PartIndex((unit.part, True) for unit in versioned)
    messages: dict[str, list[Message]] = {}
    for switch, rules in new.switches.items():
        marked = [rule for rule in rules if _is_door(rule) and _enters(rule, new, parts)]
        append(messages, switch, ordered(map(_marked, marked), marked))
    return frozen(messages)


def _clean(versioned: Sequence[Unit], new: FlowRules) -> dict[str, tuple[Message, ...]]:
    """One message per switch deletes the overlay: no other rule matches on the mark."""
    laid = {switch for unit in versioned for switch in unit.switches if switch in new.switches}
    everything = Rule(ROUTES, 0, Match(new.block.family, mark=IN_CHANGE))
    return {switch: (FlowMod(Command.DELETE_WITHIN, everything),) for switch in sorted(laid)}


def _append_units(messages: dict[str, list[Message]], changed: Sequence[Unit], new: FlowRules) -> None:
    """The changes in place of all units, switch by switch. Units share no rules, so those of one switch can
    be changed together, ordered by priority only."""
    before: dict[str, list[Rule]] = {}
    after: dict[str, list[Rule]] = {}
    for unit in changed:
        for switch in unit.switches:
            before.setdefault(switch, []).extend(unit.old.get(switch, {}).values())
            after.setdefault(switch, []).extend(unit.new.get(switch, {}).values())
    for switch, rules in before.items():
        # A switch that is no longer part of the network may not even answer, and no events go there any more.
        if switch in new.switches:
            append(messages, switch, ordered(rules, after[switch]))


def _enters(door: Rule, rules: FlowRules, parts: PartIndex[bool]) -> bool:
    """Whether events of these parts come in by this door."""
    if door.match.prefix is None:
        return False
    return any(parts.overlapping(Part(door.match.source, rules.block.dz(door.match.prefix))))


def _marked(door: Rule) -> Rule:
    return door._replace(actions=(SetMark(IN_CHANGE),))


def _is_door(rule: Rule) -> bool:
    return rule.table == DOORS and rule.match.source is not None


def _is_fixed(rule: Rule) -> bool:
    """Whether it belongs to the network, not to its hosts: doors of cables, and rules that drop the rest."""
    return not _is_door(rule) and (rule.table == DOORS or rule.match.prefix is None)
