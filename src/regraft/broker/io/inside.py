"""What the shell reports of a core, of a tree or a mesh alike."""

from typing import NamedTuple

from regraft.broker.core import Broker
from regraft.broker.core.mesh import MeshBroker

Core = Broker | MeshBroker


class Inside(NamedTuple):
    links: dict[str, str]
    """Neighbour → up or down."""
    sessions: int
    clients: int
    """Sessions that are connected."""
    subscriptions: int
    advertisements: int
    held_bytes: int
    ready: bool


def inside(core: Core) -> Inside:
    """Read when somebody asks."""
    if isinstance(core, Broker):
        links, sessions = dict(core.forwarding.links), core.forwarding.sessions
        tables = core.tables
        counts = (len(tables.subscriptions), len(tables.advertisements))
        held, ready = core.forwarding.store.bytes, tables.ready
    else:
        links, sessions = dict(core.interest.links), core.delivery.sessions
        counts = (
            sum(len(each.subscriptions) for each in sessions.values()),
            sum(len(each.advertisements) for each in sessions.values()),
        )
        held, ready = held_bytes(core), all(topic.ready for topic in core.interest.own.values())
    up = {name: "down" if link.connection is None else "up" for name, link in links.items()}
    connected = sum(each.connection is not None for each in sessions.values())
    return Inside(up, len(sessions), connected, *counts, held, ready)


def held_bytes(core: Core) -> int:
    return core.forwarding.store.bytes if isinstance(core, Broker) else core.flooding.streams.bytes
