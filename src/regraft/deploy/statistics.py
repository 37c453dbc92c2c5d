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


class Statistics(Record, frozen=True, kw_only=True):
    queue_bytes: int = 0
    """Of publications that are held until they are confirmed."""
    sessions: int = 0
    clients: int = 0
    publications_per_second: float = 0.0
    bytes_in_per_second: float = 0.0
    bytes_out_per_second: float = 0.0
    links: dict[str, str] = msgspec.field(default_factory=dict)
    """Neighbour → up or down."""


def statistics(now: BrokerState, before: BrokerState | None, seconds: float) -> Statistics:
    """Rates since the state before, if that was of the same life."""

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
    """Write the broker's figures whenever they have changed; nobody waits for them."""
    loop = asyncio.get_running_loop()
    before: BrokerState | None = None
    at, written = loop.time(), Statistics()
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        state = await driver.state()
        if isinstance(state, Unreachable):
            continue
        now = loop.time()
        figures = statistics(state, before, now - at)
        before, at = state, now
        if figures != written:
            with contextlib.suppress(CoordError):
                await _write(coord, path, figures)
                written = figures


async def _write(coord: Coord, path: str, figures: Statistics) -> None:
    try:
        await coord.set(path, encode(figures), -1)
    except Conflict:
        await coord.create(path, encode(figures))
