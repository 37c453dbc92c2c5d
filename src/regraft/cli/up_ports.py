"""The ports on which the brokers of `regraft up` listen.

A port that the topology gives is used. Otherwise a broker keeps the port of the last start with the same
state: its sessions survive, but only help clients that find their broker again. If it has none, or another
program has taken it meanwhile, the broker gets a free port. The same holds for the port of its metrics.
"""

import asyncio
import dataclasses
import fcntl
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from regraft.cli.up_options import Configure
from regraft.model import BadInput, Broker, RegraftError, Topology

if TYPE_CHECKING:
    from regraft.broker.io.configuration import Configuration

LOCAL = "127.0.0.1"
FILE = "ports.json"
KILLED_SECONDS = 15.0
"""How long to wait: broker processes need a moment to notice that their `up` was killed."""
POLL_SECONDS = 0.05


class BrokerPorts(msgspec.Struct, frozen=True):
    """The ports of one broker, as they are stored for the next start. 0: none yet."""

    port: int
    metrics: int = 0


_NO_PORTS = BrokerPorts(0)


class _PortChoice:
    """Chooses ports, and knows which of them this overlay uses already."""

    def __init__(self, taken: Iterable[int], remembers: bool) -> None:
        self._taken = set(taken)
        self._remembers = remembers

    def same_or_new(self, what: str, host: str, port: int) -> int:
        """The port of the last start if it is still free, else a new one."""
        if not port:
            return self._free(host)
        from regraft.coord.ports import is_free

        if port in self._taken or not is_free(host, port):
            click.echo(f"regraft: {what}: port {port} of the last start is taken, it gets another", err=True)
            return self._free(host)
        self._taken.add(port)
        return port

    def _free(self, host: str) -> int:
        """A free port of our choice; without state 0, for which the system chooses one."""
        if not self._remembers:
            return 0
        from regraft.coord.ports import reusable_ports

        try:
            while (port := reusable_ports([host])[0]) in self._taken:
                pass
        except RegraftError:
            return 0  # this host has no port to listen on: the broker will say why
        self._taken.add(port)
        return port


async def with_ports(
    configure: Configure, ids: Iterable[str], file: Topology, options: Mapping[str, Any], *, was_killed: bool
) -> Configure:
    """`configure` with the host and ports of each broker; they are stored for the next start."""
    given = {broker.id: broker for broker in file.brokers}
    hosts = {id: options["host"] or given.get(id, Broker(id)).host or LOCAL for id in ids}
    ports = {id: given[id].port or 0 for id in hosts if id in given}
    last = _last(options["state"])
    if was_killed:
        known = [(host, ports.get(id) or last.get(id, _NO_PORTS).port) for id, host in hosts.items()]
        # A process that ends closes its sockets one after the other, so each is waited for.
        known += [(LOCAL, last.get(id, _NO_PORTS).metrics) for id in hosts]
        await _wait_for_killed(options["state"], [each for each in known if each[1]])
    _check(hosts, {id: port for id, port in ports.items() if port})
    choice = _PortChoice(filter(None, ports.values()), options["state"] is not None)
    chosen: dict[str, BrokerPorts] = {}

    def choose(id: str) -> None:
        port, metrics = msgspec.structs.astuple(last.get(id, _NO_PORTS))
        port = ports.get(id) or choice.same_or_new(f"broker {id!r}", hosts[id], port)
        if not options["no_metrics"]:
            metrics = choice.same_or_new(f"metrics of broker {id!r}", LOCAL, metrics)
        chosen[id] = BrokerPorts(port, metrics)

    for id in hosts:
        choose(id)
    _remember(options["state"], last | chosen)

    def at_its_place(id: str, near: tuple[str, ...]) -> "Configuration":
        if id not in chosen:  # a broker that joins while the others run
            hosts[id] = options["host"] or LOCAL
            choose(id)
            _remember(options["state"], last | chosen)
        made = configure(id, near)
        metrics = None if made.metrics is None else (made.metrics[0], chosen[id].metrics)
        return dataclasses.replace(made, host=hosts[id], port=chosen[id].port, metrics=metrics)

    return at_its_place


def _check(hosts: Mapping[str, str], given: Mapping[str, int]) -> None:
    """Checks the ports in the topology: each is for one broker, and no other program listens there."""
    from regraft.coord.ports import is_free

    owners: dict[tuple[str, int], str] = {}
    for id, port in given.items():
        address = (hosts[id], port)
        if (other := owners.setdefault(address, id)) != id:
            raise BadInput(f"broker {id!r}: {address[0]}:{port}", f"is the address of broker {other!r}, too")
    for (host, port), id in owners.items():
        if not is_free(host, port):
            raise BadInput(f"broker {id!r}: {host}:{port}", "is taken: another program listens there")


async def _wait_for_killed(state: Path | None, addresses: list[tuple[str, int]]) -> None:
    """Waits for the brokers of an `up` that was killed to release their ports and journals."""
    from regraft.coord.ports import freed

    deadline = time.monotonic() + KILLED_SECONDS
    await freed(addresses, KILLED_SECONDS)
    while state is not None and any(map(_is_locked, state.glob("*.lock"))) and time.monotonic() < deadline:
        await asyncio.sleep(POLL_SECONDS)


def _is_locked(lock: Path) -> bool:
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _last(state: Path | None) -> dict[str, BrokerPorts]:
    if state is None or not (path := state / FILE).exists():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, BrokerPorts])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as fault:
        rule = f"does not hold the ports of brokers ({fault}); remove it to have new ones chosen"
        raise BadInput(str(path), rule) from None


def _remember(state: Path | None, ports: Mapping[str, BrokerPorts]) -> None:
    from regraft.model.files import write_bytes

    if state is not None and all(each.port for each in ports.values()):
        write_bytes(state / FILE, msgspec.json.format(msgspec.json.encode(ports), indent=1) + b"\n")
