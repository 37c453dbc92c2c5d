"""Two rule sets, taken apart into units that can be changed independently, each judged on its own.

A unit is a part of the event space that no rule reaches across: the widest expressions that occur in
either rule set; where no rule is for all publishers, it is such a part of one publisher's events.
Rules of a unit handle the events of that unit and no others.

A unit may be changed `directly`, switch by switch in any order, if the old and the new ways of every
event together still form a tree and no host of it moves to another port. Proof: whatever mixture of old
and new tables an event meets, it travels on edges of that tree only, so it meets no switch twice; and the
way to a subscriber that wants it before and after is the one path of the tree, whose every switch forwards
it both before and after. Otherwise events of the unit must not meet a mixture, and they get versions
(see `changing`).
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from regraft.flows.parts import Part, PartIndex
from regraft.flows.rendering import FlowRules
from regraft.flows.rules import DOORS, ROUTES, Rule
from regraft.flows.wiring import Port


class Door(NamedTuple):
    """Where events of a part come in."""

    port: Port
    part: Part


Table = dict[Part, Rule]


@dataclass(frozen=True)
class Unit:
    """The rules of a part of the space before and after: switch -> part -> rule."""

    part: Part
    old: Mapping[str, Table]
    new: Mapping[str, Table]

    @cached_property
    def changed(self) -> list[str]:
        """The switches at which something is different."""
        switches = sorted({*self.old, *self.new})
        return [each for each in switches if self.old.get(each, {}) != self.new.get(each, {})]

    def touched(self) -> list[str]:
        """The expressions whose events may meet other rules than before."""
        differing = {
            part.dz
            for switch in self.changed
            for part in {*self.old.get(switch, {}), *self.new.get(switch, {})}
            if self.old.get(switch, {}).get(part) != self.new.get(switch, {}).get(part)
        }
        present = {part.dz for tables in (self.old, self.new) for table in tables.values() for part in table}
        return sorted(dz for dz in present if any(dz[:length] in differing for length in range(len(dz) + 1)))


def units(old: FlowRules, new: FlowRules) -> list[Unit]:
    """All units in which something changes; all in one where nothing can come in yet."""
    before, after = _tables(old), _tables(new)
    if not any(_doors(old)):
        whole = Unit(Part(None, ""), before, after)
        return [whole] if whole.changed else []
    regions = _regions(part for tables in (before, after) for table in tables.values() for part in table)
    split_old, split_new = _split(before, regions), _split(after, regions)
    found = (
        Unit(part, split_old.get(part, {}), split_new.get(part, {})) for part in {**split_old, **split_new}
    )
    return [unit for unit in found if unit.changed]


def doors(rules: FlowRules) -> PartIndex[Door]:
    """Where publishers' events come in."""
    return PartIndex((door.part, door) for door in _doors(rules))


def _doors(rules: FlowRules) -> Iterator[Door]:
    for switch, held in rules.switches.items():
        for rule in held:
            match = rule.match
            if rule.table == DOORS and match.source is not None and match.prefix and match.in_port:
                yield Door(Port(switch, match.in_port), Part(match.source, rules.block.dz(match.prefix)))


def direct(
    unit: Unit, entrances: PartIndex[Door], far: Mapping[Port, Port], moved: Collection[Port] = ()
) -> bool:
    """Whether old and new ways together are a tree for every event that may come in at these doors.

    A host that moves would have two places in that tree, or none: its events must not meet a mixture.
    """
    open_doors = list(entrances.overlapping(unit.part))
    if not open_doors:
        return True
    if moved and (any(door.port in moved for door in open_doors) or _serves(unit, moved)):
        return False
    lookups = {
        switch: tuple(_Lookup(tables.get(switch, {})) for tables in (unit.old, unit.new))
        for switch in {*unit.old, *unit.new}
    }
    return all(
        _is_tree(door, dz, lookups, far)
        for dz in unit.touched()
        for door in open_doors
        if door.part.overlaps(Part(None, dz))
    )


def _serves(unit: Unit, ports: Collection[Port]) -> bool:
    tables = unit.old.items()
    return any(
        Port(switch, port) in ports
        for switch, table in tables
        for rule in table.values()
        for port in rule.ports
    )


def _is_tree(
    door: Door, dz: str, lookups: Mapping[str, "tuple[_Lookup, ...]"], far: Mapping[Port, Port]
) -> bool:
    reached, coming_in = {door.port.switch}, [door.port]
    while coming_in:
        switch, number = coming_in.pop()
        ports = {port for each in lookups.get(switch, ()) for port in each.ports(door.part.source, dz)}
        for port in ports - {number}:
            end = far.get(Port(switch, port))
            if end is None:
                continue
            if end.switch in reached:
                return False
            reached.add(end.switch)
            coming_in.append(end)
    return True


class _Lookup:
    """The rules of a unit at one switch: a source's own first, by longest expression, then those for all."""

    def __init__(self, table: Table) -> None:
        self.ports_of = {part: rule.ports for part, rule in table.items()}
        self.lengths = sorted({len(part.dz) for part in table}, reverse=True)

    def ports(self, source: int | None, dz: str) -> frozenset[int]:
        for asked in (source, None):
            for length in self.lengths:
                if length <= len(dz):
                    found = self.ports_of.get(Part(asked, dz[:length]))
                    if found is not None:
                        return found
        return frozenset()


def _tables(rules: FlowRules) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    for switch, held in rules.switches.items():
        tables[switch] = {
            Part(rule.match.source, rules.block.dz(rule.match.prefix)): rule
            for rule in held
            if rule.table == ROUTES and rule.match.prefix is not None
        }
    return tables


def _regions(parts: Iterable[Part]) -> dict[int | None, list[str]]:
    """Source -> its widest expressions, sorted; None -> those within which rules for all publishers lie."""
    every = sorted(set(parts), key=lambda part: part.dz)
    common = {part.dz for part in every if part.source is None}
    alone = any(part.source is not None for part in every)
    above = {dz[:length] for dz in common for length in range(len(dz))} if alone else set()
    regions: dict[int | None, list[str]] = {None: []}
    for part in every:
        if part.source is None or part.dz in above:
            _widen(regions[None], part.dz)
    for part in every:
        if part.source is not None and _covering(regions[None], part.dz) is None:
            _widen(regions.setdefault(part.source, []), part.dz)
    return regions


def _widen(regions: list[str], dz: str) -> None:
    if _covering(regions, dz) is None:
        regions.append(dz)


def _covering(regions: list[str], dz: str) -> str | None:
    # The widest sorts directly before everything that it covers.
    place = bisect_right(regions, dz) - 1
    return regions[place] if place >= 0 and dz.startswith(regions[place]) else None


def _split(
    tables: Mapping[str, Table], regions: Mapping[int | None, list[str]]
) -> dict[Part, dict[str, Table]]:
    split: dict[Part, dict[str, Table]] = {}
    for switch, table in tables.items():
        for part, rule in table.items():
            common = _covering(regions[None], part.dz)
            own = None if common is not None else _covering(regions[part.source], part.dz)
            unit = Part(None, common or "") if own is None else Part(part.source, own)
            split.setdefault(unit, {}).setdefault(switch, {})[part] = rule
    return split
