"""Ports of this machine: which are free, and which a server can use again after a restart.

The answers may be out of date at once: another program may take a port before our server listens on it.
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
    numbers = reusable_ports([LOOPBACK] * 3 * servers)
    return [Ports(*numbers[n : n + 3]) for n in range(0, len(numbers), 3)]


def reusable_ports(hosts: Iterable[str]) -> list[int]:
    """For each host a free port; no two are the same.

    If possible, not one of those that the system gives to outgoing connections: while a server is down, one
    of its clients that tries to reconnect could be given the server's own port.
    """
    with contextlib.ExitStack() as stack:
        return [_bound(stack, host) for host in hosts]


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen there now. True for an invalid host, too: listening will say why."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        return True
    return all(_can_bind(family, address) for family, _, _, _, address in found)


async def freed(addresses: Iterable[tuple[str, int]], seconds: float) -> bool:
    """Whether all become free within this time."""
    deadline = time.monotonic() + seconds
    waiting = list(addresses)
    while waiting := [each for each in waiting if not is_free(*each)]:
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


def _can_bind(family: int, address: tuple[str | int, ...] | tuple[int, bytes]) -> bool:
    with socket.socket(family) as each:
        # As servers do: connections of the last server that are still closing do not count.
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            each.bind(address)
        except OSError as fault:
            return fault.errno != errno.EADDRINUSE
    return True


def _bound(stack: contextlib.ExitStack, host: str) -> int:
    """The number of a port that is bound until the stack is closed."""
    for number in [*random.sample(_outside_outgoing(), 50), 0]:
        with contextlib.suppress(OSError, UnicodeError):
            family, _, _, _, address = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
            each = stack.enter_context(socket.socket(family))
            each.bind(address)
            return int(each.getsockname()[1])
    raise RegraftError(f"there is no free port on {host}")


def _outside_outgoing() -> range:
    first_outgoing = 32768
    with contextlib.suppress(OSError, ValueError):
        first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    return range(10_000, max(first_outgoing, 12_000))
