"""What `regraft up` needs so that links can be changed: ZooKeeper, the topology in it, agents."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from regraft.cli.zookeeper_options import Zookeeper
from regraft.model import BadInput, RegraftError, Topology

if TYPE_CHECKING:
    from regraft.coord import Configuration, Coord, Layout

AGENTS_SECONDS = 30.0


class StartingTopology(NamedTuple):
    """What the brokers start with."""

    topology: Topology
    """Also contains the brokers without links."""
    remembered: bool = False
    """The overlay has run before and its links may have changed: a broker believes its own journal."""
    note: str = ""
    """For the user: why the links are not those of the file."""


@asynccontextmanager
async def coordination(zookeeper: Zookeeper, state: Path | None) -> "AsyncIterator[Coord]":
    """A connection to the given ensemble, or to a ZooKeeper server that we start."""
    from regraft.coord import Configuration, Ensemble

    if zookeeper.configuration is not None:
        async with _connected(zookeeper.configuration) as coord:
            yield coord
        return
    _needs_java()
    async with (
        Ensemble(directory=state / "zookeeper" if state is not None else None) as ensemble,
        _connected(Configuration(ensemble.hosts)) as coord,
    ):
        yield coord


@asynccontextmanager
async def _connected(configuration: "Configuration") -> "AsyncIterator[Coord]":
    from regraft.coord import Coord, CoordUnreachable

    try:
        coord = await Coord.open(configuration)
    except CoordUnreachable as fault:
        raise BadInput("", str(fault)) from None
    async with coord:
        yield coord


def _needs_java() -> None:
    from regraft.coord.server_files import java

    try:
        java()
    except RegraftError as fault:
        raise RegraftError(f"{fault}; --no-agents does without, but then links cannot be changed") from None


async def starting_topology(
    coord: "Coord", layout: "Layout", file: Topology, spare: Sequence[str]
) -> StartingTopology:
    """The topology that the overlay had when it last ran here; at the first start, that of the file."""
    from regraft.coord import Corrupt
    from regraft.coord.typed import read
    from regraft.deploy.records import Current

    known = set(file.ids)
    ids = [*file.ids, *(id for id in dict.fromkeys(spare) if id not in known)]
    try:
        stored = await read(coord, layout.topology, Current)
    except Corrupt as fault:
        raise BadInput("", str(fault)) from None
    if stored is None:
        return StartingTopology(_arranged(file.by_ends, ids))
    now = stored.value
    if now.kind != file.kind:
        raise BadInput(layout.topology, f"holds a {now.kind}, and the topology to start is a {file.kind}")
    ids += sorted(set(now.brokers) - set(ids))
    if sorted(now.links) == sorted(file.by_ends) and set(now.brokers) == known:
        return StartingTopology(_arranged(file.by_ends, ids), remembered=True)
    note = f"the links are those of {layout.topology}, epoch {now.epoch}, not of the file"
    return StartingTopology(_arranged(now.links, ids), remembered=True, note=note)


def _arranged(
    links: "Sequence[tuple[str, str]] | Mapping[tuple[str, str], object]", ids: list[str]
) -> Topology:
    # Brokers that wait to be appended have no links, which no tree allows.
    return Topology.of(links, ids, "mesh")


async def write_current(coord: "Coord", layout: "Layout", topology: Topology) -> None:
    """Write the first topology of this overlay; does nothing if there is one."""
    from regraft.coord import Exists
    from regraft.coord.typed import write
    from regraft.deploy.records import Current

    links = sorted(topology.by_ends)
    current = Current(epoch=1, kind=topology.kind, brokers=sorted(topology.ids), links=links)
    try:
        await write(coord, layout.topology, current, None)
    except Exists:
        return


async def wait_for_agents(coord: "Coord", layout: "Layout", addresses: Mapping[str, tuple[str, int]]) -> None:
    """Waits until the agent of each broker has reported its address; gives up, and warns, after a while."""
    try:
        async with asyncio.timeout(AGENTS_SECONDS):
            await _reported(coord, layout, addresses)
    except TimeoutError:
        click.echo(f"regraft: not every agent has reported within {AGENTS_SECONDS:g} s", err=True)


async def _reported(coord: "Coord", layout: "Layout", addresses: Mapping[str, tuple[str, int]]) -> None:
    from regraft.coord import Corrupt
    from regraft.coord.typed import watch
    from regraft.deploy.records import Status

    for id, address in addresses.items():
        async for stored in watch(coord, layout.status(id), Status):
            if isinstance(stored, Corrupt):
                raise BadInput("", str(stored))
            if stored is not None and (stored.value.host, stored.value.port) == tuple(address):
                break
        async for node in coord.watch(layout.alive(id)):
            if node is not None:
                break
