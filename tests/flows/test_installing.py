"""Rules in a real Open vSwitch: they are there, events arrive exactly, also while rules change."""

import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

import pytest

from regraft.flows import AddressBlock, Change, FlowRules, Patience, Refused, install, installed, render
from regraft.model.routes import Publisher, RouteWorkload
from regraft.model.switch_network import SwitchNetwork
from regraft.testing.flow_traffic import random_event
from regraft.testing.route_maker import Style, random_network, random_workload, tree_routes
from regraft.testing.switches import SwitchNetworkLab, switch_lab

pytestmark = pytest.mark.usefixtures("real_switches")
PATIENCE = Patience(drain=0.1)


class LiveTraffic:
    """Sends numbered events and counts where they arrive; few at a time, so that no queue overflows."""

    def __init__(self, lab: SwitchNetworkLab, block: AddressBlock, rng: Random) -> None:
        self.lab = lab
        self.block = block
        self.rng = rng
        self.events: list[tuple[str, str]] = []
        self.arrived: list[Counter[str]] = []

    def send(self, publishers: Sequence[Publisher], wanted: RouteWorkload) -> None:
        publisher = self.rng.choice(publishers)
        event = random_event(publisher, self.block.digits, self.rng)
        number = len(self.events)
        self.events.append((publisher.id, event))
        self.arrived.append(Counter())
        self.lab.hosts[publisher.id].send(self.block.event(event), str(number).encode())
        if number % 8 == 7:
            self.wait(range(number - 7, number + 1), wanted)

    def wait(self, numbers: Iterable[int], wanted: RouteWorkload, seconds: float = 3.0) -> None:
        """Until these have arrived where they are wanted, or time is up."""
        until = time.monotonic() + seconds
        missing = True
        while missing and time.monotonic() < until:
            self.receive()
            missing = any(
                not wanting(wanted, self.events[each][1]) <= self.arrived[each].keys() for each in numbers
            )
            if missing:
                time.sleep(0.002)

    def receive(self) -> None:
        for name, host in self.lab.hosts.items():
            for payload in host.received():
                self.arrived[int(payload)][name] += 1

    def wrong(self, before: RouteWorkload, after: RouteWorkload, numbers: Iterable[int]) -> list[str]:
        time.sleep(0.1)
        self.receive()
        found = []
        for number in numbers:
            event = self.events[number]
            old, new = wanting(before, event[1]), wanting(after, event[1])
            arrived = self.arrived[number]
            if not (old & new <= arrived.keys() <= old | new and set(arrived.values()) <= {1}):
                found.append(
                    f"event {number} {event}: wanted {sorted(old)} to {sorted(new)}, got {dict(arrived)}"
                )
        return found


def wanting(workload: RouteWorkload, event: str) -> set[str]:
    return {each.id for each in workload.subscribers if any(event.startswith(dz) for dz in each.subscription)}


def install_while_sending(
    traffic: LiveTraffic, old: FlowRules, new: FlowRules, both: RouteWorkload, publishers: Sequence[Publisher]
) -> Change:
    done: list[Change] = []
    work = threading.Thread(
        target=lambda: done.append(install(new, traffic.lab.addresses, old, PATIENCE)), daemon=True
    )
    work.start()
    while work.is_alive():
        traffic.send(publishers, both)
    work.join()
    return done[0]


@pytest.mark.parametrize(("style", "block"), [("publisher", "ff18::/16"), ("filter", "239.192.0.0/14")])
def test_events_arrive_exactly_also_while_rules_change(style: Style, block: str) -> None:
    rng = Random(7)
    network = random_network(6, 9, rng)
    before = random_workload(network, 3, 5, 4, rng)
    joining = random_workload(network, 1, 1, 4, rng).subscribers[0]._replace(id="new")
    after = RouteWorkload(before.publishers, (*before.subscribers[1:], joining))
    both = RouteWorkload(before.publishers, before.subscribers[1:])
    old = render(tree_routes(network, before, style, rng), AddressBlock.of(block))
    new = render(tree_routes(network, after, style, rng), old.block, old.wiring)
    with switch_lab(old.wiring, old.block.family, (new.wiring,)) as lab:
        install(old, lab.addresses, patience=PATIENCE)
        assert installed(lab.addresses) == {switch: set(rules) for switch, rules in old.switches.items()}
        traffic = LiveTraffic(lab, old.block, rng)
        for _ in range(120):
            traffic.send(before.publishers, before)
        assert traffic.wrong(before, before, range(120)) == []
        made = install_while_sending(traffic, old, new, both, before.publishers)
        assert made.versioned
        meanwhile = len(traffic.events)
        assert meanwhile > 120
        assert traffic.wrong(before, after, range(120, meanwhile)) == []
        assert installed(lab.addresses) == {switch: set(rules) for switch, rules in new.switches.items()}
        lab.switches.settle()
        for _ in range(120):
            traffic.send(after.publishers, after)
        assert traffic.wrong(after, after, range(meanwhile, len(traffic.events))) == []


def test_a_real_switch_refuses_in_one_line_and_keeps_what_it_had() -> None:
    network = SwitchNetwork.of([("a", "b")])
    hosts = random_workload(network, 1, 3, 4, Random(1))
    old = render(tree_routes(network, hosts, "filter", Random(1)))
    more = random_workload(network, 1, 30, 8, Random(2))
    after = RouteWorkload(hosts.publishers, more.subscribers)
    new = render(tree_routes(network, after, "filter", Random(1)), old.block, old.wiring)
    with switch_lab(old.wiring, wirings=(new.wiring,)) as lab:
        install(old, lab.addresses, patience=PATIENCE)
        held = len([rule for rule in old.switches["a"] if rule.table == 1])
        lab.switches.control(
            *("--", "--id=@t", "create", "Flow_Table", f"flow_limit={held + 2}"),
            *("--", "set", "bridge", lab.bridges["a"], "flow_tables:1=@t"),
        )
        with pytest.raises(Refused, match=r"^switch 'a' at unix:\S+: add table=1,.*: the table is full$"):
            install(new, lab.addresses, old, PATIENCE)
        assert installed(lab.addresses) == {switch: set(rules) for switch, rules in old.switches.items()}


def test_rules_of_others_stay() -> None:
    network = SwitchNetwork.of([("a", "b")])
    hosts = random_workload(network, 1, 2, 4, Random(1))
    rules = render(tree_routes(network, hosts, "filter", Random(1)))
    with switch_lab(rules.wiring) as lab:
        for bridge in lab.bridges.values():
            foreign = "table=0,priority=9,arp,actions=drop"
            lab.switches.tool(
                "ovs-ofctl", "-O", "OpenFlow13", "add-flow", lab.switches.address(bridge), foreign
            )
        install(rules, lab.addresses, patience=PATIENCE)
        install(rules, lab.addresses, patience=PATIENCE)
        for switch, bridge in lab.bridges.items():
            dump = lab.switches.tool(
                "ovs-ofctl", "-O", "OpenFlow13", "dump-flows", lab.switches.address(bridge)
            )
            assert "priority=9,arp" in dump
            assert dump.count("cookie=0x7265677261667431") == len(rules.switches[switch])
