"""The whole way on real networks: random workloads, routes, rules, events; and then everything changes."""

from pathlib import Path
from random import Random

import networkx as nx
import pytest
from tests.flows.flow_traffic import judge, random_event, run_change
from tests.flows.live_traffic import LiveTraffic, install_while_sending
from tests.flows.route_maker import random_workload

from regraft.flows import AddressBlock, FlowRules, Patience, change, install, render
from regraft.flows.simulated import Packet, filled, trace
from regraft.flows.wiring import Port
from regraft.model.routes import Matching, Routes, RouteWorkload
from regraft.model.switch_network import SwitchNetwork
from regraft.routes import RouteSettings, RouteState, compute_routes, update_routes
from regraft.testing.switches import switch_lab

ZOO = Path(__file__).parents[1] / "data" / "topology_zoo"
NETWORKS = ["Abilene", "Belnet2009", "Bics", "Geant2012", "Nsfnet"]
BLOCK = AddressBlock.of("ff18::/116")
"""Twelve digits."""


def zoo_network(name: str) -> SwitchNetwork:
    graph = nx.MultiGraph(nx.read_graphml(ZOO / f"{name}.graphml"))
    links = [(str(one), str(other)) for one, other in graph.edges() if one != other]
    return SwitchNetwork.of(links)


def workload(network: SwitchNetwork, rng: Random) -> RouteWorkload:
    return random_workload(network, 6, 14, 7, rng)


def computed(network: SwitchNetwork, hosts: RouteWorkload, matching: Matching) -> RouteState:
    state = compute_routes(network, hosts, RouteSettings(matching=matching))
    assert isinstance(state, RouteState)
    return state


def check_all(rules: FlowRules, hosts: RouteWorkload, rng: Random, events: int = 12) -> None:
    """Events of every publisher arrive where they are wanted, once, and nowhere else."""
    switches = filled(rules.switches)
    for publisher in hosts.publishers:
        host = rules.wiring.hosts[publisher.id]
        for _ in range(events):
            event = random_event(publisher, BLOCK.digits, rng)
            packet = Packet(6, host.address, BLOCK.event(event))
            arrived = trace(switches, rules.wiring, Port(host.switch, host.port), packet)
            wanted = [
                each.id for each in hosts.subscribers if any(event.startswith(dz) for dz in each.subscription)
            ]
            assert sorted(rules.wiring.host_at[each.port] for each in arrived) == sorted(wanted)


def joined_and_left(hosts: RouteWorkload, network: SwitchNetwork, rng: Random) -> RouteWorkload:
    """One publisher and three subscribers leave, as many others come."""
    others = workload(network, rng)
    publishers = (*hosts.publishers[1:], others.publishers[0]._replace(id="new"))
    joining = tuple(each._replace(id=f"new {each.id}") for each in others.subscribers[:3])
    return RouteWorkload(publishers, (*hosts.subscribers[3:], *joining))


@pytest.mark.parametrize("matching", ["publisher", "filter"])
@pytest.mark.parametrize("name", NETWORKS)
def test_random_workloads_arrive_exactly_also_while_hosts_come_and_go(name: str, matching: Matching) -> None:
    rng = Random(name)
    network = zoo_network(name)
    before = workload(network, rng)
    state = computed(network, before, matching)
    old = render(state.routes, BLOCK)
    check_all(old, before, rng)
    after = joined_and_left(before, network, rng)
    following = update_routes(state, after)
    assert isinstance(following, RouteState)
    new = render(following.routes, BLOCK, old.wiring)
    traffic = run_change(old, new, change(old, new), before, after, rng)
    assert len(traffic.sent) > 20
    assert judge(traffic, before, after) == []
    check_all(new, after, rng)


@pytest.mark.parametrize("matching", ["publisher", "filter"])
def test_a_cable_that_fails_is_left_without_a_lost_event(matching: Matching) -> None:
    """Planned maintenance: events are led elsewhere before the cable is pulled."""
    rng = Random(3)
    network = zoo_network("Abilene")
    hosts = workload(network, rng)
    state = computed(network, hosts, matching)
    old = render(state.routes, BLOCK)
    used = max(network.edges, key=lambda edge: _uses(state.routes, edge.cable)).cable
    following = update_routes(state, down=frozenset({used}))
    assert isinstance(following, RouteState)
    new = render(following.routes, BLOCK, old.wiring)
    made = change(old, new)
    assert made.versioned
    assert judge(run_change(old, new, made, hosts, hosts, rng), hosts, hosts) == []
    check_all(new, hosts, rng)
    pulled = {Port(switch, port) for (switch, cable), port in new.wiring.cables.items() if cable == used}
    for switch, rules in new.switches.items():
        for rule in rules:
            assert not {Port(switch, port) for port in rule.ports} & pulled


def _uses(routes: Routes, cable: str) -> int:
    edges = routes.network.edges
    return sum(
        edges[edge].cable == cable
        for table in routes.tables.values()
        for entry in table
        for edge in entry.out
    )


def test_a_wrong_table_would_be_caught() -> None:
    rng = Random(4)
    network = zoo_network("Nsfnet")
    hosts = workload(network, rng)
    rules = render(computed(network, hosts, "publisher").routes, BLOCK)
    found = 0
    for switch in rules.switches:
        spoiled = {
            **rules.switches,
            switch: tuple(rule for rule in rules.switches[switch] if rule.table == 0),
        }
        try:
            check_all(FlowRules(BLOCK, rules.wiring, spoiled), hosts, Random(1))
        except AssertionError:
            found += 1
    assert found > len(rules.switches) // 2


@pytest.mark.usefixtures("real_switches")
def test_one_of_the_networks_in_real_switches() -> None:
    rng = Random(5)
    network = zoo_network("Abilene")
    before = random_workload(network, 4, 10, 6, rng)
    state = computed(network, before, "publisher")
    after = joined_and_left(before, network, rng)
    following = update_routes(state, after)
    assert isinstance(following, RouteState)
    old = render(state.routes, BLOCK)
    new = render(following.routes, BLOCK, old.wiring)
    patience = Patience(drain=0.1)
    with switch_lab(old.wiring, wirings=(new.wiring,)) as lab:
        install(old, lab.addresses, patience=patience)
        lab.switches.settle()
        traffic = LiveTraffic(lab, BLOCK, rng)
        assert traffic.send_many(150, before) == []
        first = len(traffic.events)
        made = install_while_sending(traffic, old, new, before, after, patience)
        assert made.versioned
        assert len(traffic.events) > first
        assert traffic.wrong(before, after, first) == []
        lab.switches.settle()
        assert traffic.send_many(150, after) == []
