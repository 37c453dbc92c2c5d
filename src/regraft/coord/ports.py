"""Ports of this machine: which are free, and which are best for servers that are found there again.

The answers are of a moment ago: another program may take a port before it is listened on.
"""

import asyncio
import contextlib
import errno
import random
import socket
import time
from collections.abc import Iterable
from pathlib import Path

from regraft.coord.server_files import Ports
from regraft.model import RegraftError

LOOPBACK = "127.0.0.1"
POLL_SECONDS = 0.05


def free_ports(servers: int) -> list[Ports]:
    """Three for each server of ZooKeeper."""
    numbers = quiet_ports([LOOPBACK] * 3 * servers)
    return [Ports(*numbers[n : n + 3]) for n in range(0, len(numbers), 3)]


def quiet_ports(hosts: Iterable[str]) -> list[int]:
    """For each host a free port; no two are the same.

    Not among those that the system gives to outgoing connections, where there are others: while a server is
    away, one of its clients that calls again and again could be given the server's own port.
    """
    with contextlib.ExitStack() as stack:
        return [_bound(stack, host) for host in hosts]


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now. Also if no server ever can: listening says why."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        return True
    return all(_can_bind(family, address) for family, _, _, _, address in found)


async def freed(addresses: Iterable[tuple[str, int]], seconds: float) -> bool:
    """Whether all are free, within this time."""
    deadline = time.monotonic() + seconds
    waiting = list(addresses)
    while waiting := [each for each in waiting if not is_free(*each)]:
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


def _can_bind(family: int, address: tuple[str | int, ...] | tuple[int, bytes]) -> bool:
    with socket.socket(family) as each:
        # As servers do: connections of the last one that are not quite over do not count.
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            each.bind(address)
        except OSError as fault:
            return fault.errno != errno.EADDRINUSE
    return True


def _bound(stack: contextlib.ExitStack, host: str) -> int:
    """The number of a port that is ours until the stack is left."""
    for number in [*random.sample(_outside_outgoing(), 50), 0]:
        with contextlib.suppress(OSError, UnicodeError):
            family, _, _, _, address = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
            each = stack.enter_context(socket.socket(family))
            each.bind(address)
            return int(each.getsockname()[1])
    raise RegraftError(f"a free port of {host} is needed, and there is none")


def _outside_outgoing() -> range:
    first_outgoing = 32768
    with contextlib.suppress(OSError, ValueError):
        first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    return range(10_000, max(first_outgoing, 12_000))
