"""Ports and addresses: numbered, given, and kept."""

import pytest

from regraft.flows import Host, Wiring, wire
from regraft.flows.wiring import Port
from regraft.model import BadInput
from regraft.model.routes import Publisher, RouteWorkload, Subscriber
from regraft.model.switch_network import SwitchNetwork

NETWORK = SwitchNetwork.of([("a", "b"), ("b", "c"), ("b", "c")])


def workload(*subscribers: tuple[str, str]) -> RouteWorkload:
    hosts = tuple(Subscriber(name, switch, ("0",)) for name, switch in subscribers)
    return RouteWorkload((Publisher("p", "a", 1.0, ("0",)),), hosts)


def test_cables_come_first_and_then_hosts() -> None:
    wiring = wire(NETWORK, workload(("q", "b")))
    assert [wiring.cables["b", cable] for cable in ("c0", "c1", "c2")] == [1, 2, 3]
    assert wiring.hosts["q"].port == 4
    assert wiring.hosts["p"][:2] == ("a", 2)


def test_parallel_cables_lead_to_each_others_ends() -> None:
    wiring = wire(NETWORK, workload())
    assert wiring.far[Port("b", 2)] == Port("c", 1)
    assert wiring.far[Port("b", 3)] == Port("c", 2)
    assert wiring.far[Port("c", 2)] == Port("b", 3)


def test_who_joins_moves_nobody_and_gets_no_port_of_one_who_leaves() -> None:
    before = wire(NETWORK, workload(("q", "b"), ("r", "b")))
    after = wire(NETWORK, workload(("new", "b"), ("r", "b")), known=before)
    assert after.hosts["r"] == before.hosts["r"]
    assert after.hosts["new"].port == 6
    assert len({host.address for host in (*before.hosts.values(), after.hosts["new"])}) == 4


def test_who_moves_to_another_switch_keeps_its_addresses() -> None:
    before = wire(NETWORK, workload(("q", "b")))
    after = wire(NETWORK, workload(("q", "c")), known=before)
    assert after.hosts["q"].switch == "c"
    assert after.hosts["q"][2:] == before.hosts["q"][2:]


def test_given_ports_and_addresses_are_used() -> None:
    known = Wiring({("a", "c0"): 7}, {"q": Host("b", 9, 0x0200_0000_0001, 1)})
    wiring = wire(NETWORK, workload(("q", "b")), known=known)
    assert wiring.cables["a", "c0"] == 7
    assert wiring.hosts["q"] == known.hosts["q"]


@pytest.mark.parametrize(
    ("cables", "hosts", "rule"),
    [
        ({("a", "c0"): 1, ("a", "c1"): 1}, {}, "port 1 is used by cable 'c0' and by cable 'c1'"),
        ({("a", "c0"): 1}, {"q": Host("a", 1, 1, 1)}, "port 1 is used by cable 'c0' and by host 'q'"),
        ({("a", "c0"): 0}, {}, "numbered from 1"),
        ({}, {"p": Host("a", 1, 1, 5), "q": Host("b", 1, 2, 5)}, "has the address of host 'p'"),
    ],
)
def test_two_in_one_port_or_with_one_address_are_refused(
    cables: dict[tuple[str, str], int], hosts: dict[str, Host], rule: str
) -> None:
    with pytest.raises(BadInput, match=rule):
        Wiring(cables, hosts)
