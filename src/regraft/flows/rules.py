"""Rules of a switch as values: what they look at, what they do, and the messages that change them.

A switch has two tables. `DOORS` lets events in, from a publisher's port if address and advertisement fit, and
from the cables between switches; it sets the mark on a publisher's events. `ROUTES` forwards them: one rule
per entry of a `Routes`, a publisher's own above those for all publishers, the longer prefix above the shorter
(Content routes §4.3). In both tables, packets that no rule matches are dropped.

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
"""Marks in the traffic class (DSCP) of an event; 3 is from the pool for local use (RFC 2474 §6)."""


class Match(NamedTuple):
    """What a rule matches; None matches anything. `source` is a publisher's address, `prefix` the event's."""

    family: Family | None = None
    in_port: int | None = None
    mark: int | None = None
    source: int | None = None
    prefix: Prefix | None = None


# Not NamedTuples: `SetMark(3)` and `Output(3)` would be equal.
@dataclass(frozen=True, slots=True)
class SetMark:
    mark: int


@dataclass(frozen=True, slots=True)
class Readdress:
    """Write a subscriber's own unicast addresses into the packet."""

    mac: int
    address: int


@dataclass(frozen=True, slots=True)
class Output:
    """Send the packet out of this port, unless it came in by this port."""

    port: int


Action = SetMark | Readdress | Output


class Rule(NamedTuple):
    """The actions in order, then the packet continues in table `goto`; without either it is dropped."""

    table: int
    priority: int
    match: Match
    actions: tuple[Action, ...] = ()
    goto: int | None = None

    @property
    def key(self) -> "RuleKey":
        """A table holds one rule of each key; a new rule with the same key replaces it."""
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
    """The commands of a flow-mod message, with OpenFlow's numbers (1.3.5 §7.3.4.1).

    `ADD` replaces a rule with the same key. `DELETE_WITHIN` deletes every rule of the table whose match is at
    least as narrow, whatever its priority.
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
    """The switch finishes all messages before it before it begins those behind it."""


Message = FlowMod | Barrier


@dataclass(frozen=True)
class Phase:
    """The messages of each switch, in order; one switch does not wait for another.

    The next phase begins when every switch has finished this one and, with `drain`, when every packet that
    was on its way then has arrived.
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
