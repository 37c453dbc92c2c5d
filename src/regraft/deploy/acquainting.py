"""Tells a broker where the brokers are that are not its neighbours, so that it can measure the way to them.

On failure: nothing is measured to a broker that could not be read; the next round comes to it again. A few
brokers are read at a time, in turn and without watching them, so what an agent costs ZooKeeper does not grow
with the number of brokers.
"""

import asyncio
import logging
from typing import NoReturn

from regraft.coord import Coord, CoordError, Corrupt, Layout
from regraft.coord.typed import read
from regraft.deploy.driver import Address, Driver, RefusedByBroker
from regraft.deploy.records import Current, Status

log = logging.getLogger("regraft.deploy")
EVERY_SECONDS = 5.0
AT_ONCE = 4
RARELY_SECONDS = 60.0
"""A broker that measures nothing is asked again after this time: it may have been started anew."""


async def keep_acquainted(coord: Coord, layout: Layout, broker: str, driver: Driver) -> NoReturn:
    """A round begins with the topology of that moment, and ends when all of its brokers have been read."""
    left: list[str] = []
    refused = False
    while True:
        await asyncio.sleep(RARELY_SECONDS if refused else EVERY_SECONDS)
        try:
            left = left or await _others(coord, layout, broker)
            told, left = left[:AT_ONCE], left[AT_ONCE:]
            found = {id: await _where(coord, layout, id) for id in told}
        except CoordError as fault:
            log.debug("agent of %s: others cannot be read: %s", broker, fault)
            continue
        where = {id: address for id, address in found.items() if address is not None}
        refused = bool(where) and isinstance(await driver.acquaint(where), RefusedByBroker)


async def _where(coord: Coord, layout: Layout, id: str) -> Address | None:
    """None as well if the node is damaged: the agent of that broker says so."""
    try:
        stored = await read(coord, layout.status(id), Status)
    except Corrupt:
        return None
    return (stored.value.host, stored.value.port) if stored is not None and stored.value.port else None


async def _others(coord: Coord, layout: Layout, broker: str) -> list[str]:
    stored = await read(coord, layout.topology, Current)
    return [id for id in stored.value.brokers if id != broker] if stored is not None else []
