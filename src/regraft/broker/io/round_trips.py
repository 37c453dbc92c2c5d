"""Round trips and throughput as the kernel measures them: of connections to neighbours, and of short probes.

Linux keeps both for every TCP connection and tells them with `TCP_INFO` (`struct tcp_info` in linux/tcp.h),
so no message of the protocol is needed, and a busy event loop makes no round trip longer. A probe is a
connection to a broker that is closed before anything is said. What fails measures nothing, and disturbs
nobody: it is tried again when the broker's turn comes.
"""

import asyncio
import contextlib
import ipaddress
import logging
import socket
import struct
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from regraft.broker.io.configuration import Address
from regraft.broker.io.connection import Connection
from regraft.protocol.messages import LinkHello
from regraft.wire.streams import dial

log = logging.getLogger("regraft.broker")
PROBE_SECONDS = 2.0
_LOOK_UPS = ThreadPoolExecutor(1, "probes")
INFO_BYTES = 256
"""More than any kernel answers; a kernel that knows fewer fields answers fewer bytes."""
_FLAGS, _LIMITED = 7, 1
"""Where `tcpi_delivery_rate_app_limited` is, the lowest bit of its byte."""
_MIN_RTT = struct.Struct("=I"), 148
"""How `tcpi_min_rtt` is stored, and where; in microseconds."""
_DELIVERY_RATE = struct.Struct("=Q"), 160
"""How `tcpi_delivery_rate` is stored, and where; in bytes a second."""
_NO_ROUND_TRIP = (0, 2**32 - 1)
"""What `tcpi_min_rtt` is before the first round trip."""


class TcpFacts(NamedTuple):
    """What the kernel has measured of one connection; None: it does not know."""

    round_trip: int | None = None
    """Microseconds."""
    bytes_per_second: int | None = None
    """The rate at which the peer has lately taken what the link could carry. A sender that had too little to
    send would only measure itself, so the kernel marks what it measured then, and it counts as not known."""


def tcp_facts(transport: asyncio.BaseTransport | None) -> TcpFacts:
    """The facts of a transport's connection, also of one that speaks TLS; none if it is closed."""
    connected = transport.get_extra_info("socket") if transport is not None else None
    if connected is None:
        return TcpFacts()
    try:
        return read_facts(connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES))
    except OSError:  # lost a moment ago, or no TCP connection
        return TcpFacts()


def read_facts(info: bytes) -> TcpFacts:
    """From what `TCP_INFO` answers. What an older kernel does not answer is not known."""
    round_trip, rate = _number(info, *_MIN_RTT), _number(info, *_DELIVERY_RATE)
    limited = len(info) <= _FLAGS or info[_FLAGS] & _LIMITED
    return TcpFacts(None if round_trip in _NO_ROUND_TRIP else round_trip, None if limited else rate or None)


def _number(info: bytes, kind: struct.Struct, at: int) -> int | None:
    return int(kind.unpack_from(info, at)[0]) if len(info) >= at + kind.size else None


class MeasuredLinks(NamedTuple):
    """By broker: neighbours, and in `round_trips` also others that were probed."""

    round_trips: dict[str, float]
    delivery_rates: dict[str, float]


class Probing:
    """Measures one broker's connections, and probes all others in turn: a few for each health record.

    Neighbours are probed as well. The kernel's least round trip of an idle connection would stay what it was
    when the way has become longer, because an acknowledgement of a single heartbeat may have been delayed by
    the peer and does not count.
    """

    def __init__(
        self, broker: str, addresses: Mapping[str, Address], candidates: dict[str, Address], budget: int
    ) -> None:
        """`addresses`: of possible neighbours; `candidates`: of brokers that are known for probes alone.
        Both may be filled in at any time."""
        self._broker = broker
        self._addresses = addresses
        self._candidates = candidates
        self._budget = budget
        self._known: dict[str, float] = {}
        """What the last probe of each broker has found."""
        self._fresh: set[str] = set()
        """Brokers whose probe has ended since the last call of `take`."""
        self._latest = ""
        """The broker that was probed last."""
        self._probes: set[asyncio.Task[None]] = set()

    def take(self, connections: Iterable[Connection]) -> MeasuredLinks:
        """What is known now of the links, with what probes have found since the last call."""
        measured = MeasuredLinks({broker: self._known[broker] for broker in self._fresh}, {})
        self._fresh.clear()
        for connection in connections:
            if not isinstance(hello := connection.hello, LinkHello):
                continue
            facts = tcp_facts(connection.transport)
            round_trip = self._known.get(hello.broker, facts.round_trip)
            if round_trip is not None:
                measured.round_trips[hello.broker] = round_trip
            if facts.bytes_per_second is not None:
                measured.delivery_rates[hello.broker] = facts.bytes_per_second
        return measured

    def probe(self) -> None:
        """Begin to probe the next few brokers."""
        others = sorted({*self._addresses, *self._candidates} - {self._broker})
        first = bisect_right(others, self._latest)
        free = max(0, self._budget - len(self._probes))
        for broker in [*others[first:], *others[:first]][:free]:
            self._latest = broker
            # A candidate that does not answer is forgotten, a former neighbour that has moved is not.
            address = self._candidates.get(broker) or self._addresses[broker]
            task = asyncio.create_task(self._probe(broker, address))
            self._probes.add(task)
            task.add_done_callback(self._probes.discard)

    async def stop(self) -> None:
        probes = list(self._probes)
        for task in probes:
            task.cancel()
        await asyncio.gather(*probes, return_exceptions=True)

    async def _probe(self, broker: str, address: Address) -> None:
        round_trip = None
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                round_trip = await _handshake(address)
        except Exception as fault:  # also from odd names of hosts
            log.debug("%s does not answer a probe of %s: %r", broker, self._broker, fault)
            # It may have left: the broker's agent tells the address again if it has not.
            if self._candidates.get(broker) == address:
                del self._candidates[broker]
        if round_trip is not None:
            self._known[broker] = round_trip
            self._fresh.add(broker)
        else:
            self._known.pop(broker, None)
            self._fresh.discard(broker)


class _Silent(asyncio.Protocol):
    """The end of a probe. Nothing is said, so it does not matter whether the peer expects TLS."""

    transport: asyncio.BaseTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport


async def _handshake(address: Address) -> int | None:
    """The round trip of a connection's first packets."""
    transport = (await dial(_Silent, await _resolved(address))).transport
    try:
        return tcp_facts(transport).round_trip
    finally:
        transport.close()


async def _resolved(address: Address) -> Address:
    """With a number instead of a name. Names are looked up in a thread of their own: while no name server
    answers, lookups would fill the threads that also write journals."""
    host, port = address
    with contextlib.suppress(ValueError):
        return str(ipaddress.ip_address(host)), port
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_LOOK_UPS, look_up)
    return str(found[0][4][0]), port
