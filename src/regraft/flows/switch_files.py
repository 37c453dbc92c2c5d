"""Reads the file that says where the real switches are and what is plugged into them.

    {"block": "ff18::/16",
     "switches": {"s1": "tcp:10.0.0.1:6653",
                  "s2": {"connect": "unix:/run/openvswitch/s2.mgmt",
                         "cables": {"c0": 3},
                         "hosts": {"p1": {"port": 7, "address": "fd00::7", "mac": "02:00:00:00:00:07"}}}}}

Only `switches` is required. Ports and hosts that it does not name are numbered by `wiring`; another workload
may lead to other numbers, so `switches_document` writes down which ones were used.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

from regraft.flows.block import DEFAULT_BLOCK, AddressBlock
from regraft.flows.connection import check_address
from regraft.flows.wiring import Host, Wiring
from regraft.model import BadInput
from regraft.model.fields import a_text, a_whole_number, an_object, only, required
from regraft.model.files import as_text, parse_json, read_bytes, shown

MAX_PORT = 0xFFFF_FF00
"""The highest port number that is not reserved (OpenFlow 1.3.5 §7.2.1)."""


@dataclass(frozen=True)
class Switches:
    """`addresses` for `install`; `block` and `wiring` for `render`."""

    addresses: dict[str, str]
    block: AddressBlock
    wiring: Wiring


def read_switches(path: Path) -> Switches:
    try:
        return switches_from(an_object(parse_json(as_text(read_bytes(path))), ""))
    except BadInput as fault:
        raise fault if fault.place == shown(path) else fault.within(shown(path)) from None


def switches_from(document: dict[str, Any]) -> Switches:
    only(document, {"block", "switches"}, "")
    block = AddressBlock.of(a_text(document.get("block", DEFAULT_BLOCK), "block"))
    addresses: dict[str, str] = {}
    cables: dict[tuple[str, str], int] = {}
    hosts: dict[str, Host] = {}
    for name, value in an_object(required(document, "switches"), "switches").items():
        place = f"switches.{name}"
        given = {"connect": value} if isinstance(value, str) else an_object(value, place)
        only(given, {"connect", "cables", "hosts"}, place)
        addresses[name] = a_text(required(given, "connect", place), f"{place}.connect")
        check_address(addresses[name], f"{place}.connect")
        for cable, port in an_object(given.get("cables", {}), f"{place}.cables").items():
            cables[name, cable] = _port(port, f"{place}.cables.{cable}")
        for host, about in an_object(given.get("hosts", {}), f"{place}.hosts").items():
            if host in hosts:
                raise BadInput(f"{place}.hosts", f"the host {host!r} is at {hosts[host].switch!r} already")
            hosts[host] = _host(
                name, an_object(about, f"{place}.hosts.{host}"), block, f"{place}.hosts.{host}"
            )
    return Switches(addresses, block, Wiring(cables, hosts))


def switches_document(switches: Switches, wiring: Wiring) -> dict[str, Any]:
    """The same file with every port and address in it, so that a host that joins or leaves moves no other."""
    family = switches.block.family
    found: dict[str, Any] = {
        name: {"connect": address, "cables": {}, "hosts": {}} for name, address in switches.addresses.items()
    }
    for (name, cable), port in wiring.cables.items():
        found[name]["cables"][cable] = port
    for host, (name, port, mac, address) in wiring.hosts.items():
        found[name]["hosts"][host] = {
            "port": port,
            "address": str((IPv6Address if family == 6 else IPv4Address)(address)),
            "mac": ":".join(f"{byte:02x}" for byte in mac.to_bytes(6)),
        }
    return {"block": str(switches.block.network), "switches": found}


def _host(switch: str, about: dict[str, Any], block: AddressBlock, place: str) -> Host:
    only(about, {"port", "address", "mac"}, place)
    text = a_text(required(about, "address", place), f"{place}.address")
    try:
        address = ip_address(text)
    except ValueError:
        raise BadInput(f"{place}.address", f"{text!r} is not an address") from None
    if address.version != block.family or address.is_multicast:
        raise BadInput(f"{place}.address", f"must be a unicast address of IPv{block.family}, not {text}")
    mac = a_text(required(about, "mac", place), f"{place}.mac")
    parts = mac.split(":")
    if len(parts) != 6 or any(
        len(part) != 2 or not set(part.lower()) <= set("0123456789abcdef") for part in parts
    ):
        raise BadInput(f"{place}.mac", f"{mac!r} is not an address like 02:00:00:00:00:07")
    port = _port(required(about, "port", place), f"{place}.port")
    return Host(switch, port, int("".join(parts), 16), int(address))


def _port(value: Any, place: str) -> int:
    return a_whole_number(value, place, 1, MAX_PORT)
