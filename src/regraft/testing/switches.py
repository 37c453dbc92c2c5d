"""Real Open vSwitch switches for tests: a network of bridges, and hosts that send and receive UDP.

One ovsdb-server and one ovs-vswitchd of our own, with the datapath in user space, in a private directory
and in a network namespace without a name. Cables are patch ports, each host is a namespace with a veth
pair. Everything ends with the context, and with the process if that is killed.
"""

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from pathlib import Path

from regraft.flows.block import Family
from regraft.flows.wiring import Wiring
from regraft.processes.programs import end_programs, start_program
from regraft.testing import netns
from regraft.testing.netns import Namespace, run

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
EVENT_PORT = 5683
_SIOCETHTOOL, _ETHTOOL_STXCSUM = 0x8946, 0x17


def unavailable() -> str | None:
    """Why there can be no real switches here, or None."""
    missing = [each for each in ("ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ip") if not _program(each)]
    if missing or not SCHEMA.exists():
        return f"{', '.join(missing) or SCHEMA} missing; as root: apt-get install openvswitch-switch iproute2"
    return netns.unavailable()


class OpenVSwitch:
    """The processes and their control; `switch_network` plugs a network together."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.namespace = Namespace()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.environment = os.environ | {
            "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin",
            "OVS_RUNDIR": str(directory),
            "OVS_LOGDIR": str(directory),
            "OVS_DBDIR": str(directory),
        }

    def start(self) -> None:
        run([_program("ovsdb-tool"), "create", str(self.directory / "conf.db"), str(SCHEMA)])
        socket_path = f"unix:{self.directory}/db.sock"
        self.namespace.ip("link set lo up")
        with self.namespace.inside():
            database = [_program("ovsdb-server"), f"--remote=p{socket_path}", f"{self.directory}/conf.db"]
            self._start(database, "db.sock")
            self.control("--no-wait", "init")
            self._start([_program("ovs-vswitchd"), socket_path, "--pidfile"], "ovs-vswitchd.pid")

    def control(self, *arguments: str) -> str:
        """Run ovs-vsctl; it returns when the switches have carried the command out."""
        return self.tool("ovs-vsctl", "--timeout=30", f"--db=unix:{self.directory}/db.sock", *arguments)

    def tool(self, program: str, *arguments: str) -> str:
        return run([_program(program), *arguments], environment=self.environment)

    def settle(self) -> None:
        """Returns when decisions that were cached before the last change of rules are gone.

        The switch confirms a rule when it is in its tables; it revises its cached decisions, which include
        drops, some milliseconds later.
        """
        self.tool("ovs-appctl", "-t", "ovs-vswitchd", "revalidator/wait")

    def address(self, bridge: str) -> str:
        return f"unix:{self.directory}/{bridge}.mgmt"

    def close(self) -> None:
        end_programs(self.processes[::-1])
        self.namespace.close()

    def _start(self, command: list[str], sign: str) -> None:
        log = self.directory / f"{Path(command[0]).name}.log"
        with log.open("ab") as output:
            process = start_program(command, output, environment=self.environment)
        self.processes.append(process)
        for _ in range(600):
            if (self.directory / sign).exists():
                return
            if process.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError(f"{command[0]} did not start: {log.read_text().strip()[-300:]}")


@contextmanager
def open_vswitch() -> Iterator[OpenVSwitch]:
    # A short path: the name of a socket has at most 107 letters.
    directory = Path(tempfile.mkdtemp(prefix="ovs"))
    switch = OpenVSwitch(directory)
    try:
        switch.start()
        yield switch
    finally:
        switch.close()
        shutil.rmtree(directory, ignore_errors=True)


class HostPort:
    """A host in its own namespace: it sends events, and receives what is delivered to its address."""

    def __init__(self, name: str, address: int, mac: int, family: Family) -> None:
        self.name = name
        self.address = str(ip_address(address.to_bytes(16 if family == 6 else 4)))
        self.mac = mac.to_bytes(6).hex(":")
        self.family = family
        self.namespace = Namespace()
        self._socket: socket.socket | None = None

    def plug(self) -> None:
        """The far end of the veth pair, called eth0, is in the namespace already."""
        width = 64 if self.family == 6 else 16
        more = "nodad" if self.family == 6 else ""
        self.namespace.ip(
            "link set lo up",
            f"link set eth0 address {self.mac}",
            "link set eth0 up",
            f"addr add {self.address}/{width} dev eth0 {more}",
            *(() if self.family == 6 else ("route add 224.0.0.0/4 dev eth0",)),
        )
        kind = socket.AF_INET6 if self.family == 6 else socket.AF_INET
        with self.namespace.inside():
            self._socket = socket.socket(kind, socket.SOCK_DGRAM)
            # A switch in user space gets packets as they are: no hardware would add the checksum later.
            _no_checksum_offload(self._socket, "eth0")
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            if self.family == 6:
                self._socket.setsockopt(
                    socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex("eth0")
                )
            self._socket.bind((self.address, EVENT_PORT))
            self._socket.setblocking(False)

    @property
    def socket(self) -> socket.socket:
        assert self._socket is not None, "plugged in"
        return self._socket

    def send(self, destination: int, payload: bytes) -> None:
        to = ip_address(destination.to_bytes(16 if self.family == 6 else 4))
        self.socket.sendto(payload, (str(to), EVENT_PORT))

    def received(self) -> list[bytes]:
        """The packets that have arrived since the last call."""
        found: list[bytes] = []
        while True:
            try:
                found.append(self.socket.recv(2048))
            except BlockingIOError:
                return found

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self.namespace.close()


class SwitchNetworkLab:
    """A bridge per switch, and the hosts of a wiring."""

    def __init__(
        self, switches: OpenVSwitch, hosts: Mapping[str, HostPort], bridges: Mapping[str, str]
    ) -> None:
        self.switches = switches
        self.hosts = hosts
        self.bridges = bridges

    @property
    def addresses(self) -> dict[str, str]:
        """The addresses of the switches, as `install` takes them."""
        return {switch: self.switches.address(bridge) for switch, bridge in self.bridges.items()}


@contextmanager
def switch_lab(
    wiring: Wiring, family: Family = 6, wirings: tuple[Wiring, ...] = ()
) -> Iterator[SwitchNetworkLab]:
    """The network of this wiring; hosts that only later wirings have are plugged in as well."""
    every = (wiring, *wirings)
    bridges = {
        name: f"br{number}"
        for number, name in enumerate(sorted({name for each in every for name, _ in each.cables}))
    }
    with ExitStack() as stack:
        switches = stack.enter_context(open_vswitch())
        hosts: dict[str, HostPort] = {}
        commands = [part for bridge in bridges.values() for part in _bridge(bridge)]
        for (switch, number), (far, far_number) in wiring.far.items():
            name, peer = f"{bridges[switch]}p{number}", f"{bridges[far]}p{far_number}"
            commands += _port(bridges[switch], name, number, "type=patch", f"options:peer={peer}")
        for name, host in {
            name: host for each in reversed(every) for name, host in each.hosts.items()
        }.items():
            plugged = HostPort(name, host.address, host.mac, family)
            stack.callback(plugged.close)
            veth = f"h{len(hosts)}"
            hosts[name] = plugged
            switches.namespace.ip(
                f"link add {veth} type veth peer name eth0 netns {plugged.namespace.path}",
                f"link set {veth} up",
            )
            plugged.plug()
            commands += _port(bridges[host.switch], veth, host.port)
        switches.control(*commands[1:])
        yield SwitchNetworkLab(switches, hosts, bridges)


def _bridge(name: str) -> list[str]:
    settings = ("datapath_type=netdev", "fail_mode=secure", "protocols=OpenFlow13")
    return ["--", "add-br", name, "--", "set", "bridge", name, *settings]


def _port(bridge: str, name: str, number: int, *settings: str) -> list[str]:
    return [
        "--",
        "add-port",
        bridge,
        name,
        "--",
        "set",
        "interface",
        name,
        f"ofport_request={number}",
        *settings,
    ]


def _no_checksum_offload(any_socket: socket.socket, interface: str) -> None:
    value = bytearray(struct.pack("II", _ETHTOOL_STXCSUM, 0))
    pointer = struct.pack("P", _address_of(value))
    fcntl.ioctl(any_socket, _SIOCETHTOOL, struct.pack("16s16s", interface.encode(), pointer))


def _address_of(value: bytearray) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(value))


def _program(name: str) -> str:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or ""
