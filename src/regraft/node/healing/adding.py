"""`addBrokerRequest` raised by hand: at a node that runs, since the broker itself does not run yet.

The node judges it by the rules; the leader has the broker started, if it does not run, and joins it
(`heal.core.acting`). `add_broker` waits until the broker is in the overlay, and says why if it does not get
there.
"""

import asyncio

from regraft.coord import Coord, Layout
from regraft.coord.typed import read
from regraft.deploy.journal import topology_of
from regraft.deploy.records import Current
from regraft.heal.database.client import DatabaseClient
from regraft.heal.owner import Owner
from regraft.heal.ownership import Places
from regraft.heal.raised import raise_event
from regraft.heal.repair import inserted
from regraft.model import BadInput, Infeasible, RegraftError, Topology
from regraft.model.facts import Event
from regraft.model.intents import Add
from regraft.model.topology import Broker

JOIN_SECONDS = 90.0
PAUSE = 0.2
RECENT = 20


async def add_broker(coord: Coord, layout: Layout, event: Event, judged_within: float) -> None:
    """Waits until it has joined; `BadInput` if it cannot, `RegraftError` with the reason if it has not."""
    topology = await _topology(coord, layout)
    _check(topology, event)
    at = await _living(coord, layout, topology, event)
    client = await DatabaseClient.found(coord, layout)
    try:
        before = {each.id for each in await client.adaptations(RECENT)}
        if not await raise_event(coord, layout, event, judged_within, at):
            raise RegraftError(f"the node of {at} does not answer: does it run, and heal?")
        await _joined(coord, layout, event.broker, client, before)
    finally:
        await client.close()


async def _topology(coord: Coord, layout: Layout) -> Topology:
    stored = await read(coord, layout.topology, Current)
    if stored is None:
        raise BadInput(layout.topology, "there is no topology: no overlay has been started here")
    return topology_of(stored.value)


def _check(topology: Topology, event: Event) -> None:
    if event.broker in topology.neighbours:
        raise BadInput("BROKER", f"{event.broker!r} is in the overlay already")
    for each in event.brokers:
        if each not in topology.neighbours:
            raise BadInput("--to", f"unknown broker id {each!r}")
    found = inserted(topology, Broker(event.broker), event.brokers) if event.brokers else None
    if isinstance(found, Infeasible):
        raise BadInput("--to", found.reason)


async def _living(coord: Coord, layout: Layout, topology: Topology, event: Event) -> str:
    """A node to raise the event at: the first that was named; if none was, any that runs."""
    for id in event.brokers:
        if not await _runs(coord, layout, id):
            raise BadInput("--to", f"the node of {id!r} does not run")
    for id in event.brokers or topology.ids:
        if await _runs(coord, layout, id):
            return id
    raise RegraftError("no node of this overlay runs, and heals")


async def _runs(coord: Coord, layout: Layout, id: str) -> bool:
    """Whether the broker's own node runs, not a deputy."""
    owner = await read(coord, Places(layout, id).owner, Owner)
    return owner is not None and not owner.value.by and await coord.get(layout.alive(id)) is not None


async def _joined(coord: Coord, layout: Layout, id: str, client: DatabaseClient, before: set[str]) -> None:
    deadline = asyncio.get_running_loop().time() + JOIN_SECONDS
    while id not in (await _topology(coord, layout)).neighbours:
        for each in await client.adaptations(RECENT):
            about = any(isinstance(intent, Add) and intent.broker == id for intent in each.intents)
            if each.id not in before and about and each.outcome == "failed":
                raise RegraftError(each.reason)
        if asyncio.get_running_loop().time() > deadline:
            raise RegraftError(f"{id} has not joined within {JOIN_SECONDS:g} s: perhaps no rule has applied")
        await asyncio.sleep(PAUSE)
