"""Rules of a switch as values: what they look at, what they do, and the messages that change them.

Two tables. `DOORS` lets events in: a publisher's port with its address and its advertisement, the cables
between switches; it puts the mark on them. `ROUTES` forwards them: one rule per entry of a `Routes`, a
publisher's own above those for everybody, the longer prefix above the shorter (Content routes §4.3). In
both, what no rule knows is dropped.

Nothing here knows how a rule is written on the wire (see `openflow`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from regraft.flows.block import Family, Prefix, text

DOORS, ROUTES = 0, 1
"""Numbers of the two tables."""

AT_REST, IN_CHANGE = 0, 3
"""Marks in the traffic class (DSCP) of an event: 3 is of the pool for local use (RFC 2474 §6)."""


class Match(NamedTuple):
    """What a rule looks at; None is anything. `source` is a publisher's address, `prefix` the event's."""

    family: Family | None = None
    in_port: int | None = None
    mark: int | None = None
    source: int | None = None
    prefix: Prefix | None = None


# Not tuples: two actions with the same numbers would be equal.
@dataclass(frozen=True, slots=True)
class SetMark:
    mark: int


@dataclass(frozen=True, slots=True)
class Readdress:
    """To unicast: the events of a subscriber's port carry its own addresses."""

    mac: int
    address: int


@dataclass(frozen=True, slots=True)
class Output:
    """Out of this port; a packet never leaves by the port that it came in by."""

    port: int


Action = SetMark | Readdress | Output


class Rule(NamedTuple):
    """Actions in order, then on in table `goto`; neither: the packet is dropped."""

    table: int
    priority: int
    match: Match
    actions: tuple[Action, ...] = ()
    goto: int | None = None

    @property
    def key(self) -> "RuleKey":
        """A table holds one rule of each key; another one with the same takes its place."""
        return RuleKey(self.table, self.priority, self.match)

    @property
    def ports(self) -> frozenset[int]:
        return frozenset(action.port for action in self.actions if isinstance(action, Output))

    def __str__(self) -> str:
        match, parts = self.match, [f"table={self.table}", f"priority={self.priority}"]
        if match.in_port is not None:
            parts.append(f"in_port={match.in_port}")
        if match.mark is not None:
            parts.append(f"mark={match.mark}")
        if match.source is not None:
            parts.append(f"source={(IPv6Address if match.family == 6 else IPv4Address)(match.source)}")
        if match.prefix is not None:
            parts.append(f"to={text(match.family or 6, match.prefix)}")
        return ",".join(parts)


class RuleKey(NamedTuple):
    table: int
    priority: int
    match: Match


class Command(IntEnum):
    """As OpenFlow numbers them (1.3.5 §7.3.4.1).

    `ADD` takes the place of a rule with the same key. `DELETE_WITHIN` deletes every rule of the table whose
    match is at least as narrow, whatever its priority.
    """

    ADD = 0
    MODIFY = 2
    DELETE_WITHIN = 3
    DELETE = 4


class FlowMod(NamedTuple):
    """One change of a table."""

    command: Command
    rule: Rule


class Barrier(NamedTuple):
    """What stands before it is done before what stands behind it begins."""


Message = FlowMod | Barrier


@dataclass(frozen=True)
class Phase:
    """Messages per switch, each switch's in order; one switch does not wait for another.

    The next phase begins when every switch has done all of this one and, if `drain` says so, when every
    packet that was on its way by then has arrived.
    """

    name: str
    messages: dict[str, tuple[Message, ...]]
    drain: bool = False

    @property
    def changes(self) -> int:
        """How many rules are touched: barriers do not count."""
        return sum(isinstance(message, FlowMod) for each in self.messages.values() for message in each)


def by_key(rules: Iterable[Rule]) -> dict[RuleKey, Rule]:
    return {rule.key: rule for rule in rules}
