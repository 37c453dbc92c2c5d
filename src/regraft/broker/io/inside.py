"""What the shell reports of a core, of a tree or a mesh alike."""

from collections.abc import Mapping
from typing import NamedTuple

from regraft.broker.core import Broker
from regraft.broker.core.mesh import MeshBroker
from regraft.broker.core.peers import Link

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
        sessions = core.forwarding.sessions
        tables = core.tables
        counts = (len(tables.subscriptions), len(tables.advertisements))
        held, ready = core.forwarding.store.bytes, tables.ready
    else:
        sessions = core.delivery.sessions
        counts = (
            sum(len(each.subscriptions) for each in sessions.values()),
            sum(len(each.advertisements) for each in sessions.values()),
        )
        held, ready = held_bytes(core), all(topic.ready for topic in core.interest.own.values())
    links = links_of(core)
    up = {name: "down" if link.connection is None else "up" for name, link in links.items()}
    connected = sum(each.connection is not None for each in sessions.values())
    return Inside(up, len(sessions), connected, *counts, held, ready)


def links_of(core: Core) -> Mapping[str, Link]:
    return core.forwarding.links if isinstance(core, Broker) else core.interest.links


def held_bytes(core: Core) -> int:
    return core.forwarding.store.bytes if isinstance(core, Broker) else core.flooding.streams.bytes
