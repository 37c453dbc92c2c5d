"""Rules in a real Open vSwitch: they are there, events arrive exactly, also while rules change."""

import asyncio
from dataclasses import replace
from random import Random

import pytest
from tests.flows.live_traffic import LiveTraffic, install_while_sending
from tests.flows.route_maker import Style, random_network, random_workload, tree_routes

from regraft.flows import (
    AddressBlock,
    FlowRules,
    Patience,
    RuleChange,
    RuleRefused,
    change,
    install,
    installed,
    render,
    update,
)
from regraft.flows.installing import carry_out
from regraft.flows.rules import Rule
from regraft.flows.simulated import filled
from regraft.model.routes import RouteWorkload
from regraft.model.switch_network import SwitchNetwork
from regraft.testing.switches import switch_lab

pytestmark = pytest.mark.usefixtures("real_switches")
PATIENCE = Patience(drain=0.1)


def held(rules: FlowRules) -> dict[str, set[Rule]]:
    return {switch: set(each) for switch, each in rules.switches.items()}


@pytest.mark.parametrize(("style", "block"), [("publisher", "ff18::/16"), ("filter", "239.192.0.0/14")])
def test_events_arrive_exactly_also_while_rules_change(style: Style, block: str) -> None:
    rng = Random(7)
    network = random_network(6, 9, rng)
    before = random_workload(network, 3, 5, 4, rng)
    joining = random_workload(network, 1, 1, 4, rng).subscribers[0]._replace(id="new")
    after = RouteWorkload(before.publishers, (*before.subscribers[1:], joining))
    old = render(tree_routes(network, before, style, rng), AddressBlock.of(block))
    new = render(tree_routes(network, after, style, rng), old.block, old.wiring)
    with switch_lab(old.wiring, old.block.family, (new.wiring,)) as lab:
        install(old, lab.addresses, patience=PATIENCE)
        assert installed(lab.addresses) == held(old)
        lab.switches.settle()
        traffic = LiveTraffic(lab, old.block, rng)
        assert traffic.send_many(120, before) == []
        first = len(traffic.events)
        made = install_while_sending(traffic, old, new, before, after, PATIENCE)
        assert made.versioned
        assert len(traffic.events) > first
        assert traffic.wrong(before, after, first) == []
        assert installed(lab.addresses) == held(new)
        lab.switches.settle()
        assert traffic.send_many(120, after) == []


def test_what_the_switches_hold_is_read_and_only_the_difference_sent() -> None:
    rng = Random(8)
    network = random_network(4, 5, rng)
    before, after = (random_workload(network, 2, 4, 4, rng) for _ in range(2))
    old = render(tree_routes(network, before, "publisher", rng))
    new = render(tree_routes(network, after, "publisher", rng), old.block, old.wiring)
    with switch_lab(old.wiring, wirings=(new.wiring,)) as lab:
        assert update(old, lab.addresses, PATIENCE).changes > old.count
        assert update(old, lab.addresses, PATIENCE).changes == 0
        assert update(new, lab.addresses, PATIENCE).changes == change(old, new).changes
        assert installed(lab.addresses) == held(new)
        interrupted = change(new, old)
        asyncio.run(carry_out(replace(interrupted, phases=interrupted.phases[:2]), lab.addresses, PATIENCE))
        assert update(old, lab.addresses, PATIENCE).old.count == 0
        assert installed(lab.addresses) == held(old)


def test_a_switch_is_reached_by_tcp_too() -> None:
    network = SwitchNetwork.of([("a", "b")])
    hosts = random_workload(network, 1, 2, 4, Random(1))
    rules = render(tree_routes(network, hosts, "filter", Random(1)))
    with switch_lab(rules.wiring) as lab:
        addresses = {}
        for number, (switch, bridge) in enumerate(lab.bridges.items(), 6653):
            # Any port is free: the switches have a network of their own.
            lab.switches.control("set-controller", bridge, f"ptcp:{number}:127.0.0.1")
            addresses[switch] = f"tcp:127.0.0.1:{number}"
        with lab.switches.namespace.inside():
            install(rules, addresses, patience=PATIENCE)
            assert installed(addresses) == held(rules)


def test_a_real_switch_refuses_in_one_line_and_keeps_what_it_had() -> None:
    network = SwitchNetwork.of([("a", "b")])
    hosts = random_workload(network, 1, 3, 4, Random(1))
    old = render(tree_routes(network, hosts, "filter", Random(1)))
    more = random_workload(network, 1, 30, 8, Random(2))
    after = RouteWorkload(hosts.publishers, more.subscribers)
    new = render(tree_routes(network, after, "filter", Random(1)), old.block, old.wiring)
    with switch_lab(old.wiring, wirings=(new.wiring,)) as lab:
        install(old, lab.addresses, patience=PATIENCE)
        limit = 2 + len([rule for rule in old.switches["a"] if rule.table == 1])
        lab.switches.control(
            *("--", "--id=@t", "create", "Flow_Table", f"flow_limit={limit}"),
            *("--", "set", "bridge", lab.bridges["a"], "flow_tables:1=@t"),
        )
        with pytest.raises(RuleRefused, match=r"^switch 'a' at unix:\S+: add table=1,.*: the table is full$"):
            install(new, lab.addresses, old, PATIENCE)
        assert installed(lab.addresses) == held(old)


def largest_tables(made: RuleChange, phases: int) -> dict[str, int]:
    """The most lines of table 1 that each switch holds at any time in the first phases."""
    switches = filled(made.old.switches)
    most = dict.fromkeys(switches, 0)
    for phase in made.phases[:phases]:
        for name, messages in phase.messages.items():
            for message in messages:
                switches[name].apply(message)
                lines = sum(rule.table == 1 for rule in switches[name].rules.values())
                most[name] = max(most[name], lines)
    return most


def test_a_refusal_in_the_last_phase_that_adds_rules_is_taken_back_too() -> None:
    """The overlay has room, the new rules below it have not."""
    rng = Random(11)
    network = random_network(5, 8, rng)
    hosts = random_workload(network, 3, 6, 5, rng)
    old = render(tree_routes(network, hosts, "publisher", rng))
    new = render(tree_routes(network, hosts, "publisher", rng), old.block, old.wiring)
    made = change(old, new)
    assert [phase.name for phase in made.phases][2] == "settle"
    needed = [largest_tables(made, phases) for phases in (2, 3)]
    full = max(old.switches, key=lambda name: needed[1][name] - needed[0][name])
    room = needed[0][full]
    assert needed[1][full] > room
    with switch_lab(old.wiring, wirings=(new.wiring,)) as lab:
        install(old, lab.addresses, patience=PATIENCE)
        lab.switches.settle()
        lab.switches.control(
            *("--", "--id=@t", "create", "Flow_Table", f"flow_limit={room}"),
            *("--", "set", "bridge", lab.bridges[full], "flow_tables:1=@t"),
        )
        traffic = LiveTraffic(lab, old.block, rng)
        with pytest.raises(RuleRefused, match="the table is full"):
            install_while_sending(traffic, old, new, hosts, hosts, PATIENCE)
        assert traffic.events
        assert traffic.wrong(hosts, hosts, 0) == []
        assert installed(lab.addresses) == held(old)
        assert update(old, lab.addresses, PATIENCE).changes == 0


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
