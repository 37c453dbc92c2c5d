"""A broker's figures in ZooKeeper (IPITT Figure 4): what it holds, how much passes, which links are up."""

import asyncio
import contextlib
from typing import NoReturn

import msgspec

from regraft.broker.io.control_messages import BrokerState
from regraft.coord import Conflict, Coord, CoordError, Record
from regraft.coord.typed import encode
from regraft.deploy.driver import Driver, Unreachable

EVERY_SECONDS = 1.0
RARELY_SECONDS = 10.0
"""How often figures are written if only rates have changed: each write costs every server one."""
MUCH_BYTES = 64 * 1024


class Statistics(Record, frozen=True, kw_only=True):
    queue_bytes: int = 0
    """The size of the publications that are held until they are confirmed."""
    sessions: int = 0
    clients: int = 0
    publications_per_second: float = 0.0
    bytes_in_per_second: float = 0.0
    bytes_out_per_second: float = 0.0
    links: dict[str, str] = msgspec.field(default_factory=dict)
    """Neighbour → up or down."""


def statistics(now: BrokerState, before: BrokerState | None, seconds: float) -> Statistics:
    """Rates since the state before, unless the broker has restarted since."""

    def rate(count: int, count_before: int) -> float:
        return round(max(0, count - count_before) / seconds, 1) if seconds > 0 else 0.0

    past = before if before is not None and before.life == now.life else now
    return Statistics(
        queue_bytes=now.held_bytes,
        sessions=now.sessions,
        clients=now.clients,
        publications_per_second=rate(now.publications, past.publications),
        bytes_in_per_second=rate(now.bytes_in, past.bytes_in),
        bytes_out_per_second=rate(now.bytes_out, past.bytes_out),
        links=now.links,
    )


async def keep_statistics(coord: Coord, path: str, driver: Driver) -> NoReturn:
    """Write the broker's figures when they have changed by much, and otherwise rarely."""
    loop = asyncio.get_running_loop()
    before: BrokerState | None = None
    at = loop.time()
    written, written_at = Statistics(), at - RARELY_SECONDS
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        state = await driver.state()
        if isinstance(state, Unreachable):
            continue
        now = loop.time()
        figures = statistics(state, before, now - at)
        before, at = state, now
        due = figures != written and now - written_at >= RARELY_SECONDS
        if due or differ(figures, written):
            with contextlib.suppress(CoordError):
                await _write(coord, path, figures)
                written, written_at = figures, now


def differ(figures: Statistics, before: Statistics) -> bool:
    """Whether the change matters to a reader: links, clients, or a much longer or shorter queue."""
    if (figures.links, figures.clients, figures.sessions) != (before.links, before.clients, before.sessions):
        return True
    change = abs(figures.queue_bytes - before.queue_bytes)
    return change > max(MUCH_BYTES, before.queue_bytes // 4)


async def _write(coord: Coord, path: str, figures: Statistics) -> None:
    try:
        await coord.set(path, encode(figures), -1)
    except Conflict:
        await coord.create(path, encode(figures))
