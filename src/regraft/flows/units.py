"""What differs between two rule sets, in units that can be changed independently, each judged on its own.

A unit is a part of the events that contains every differing rule it overlaps: one of the widest expressions
that differing rules have. Where all differing rules within such an expression are for single publishers, each
publisher's events are a unit of their own. The events of a unit may also meet rules that do not differ, but
no differing rules of other units.

A unit may be changed directly, switch by switch in any order, if the old and the new paths of every event
together still form a tree and no host of the unit moves to another port. Proof: whatever mixture of old and
new tables an event meets, it travels on edges of that tree only, so it meets no switch twice; and the path to
a subscriber that wants it before and after is the only one in the tree, so every switch on it forwards the
event both before and after. Otherwise events of the unit must not meet a mixture, and they get versions (see
`changing`).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from regraft.flows.rendering import FlowRules
from regraft.flows.rules import DOORS, ROUTES, Rule
from regraft.flows.wiring import Port

T = TypeVar("T")


class Part(NamedTuple):
    """The events of one source (None: of all sources) whose expression begins with `dz`."""

    source: int | None
    dz: str

    def overlaps(self, other: "Part") -> bool:
        same = self.source is None or other.source is None or self.source == other.source
        return same and (self.dz.startswith(other.dz) or other.dz.startswith(self.dz))


class PartIndex(Generic[T]):
    """Values by part; finds those whose part overlaps another without comparing all of them."""

    def __init__(self, values: Iterable[tuple[Part, T]]) -> None:
        self._at: dict[str, list[tuple[Part, T]]] = {}
        for part, value in values:
            self._at.setdefault(part.dz, []).append((part, value))
        self._sorted = sorted(self._at)

    def overlapping(self, part: Part) -> Iterator[T]:
        for dz in self._related(part.dz):
            for own, value in self._at[dz]:
                if own.overlaps(part):
                    yield value

    def _related(self, dz: str) -> Iterator[str]:
        for length in range(len(dz)):
            if dz[:length] in self._at:
                yield dz[:length]
        # In sorted order, all expressions that begin with the same digits follow each other.
        for place in range(bisect_left(self._sorted, dz), len(self._sorted)):
            if not self._sorted[place].startswith(dz):
                return
            yield self._sorted[place]


Table = dict[Part, Rule]


class Door(NamedTuple):
    """Where events of a part come in."""

    port: Port
    part: Part


@dataclass(frozen=True)
class Unit:
    """The differing rules of a part of the events: switch -> part -> rule, before and after."""

    part: Part
    old: Mapping[str, Table]
    new: Mapping[str, Table]

    @property
    def switches(self) -> list[str]:
        return sorted({*self.old, *self.new})

    def parts_at(self, switch: str) -> list[Part]:
        """The parts of the unit that differ at this switch: all other events meet the same rule as before."""
        regions = _regions((*self.old.get(switch, ()), *self.new.get(switch, ())))
        return [Part(source, dz) for source, widest in regions.items() for dz in widest]


class Tables:
    """The forwarding rules of a rule set by switch and part; a switch is indexed when first needed."""

    def __init__(self, rules: FlowRules) -> None:
        self.of: dict[str, Table] = {
            switch: {
                Part(rule.match.source, rules.block.dz(rule.match.prefix)): rule
                for rule in held
                if rule.table == ROUTES and rule.match.prefix is not None
            }
            for switch, held in rules.switches.items()
        }
        self._lookups: dict[str, _Lookup] = {}
        self._indexes: dict[str, PartIndex[tuple[Part, Rule]]] = {}

    def ports(self, switch: str, source: int | None, dz: str) -> frozenset[int]:
        """Where the switch sends such an event."""
        if switch not in self._lookups:
            self._lookups[switch] = _Lookup(self.of.get(switch, {}))
        return self._lookups[switch].ports(source, dz)

    def related(self, switch: str, part: Part) -> Iterator[tuple[Part, Rule]]:
        """The switch's rules that events of the part may meet."""
        if switch not in self._indexes:
            table = self.of.get(switch, {})
            self._indexes[switch] = PartIndex((each, (each, rule)) for each, rule in table.items())
        return self._indexes[switch].overlapping(part)


class _Lookup:
    """A source's own rules come first, the longest expression first, then those for all sources."""

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


def units(old: Tables, new: Tables, one: bool = False) -> list[Unit]:
    """All units; with `one`, a single unit with everything that differs."""
    gone, come = _without(old, new), _without(new, old)
    if one:
        return [Unit(Part(None, ""), gone, come)] if gone or come else []
    parts = (part for tables in (gone, come) for table in tables.values() for part in table)
    regions = _regions(parts)
    split_old, split_new = _split(gone, regions), _split(come, regions)
    return [
        Unit(part, split_old.get(part, {}), split_new.get(part, {})) for part in {**split_old, **split_new}
    ]


def doors(rules: FlowRules) -> Iterator[Door]:
    """Where publishers' events come in."""
    for switch, held in rules.switches.items():
        for rule in held:
            match = rule.match
            if rule.table == DOORS and match.source is not None and match.prefix and match.in_port:
                yield Door(Port(switch, match.in_port), Part(match.source, rules.block.dz(match.prefix)))


class Judge:
    """Says of a unit whether it may be changed directly."""

    def __init__(self, old: Tables, new: Tables, entrances: Iterable[Door], far: Mapping[Port, Port]) -> None:
        self.tables = (old, new)
        self.entrances = PartIndex((door.part, door) for door in entrances)
        self.far = far
        every = (part.dz for each in self.tables for table in each.of.values() for part in table)
        self.expressions = sorted(set(every))

    def direct(self, unit: Unit, moved: Collection[Port] = ()) -> bool:
        """Whether old and new paths together are a tree for every event that may come in.

        A host that moves would have two places in that tree, or none: its events must not meet a mixture.
        """
        open_doors = list(self.entrances.overlapping(unit.part))
        if not open_doors:
            return True
        if moved and (any(door.port in moved for door in open_doors) or _serves(unit, moved)):
            return False
        return all(
            self._is_tree(door, dz)
            for dz in self._expressions(unit.part.dz)
            for door in open_doors
            if door.part.overlaps(Part(None, dz))
        )

    def _expressions(self, dz: str) -> Iterator[str]:
        """The unit's own expression and all longer ones that any rule has: these stand for all its events."""
        yield dz
        for place in range(bisect_right(self.expressions, dz), len(self.expressions)):
            if not self.expressions[place].startswith(dz):
                return
            yield self.expressions[place]

    def _is_tree(self, door: Door, dz: str) -> bool:
        reached, coming_in = {door.port.switch}, [door.port]
        while coming_in:
            switch, number = coming_in.pop()
            ports = {port for each in self.tables for port in each.ports(switch, door.part.source, dz)}
            for port in ports - {number}:
                end = self.far.get(Port(switch, port))
                if end is None:
                    continue
                if end.switch in reached:
                    return False
                reached.add(end.switch)
                coming_in.append(end)
        return True


def _serves(unit: Unit, ports: Collection[Port]) -> bool:
    tables = unit.old.items()
    return any(
        Port(switch, port) in ports
        for switch, table in tables
        for rule in table.values()
        for port in rule.ports
    )


def _without(tables: Tables, others: Tables) -> dict[str, Table]:
    """The rules of `tables` that `others` does not have."""
    found: dict[str, Table] = {}
    for switch, table in tables.of.items():
        known = others.of.get(switch, {})
        if differing := {part: rule for part, rule in table.items() if known.get(part) != rule}:
            found[switch] = differing
    return found


def _regions(parts: Iterable[Part]) -> dict[int | None, list[str]]:
    """Source -> its widest expressions, sorted; None -> the widest that contain a rule for all sources."""
    every = sorted(set(parts), key=lambda part: part.dz)
    common = sorted({part.dz for part in every if part.source is None})
    regions: dict[int | None, list[str]] = {None: []}
    for part in every:
        if part.source is None or _begins_one(common, part.dz):
            _widen(regions[None], part.dz)
    for part in every:
        if part.source is not None and _covering(regions[None], part.dz) is None:
            _widen(regions.setdefault(part.source, []), part.dz)
    return regions


def _begins_one(expressions: list[str], dz: str) -> bool:
    place = bisect_left(expressions, dz)
    return place < len(expressions) and expressions[place].startswith(dz)


def _widen(regions: list[str], dz: str) -> None:
    if _covering(regions, dz) is None:
        regions.append(dz)


def _covering(regions: list[str], dz: str) -> str | None:
    # None of the regions covers another, so the one that covers `dz` sorts directly before it.
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
