"""The file of switches."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.flows.route_maker import random_workload

from regraft.flows import Host, read_switches, switches_document, wire
from regraft.model import BadInput
from regraft.model.routes import RouteWorkload
from regraft.model.switch_network import SwitchNetwork

GOOD: dict[str, Any] = {
    "block": "ff18:1::/32",
    "switches": {
        "s1": "tcp:10.0.0.1:6653",
        "s2": {
            "connect": "unix:/run/s2.mgmt",
            "cables": {"c0": 3},
            "hosts": {"p1": {"port": 7, "address": "fd00::7", "mac": "02:00:00:00:00:0A"}},
        },
    },
}


def written(directory: Path, document: object) -> Path:
    path = directory / "switches.json"
    path.write_text(json.dumps(document))
    return path


def test_addresses_ports_and_hosts_are_read(tmp_path: Path) -> None:
    found = read_switches(written(tmp_path, GOOD))
    assert found.addresses == {"s1": "tcp:10.0.0.1:6653", "s2": "unix:/run/s2.mgmt"}
    assert str(found.block.network) == "ff18:1::/32"
    assert found.wiring.cables == {("s2", "c0"): 3}
    assert found.wiring.hosts == {"p1": Host("s2", 7, 0x0200_0000_000A, (0xFD << 120) + 7)}


@pytest.mark.parametrize("block", ["ff18:1::/32", "239.192.0.0/14"])
def test_what_was_numbered_is_written_down_and_nobody_moves_when_others_leave(
    tmp_path: Path, block: str
) -> None:
    network = SwitchNetwork.of([("s1", "s2"), ("s2", "s3")])
    hosts = random_workload(network, 3, 4, 3, Random(2))
    given = read_switches(
        written(tmp_path, {"block": block, "switches": dict.fromkeys(network.switches, "tcp:10.0.0.1:6653")})
    )
    wiring = wire(network, hosts, given.block.family, given.wiring)
    again = read_switches(written(tmp_path, switches_document(given, wiring)))
    assert (again.addresses, again.block) == (given.addresses, given.block)
    assert (again.wiring.cables, again.wiring.hosts) == (wiring.cables, wiring.hosts)
    fewer = RouteWorkload(hosts.publishers[1:], hosts.subscribers[1:])
    stays = {host.id for host in fewer.publishers} | {host.id for host in fewer.subscribers}
    assert wire(network, fewer, given.block.family, again.wiring).hosts == {
        name: host for name, host in wiring.hosts.items() if name in stays
    }
    assert wire(network, fewer, given.block.family, given.wiring).hosts != {
        name: host for name, host in wiring.hosts.items() if name in stays
    }, "without the file they would move"


@pytest.mark.parametrize(
    ("path", "value", "place", "rule"),
    [
        ("switches", None, "switches", "must be an object"),
        ("block", "fd00::/8", "address block", "multicast"),
        ("more", 1, "", "unknown field 'more'"),
        ("switches.s1", "ssl:1.2.3.4:5", "switches.s1.connect", "not an address of a switch"),
        ("switches.s2.cables.c0", 0, "switches.s2.cables.c0", "from 1 to"),
        ("switches.s2.cables.c0", "3", "switches.s2.cables.c0", "whole number"),
        ("switches.s2.cables.c1", 3, "switch 's2'", "port 3 is used by cable 'c0' and by cable 'c1'"),
        ("switches.s2.hosts.p1.mac", "02:00", "switches.s2.hosts.p1.mac", "not an address like"),
        ("switches.s2.hosts.p1.mac", "02:00:00:00:00:0g", "switches.s2.hosts.p1.mac", "not an address like"),
        (
            "switches.s2.hosts.p1.address",
            "10.0.0.1",
            "switches.s2.hosts.p1.address",
            "unicast address of IPv6",
        ),
        ("switches.s2.hosts.p1.address", "ff18::1", "switches.s2.hosts.p1.address", "unicast"),
        ("switches.s2.hosts.p1.address", "here", "switches.s2.hosts.p1.address", "not an address"),
        ("switches.s2.hosts.p1.port", 3, "switch 's2'", "port 3 is used by cable 'c0' and by host 'p1'"),
    ],
)
def test_faults_are_told_with_their_place(
    tmp_path: Path, path: str, value: object, place: str, rule: str
) -> None:
    document = json.loads(json.dumps(GOOD))
    *way, last = path.split(".")
    target = document
    for step in way:
        target = target[step]
    target[last] = value
    with pytest.raises(BadInput, match=rule) as caught:
        read_switches(written(tmp_path, document))
    assert str(caught.value).startswith(f"{tmp_path}/switches.json: {place}".removesuffix(": "))


def test_a_host_at_two_switches_is_refused(tmp_path: Path) -> None:
    document = json.loads(json.dumps(GOOD))
    document["switches"]["s3"] = document["switches"]["s2"] | {"cables": {}}
    with pytest.raises(BadInput, match="the host 'p1' is at 's2' already"):
        read_switches(written(tmp_path, document))


@pytest.mark.parametrize(("text", "rule"), [("", "empty"), ("{", "not JSON"), ("[]", "must be an object")])
def test_what_is_no_document_is_refused(tmp_path: Path, text: str, rule: str) -> None:
    path = tmp_path / "switches.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=rule):
        read_switches(path)
