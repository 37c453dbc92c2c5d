"""Routes -> the rules of every switch (Content routes §2.2, §4.3).

There is one rule per table entry, so that limits on flows that held for the routes hold in the switch.
Besides there are the doors, one for each advertised expression of a publisher and one per cable, and the two
rules that drop what no other rule matches. Events that a publisher has not advertised do not get in: the
routes are free of loops for advertised events only.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from regraft.flows.block import AddressBlock, Prefix
from regraft.flows.rules import AT_REST, DOORS, ROUTES, Action, Match, Output, Readdress, Rule, SetMark
from regraft.flows.wiring import Wiring, wire
from regraft.model import BadInput
from regraft.model.routes import Entry, Publisher, Routes

LOWEST = 16
"""Priority of a rule for the whole block; rules for the network itself have lower ones."""

DOOR = 1


OWN = 1 << 8
"""Added to the priority of a rule for a single publisher: more than the longest expression adds."""


def priority(dz: str, of_publisher: bool) -> int:
    """A publisher's own rules win over those for all; of either kind, the longer expression wins."""
    return LOWEST + len(dz) + (OWN if of_publisher else 0)


@dataclass(frozen=True)
class FlowRules:
    """The rules of every switch, the wiring they are made for, and the block of addresses they use."""

    block: AddressBlock
    wiring: Wiring
    switches: Mapping[str, tuple[Rule, ...]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(map(len, self.switches.values()))


def render(routes: Routes, block: AddressBlock | None = None, wiring: Wiring | None = None) -> FlowRules:
    """The rules while no change is under way. What the wiring lacks is numbered as by `wire`."""
    block = block or AddressBlock.of()
    wiring = wire(routes.network, routes.workload, block.family, wiring)
    switches: dict[str, tuple[Rule, ...]] = {}
    at: dict[str, list[Publisher]] = {switch: [] for switch in routes.network.switches}
    for publisher in routes.workload.publishers:
        at[publisher.switch].append(publisher)
    for switch, cables in routes.network.cables.items():
        doors = _cable_doors((wiring.cables[switch, cable] for cable in cables), block)
        entries = [door for publisher in at[switch] for door in _publisher_doors(publisher, block, wiring)]
        forwarding = _forwarding(routes, switch, block, wiring)
        switches[switch] = (Rule(DOORS, 0, Match()), Rule(ROUTES, 0, Match()), *doors, *entries, *forwarding)
    return FlowRules(block, wiring, switches)


def _cable_doors(ports: Iterable[int], block: AddressBlock) -> Iterator[Rule]:
    for port in ports:
        yield Rule(DOORS, DOOR, Match(block.family, port, prefix=block.whole), goto=ROUTES)


def _publisher_doors(publisher: Publisher, block: AddressBlock, wiring: Wiring) -> Iterator[Rule]:
    host = wiring.hosts[publisher.id]
    for dz in publisher.advertisement:
        match = Match(block.family, host.port, source=host.address, prefix=_prefix(block, dz, publisher.id))
        # One advertised part may lie within another; then the longer has priority, although both do the same.
        yield Rule(DOORS, priority(dz, True), match, (SetMark(AT_REST),), goto=ROUTES)


def _forwarding(routes: Routes, switch: str, block: AddressBlock, wiring: Wiring) -> Iterator[Rule]:
    united: dict[tuple[str | None, str], tuple[set[int], set[str]]] = {}
    for entry in routes.tables.get(switch, ()):
        out, deliver = united.setdefault((entry.publisher, entry.dz), (set(), set()))
        out |= {_port(routes, switch, entry, edge, wiring) for edge in entry.out}
        deliver |= set(entry.deliver)
    # Many rules have the same actions: they share one tuple.
    actions: dict[tuple[tuple[int, ...], tuple[str, ...]], tuple[Action, ...]] = {}
    for (publisher, dz), (out, deliver) in united.items():
        if publisher is not None and publisher not in wiring.hosts:
            raise BadInput(f"tables[{switch!r}]", f"an entry is for the unknown publisher {publisher!r}")
        source = None if publisher is None else wiring.hosts[publisher].address
        match = Match(block.family, source=source, prefix=_prefix(block, dz, switch))
        ways = tuple(sorted(out)), tuple(sorted(deliver))
        if ways not in actions:
            actions[ways] = _actions(switch, *ways, wiring)
        yield Rule(ROUTES, priority(dz, publisher is not None), match, actions[ways])


def _actions(
    switch: str, out: tuple[int, ...], deliver: tuple[str, ...], wiring: Wiring
) -> tuple[Action, ...]:
    """Cables come first: from the first subscriber on, the packet carries that subscriber's addresses."""
    actions: list[Action] = [Output(port) for port in out]
    for name in deliver:
        actions += _deliver(switch, name, wiring)
    return tuple(actions)


def _port(routes: Routes, switch: str, entry: Entry, edge: int, wiring: Wiring) -> int:
    source, _, cable = routes.network.edges[edge][:3]
    if source != switch:
        raise BadInput(f"tables[{switch!r}]", f"entry {entry.dz!r} uses edge {edge}, which leaves {source!r}")
    return wiring.cables[switch, cable]


def _deliver(switch: str, name: str, wiring: Wiring) -> tuple[Action, ...]:
    host = wiring.hosts.get(name)
    if host is None or host.switch != switch:
        raise BadInput(f"tables[{switch!r}]", f"delivers to {name!r}, which is not at this switch")
    return Readdress(host.mac, host.address), Output(host.port)


def _prefix(block: AddressBlock, dz: str, place: str) -> Prefix:
    try:
        return block.prefix(dz)
    except BadInput as fault:
        raise fault.within(repr(place)) from None
