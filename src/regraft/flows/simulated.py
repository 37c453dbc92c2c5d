"""Switches in memory: flow tables as OpenFlow 1.3 defines them, and packets traced through them.

Written from the specification and not from `rendering` or `changing`, whose results it judges: it searches
the rules one by one for the highest priority. The wiring says where a port leads.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from regraft.flows.block import WIDTH, Family, Prefix
from regraft.flows.rules import Command, FlowMod, Match, Message, Readdress, Rule, RuleKey, SetMark
from regraft.flows.wiring import Port, Wiring
from regraft.model import RegraftError


class Packet(NamedTuple):
    """What rules match on. `mac` stays None until a switch writes one."""

    family: Family
    source: int
    destination: int
    mark: int = 0
    mac: int | None = None


class Arrival(NamedTuple):
    """A packet at a host's port."""

    port: Port
    packet: Packet


class Loop(RegraftError):
    """A packet came to the same switch twice."""


class SimulatedSwitch:
    """`apply` changes its tables by a message, `process` sends a packet through them."""

    def __init__(self) -> None:
        self.rules: dict[RuleKey, Rule] = {}

    def apply(self, message: Message) -> None:
        if not isinstance(message, FlowMod):
            return
        command, rule = message
        if command is Command.ADD:
            self.rules[rule.key] = rule
        elif command is Command.MODIFY:
            # A strict modification without a matching rule does nothing (§6.4).
            if rule.key in self.rules:
                self.rules[rule.key] = rule
        elif command is Command.DELETE:
            self.rules.pop(rule.key, None)
        else:
            within = [
                key for key in self.rules if key.table == rule.table and _narrower(key.match, rule.match)
            ]
            for key in within:
                del self.rules[key]

    def process(self, packet: Packet, in_port: int) -> list[tuple[int, Packet]]:
        """The packets that leave, and by which ports."""
        left: list[tuple[int, Packet]] = []
        table: int | None = 0
        while table is not None:
            rule = self._best(table, packet, in_port)
            if rule is None:
                break
            for action in rule.actions:
                if isinstance(action, SetMark):
                    packet = packet._replace(mark=action.mark)
                elif isinstance(action, Readdress):
                    packet = packet._replace(mac=action.mac, destination=action.address)
                elif action.port != in_port:
                    left.append((action.port, packet))
            if rule.goto is not None and rule.goto <= table:
                raise RegraftError(f"a rule of table {table} goes back to table {rule.goto}: {rule}")
            table = rule.goto
        return left

    def _best(self, table: int, packet: Packet, in_port: int) -> Rule | None:
        fitting = [
            rule
            for rule in self.rules.values()
            if rule.table == table and _matches(rule.match, packet, in_port)
        ]
        best = max(fitting, key=lambda rule: rule.priority, default=None)
        if best is not None and sum(rule.priority == best.priority for rule in fitting) > 1:
            raise RegraftError(f"two rules of the same priority fit one packet: {best}")
        return best


def trace(switches: Mapping[str, SimulatedSwitch], wiring: Wiring, at: Port, packet: Packet) -> list[Arrival]:
    """Where a packet that enters at this port arrives; raises `Loop` if a switch sees it twice."""
    arrivals: list[Arrival] = []
    seen: set[str] = set()
    under_way = [(at, packet)]
    while under_way:
        (switch, in_port), current = under_way.pop()
        if switch in seen:
            raise Loop(f"switch {switch!r} sees one packet twice")
        seen.add(switch)
        for number, copy in switches[switch].process(current, in_port):
            port = Port(switch, number)
            if port in wiring.far:
                under_way.append((wiring.far[port], copy))
            elif port in wiring.host_at:
                arrivals.append(Arrival(port, copy))
    return arrivals


def filled(rules: Mapping[str, Iterable[Rule]]) -> dict[str, SimulatedSwitch]:
    """Switches that hold these rules."""
    switches: dict[str, SimulatedSwitch] = {}
    for name, held in rules.items():
        switches[name] = SimulatedSwitch()
        for rule in held:
            switches[name].apply(FlowMod(Command.ADD, rule))
    return switches


def _matches(match: Match, packet: Packet, in_port: int) -> bool:
    return (
        match.family in (None, packet.family)
        and match.in_port in (None, in_port)
        and match.mark in (None, packet.mark)
        and match.source in (None, packet.source)
        and (match.prefix is None or _within(packet.family, packet.destination, match.prefix))
    )


def _within(family: Family, address: int, prefix: Prefix) -> bool:
    return (address ^ prefix.address) >> (WIDTH[family] - prefix.length) == 0


def _narrower(match: Match, wide: Match) -> bool:
    """Whether `wide` matches everything that `match` matches."""
    return all(_parts(match, wide))


def _parts(match: Match, wide: Match) -> Iterator[bool]:
    for own, asked in zip(match[:4], wide[:4], strict=True):
        yield asked is None or own == asked
    if wide.prefix is not None:
        yield (
            match.prefix is not None
            and match.family is not None
            and match.prefix.length >= wide.prefix.length
            and _within(match.family, match.prefix.address, wide.prefix)
        )
