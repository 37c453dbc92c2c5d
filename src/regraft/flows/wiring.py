"""Where everything is plugged in: the ports of cables and hosts, the addresses of hosts.

Ports and addresses that are not given are numbered: at each switch first the cables in the network's order,
then the hosts in the order of the workload. Known numbers stay (a port does not move because another host
joins), so a changed workload is wired starting from the wiring before it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count
from typing import NamedTuple

from regraft.flows.block import Family
from regraft.model import BadInput
from regraft.model.routes import Publisher, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork

FIRST_ADDRESS: dict[Family, int] = {6: 0xFD72_6567_7261_6674 << 64, 4: 0x0A42_0000}
"""Private addresses for hosts without a given one: fd72:6567:7261:6674::/64 and 10.66.0.0/16."""

FIRST_MAC = 0x02_52_47_00_00_00
"""Locally administered."""


class Host(NamedTuple):
    """A publisher or subscriber: the switch and port it is plugged into, and its own (unicast) addresses."""

    switch: str
    port: int
    mac: int
    address: int


class Port(NamedTuple):
    switch: str
    number: int


@dataclass(frozen=True)
class Wiring:
    """`cables`: (switch, cable) -> port; `hosts`: id -> host."""

    cables: Mapping[tuple[str, str], int] = field(default_factory=dict)
    hosts: Mapping[str, Host] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken: dict[Port, str] = {}
        inhabitants = chain(
            ((Port(switch, port), f"cable {cable!r}") for (switch, cable), port in self.cables.items()),
            ((Port(host.switch, host.port), f"host {name!r}") for name, host in self.hosts.items()),
        )
        for port, name in inhabitants:
            place = f"switch {port.switch!r}"
            if port.number < 1:
                raise BadInput(place, f"{name}: ports are numbered from 1, not {port.number}")
            if port in taken:
                raise BadInput(place, f"port {port.number} is used by {taken[port]} and by {name}")
            taken[port] = name
        addresses: dict[int, str] = {}
        for name, host in self.hosts.items():
            if addresses.setdefault(host.address, name) != name:
                raise BadInput(f"host {name!r}", f"has the address of host {addresses[host.address]!r}")

    @cached_property
    def far(self) -> Mapping[Port, Port]:
        """Port of a cable -> the port at its other end."""
        ends: dict[str, list[Port]] = {}
        for (switch, cable), port in self.cables.items():
            ends.setdefault(cable, []).append(Port(switch, port))
        far: dict[Port, Port] = {}
        for cable, ports in ends.items():
            if len(ports) != 2:
                raise BadInput(f"cable {cable!r}", f"has {len(ports)} ends")
            far |= {ports[0]: ports[1], ports[1]: ports[0]}
        return far

    @cached_property
    def host_at(self) -> Mapping[Port, str]:
        return {Port(host.switch, host.port): name for name, host in self.hosts.items()}


def wire(
    network: SwitchNetwork, workload: RouteWorkload, family: Family = 6, known: Wiring | None = None
) -> Wiring:
    """The wiring of a network and its hosts, and of nothing else. Numbers in `known` stay."""
    known = known or Wiring()
    plugs = [(switch, cable) for switch, cables in network.cables.items() for cable in cables]
    hosts = list(chain[Publisher | Subscriber](workload.publishers, workload.subscribers))
    cables = {plug: known.cables[plug] for plug in plugs if plug in known.cables}
    stay = {host.id: known.hosts[host.id] for host in hosts if _stays(host, known)}
    # The ports of removed cables and hosts are not reused: switches may still hold rules for them.
    taken: dict[str, set[int]] = {switch: set() for switch in network.switches}
    for switch, port in chain(
        ((switch, port) for (switch, _), port in known.cables.items()),
        ((host.switch, host.port) for host in known.hosts.values()),
    ):
        taken.setdefault(switch, set()).add(port)
    for switch, cable in plugs:
        if (switch, cable) not in cables:
            cables[switch, cable] = _free(taken[switch])
    numbers = _numbers(known.hosts.values(), family)
    for host in hosts:
        if host.id not in stay:
            # A host that moves to another switch keeps its addresses.
            before, number = known.hosts.get(host.id), next(numbers)
            mac = before.mac if before else FIRST_MAC + number
            address = before.address if before else FIRST_ADDRESS[family] + number
            stay[host.id] = Host(host.switch, _free(taken[host.switch]), mac, address)
    return Wiring(cables, stay)


def _stays(host: Publisher | Subscriber, known: Wiring) -> bool:
    return host.id in known.hosts and known.hosts[host.id].switch == host.switch


def _numbers(hosts: Iterable[Host], family: Family) -> "count[int]":
    """Numbers for addresses that no host has had."""
    first = FIRST_ADDRESS[family]
    used = [host.address - first for host in hosts if 0 < host.address - first < 1 << 16]
    macs = [host.mac - FIRST_MAC for host in hosts if 0 < host.mac - FIRST_MAC < 1 << 16]
    return count(max([0, *used, *macs]) + 1)


def _free(taken: set[int]) -> int:
    port = max(taken, default=0) + 1
    taken.add(port)
    return port
