"""Routes -> rules."""

from random import Random

import pytest
from tests.flows.flow_traffic import random_event
from tests.flows.route_maker import Style, random_network, random_workload, tree_routes

from regraft.flows import AddressBlock, render
from regraft.flows.rules import AT_REST, DOORS, ROUTES, Output, Readdress, Rule, SetMark
from regraft.flows.simulated import Packet, filled, trace
from regraft.flows.wiring import Port
from regraft.model import BadInput
from regraft.model.routes import Entry, Publisher, Routes, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork

LINE = SwitchNetwork.of([("a", "b")])
HOSTS = RouteWorkload(
    (Publisher("p", "a", 1.0, ("0", "10")),), (Subscriber("q", "b", ("0",)), Subscriber("r", "b", ("01",)))
)


def routes(at_a: tuple[Entry, ...], at_b: tuple[Entry, ...] = ()) -> Routes:
    return Routes(LINE, HOSTS, "filter", {"a": at_a, "b": at_b})


def forwarding(rules: tuple[Rule, ...]) -> list[Rule]:
    return [rule for rule in rules if rule.table == ROUTES and rule.match.prefix]


def test_the_longer_expression_has_the_higher_priority_and_a_publishers_own_come_first() -> None:
    entries = (Entry("", "p", (0,), ()), Entry("01", None, (), ()), Entry("0", None, (0,), ()))
    own, long, short = forwarding(render(routes(entries)).switches["a"])
    assert short.priority < long.priority < own.priority
    assert short.match.source is long.match.source is None
    assert own.match.source == render(routes(entries)).wiring.hosts["p"].address


def test_entries_of_the_same_expression_forward_to_the_union_of_their_ports() -> None:
    entries = (Entry("01", None, (), ("q",)), Entry("01", None, (), ("r",)))
    (rule,) = forwarding(render(routes((), entries)).switches["b"])
    wiring = render(routes((), entries)).wiring
    assert rule.ports == {wiring.hosts["q"].port, wiring.hosts["r"].port}


def test_the_last_switch_writes_the_subscribers_own_addresses_after_the_cables_are_served() -> None:
    (rule,) = forwarding(render(routes((), (Entry("0", None, (1,), ("q", "r")),))).switches["b"])
    kinds = [type(action) for action in rule.actions]
    assert kinds == [Output, Readdress, Output, Readdress, Output]


def test_an_entry_with_nowhere_to_go_drops() -> None:
    (rule,) = forwarding(render(routes((Entry("00", None, (), ()),))).switches["a"])
    assert rule.actions == ()
    assert rule.goto is None


def test_publishers_come_in_with_their_own_address_and_what_they_advertised() -> None:
    rules = render(routes(()))
    doors = [rule for rule in rules.switches["a"] if rule.table == DOORS and rule.match.source]
    host = rules.wiring.hosts["p"]
    assert {rules.block.dz(rule.match.prefix) for rule in doors if rule.match.prefix} == {"0", "10"}
    for door in doors:
        assert (door.match.in_port, door.match.source) == (host.port, host.address)
        assert (door.actions, door.goto) == ((SetMark(AT_REST),), ROUTES)


def test_what_no_rule_knows_is_dropped_in_both_tables() -> None:
    for held in render(routes(())).switches.values():
        assert {rule.table for rule in held if rule.priority == 0 and not rule.actions} == {DOORS, ROUTES}


def test_an_expression_longer_than_the_block_allows_is_refused_with_its_place() -> None:
    entries = (Entry("0" * 19, None, (0,), ()),)
    with pytest.raises(BadInput, match=r"'a': dz-expression: .* has 19 digits, the block 239.192.0.0/14"):
        render(routes(entries), AddressBlock.of("239.192.0.0/14"))


@pytest.mark.parametrize(
    ("entry", "rule"),
    [
        (Entry("0", None, (1,), ()), "uses edge 1, which leaves 'b'"),
        (Entry("0", None, (), ("q",)), "delivers to 'q', which is not at this switch"),
        (Entry("0", "nobody", (0,), ()), "unknown publisher 'nobody'"),
    ],
)
def test_tables_that_do_not_fit_the_network_are_refused(entry: Entry, rule: str) -> None:
    with pytest.raises(BadInput, match=rule):
        render(routes((entry,)))


@pytest.mark.parametrize("style", ["publisher", "filter", "mixed"])
@pytest.mark.parametrize("block", ["ff18::/16", "239.192.0.0/14"])
def test_every_event_arrives_exactly_where_it_is_wanted(style: Style, block: str) -> None:
    for seed in range(12):
        rng = Random(seed)
        network = random_network(6, 9, rng)
        hosts = random_workload(network, 3, 6, 5, rng)
        rules = render(tree_routes(network, hosts, style, rng), AddressBlock.of(block))
        switches = filled(rules.switches)
        for publisher in hosts.publishers:
            host = rules.wiring.hosts[publisher.id]
            for _ in range(10):
                event = random_event(publisher, rules.block.digits, rng)
                packet = Packet(rules.block.family, host.address, rules.block.event(event))
                arrivals = trace(switches, rules.wiring, Port(host.switch, host.port), packet)
                wanted = {
                    each.id
                    for each in hosts.subscribers
                    if any(event.startswith(dz) for dz in each.subscription)
                }
                assert sorted(rules.wiring.host_at[arrival.port] for arrival in arrivals) == sorted(wanted)
                for arrival in arrivals:
                    receiver = rules.wiring.hosts[rules.wiring.host_at[arrival.port]]
                    assert (arrival.packet.destination, arrival.packet.mac) == (
                        receiver.address,
                        receiver.mac,
                    )


def test_what_was_not_advertised_and_who_pretends_to_be_another_do_not_get_in() -> None:
    rules = render(routes((Entry("", None, (0,), ()),), (Entry("", None, (), ("q",)),)))
    switches = filled(rules.switches)
    host = rules.wiring.hosts["p"]
    at = Port(host.switch, host.port)

    def arrivals(source: int, dz: str) -> int:
        packet = Packet(6, source, rules.block.event(dz))
        return len(trace(switches, rules.wiring, at, packet))

    assert arrivals(host.address, "00") == 1
    assert arrivals(host.address, "11") == 0
    assert arrivals(host.address + 77, "00") == 0
