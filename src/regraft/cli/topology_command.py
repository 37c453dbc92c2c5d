"""`regraft topology`: the current topology of the running overlay, from the deployer's record."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regraft.cli.help_headings import Command
from regraft.cli.running_directory import WHICH_ZOOKEEPER, connected
from regraft.cli.zookeeper_options import Zookeeper, zookeeper_options
from regraft.model import BadInput, Broker, Topology

if TYPE_CHECKING:
    from regraft.coord import Coord, Layout
    from regraft.deploy.records import Current

FILE = click.Path(path_type=Path)


@click.command(cls=Command)
@zookeeper_options
@WHICH_ZOOKEEPER
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write it there: JSON, GraphML or GML.")
@click.option("--json", "as_json", is_flag=True, help="Print it in the format of topology files.")
def topology(zookeeper: Zookeeper, directory: Path, output: Path | None, as_json: bool) -> None:
    """Print the topology that the running overlay has now.

    \b
    Examples:
      regraft topology
      regraft topology -o now.json && regraft plan now.json better.json -o plan.json
    """
    from regraft.model.topology_files import write_topology
    from regraft.model.topology_json import to_json

    current, live, agents = connected(zookeeper, directory, _read)
    if output is not None:
        write_topology(live, output)
    if as_json:
        click.echo(to_json(live), nl=False)
        return
    _show(live, agents)
    click.echo(f"{live.kind} of {len(live.brokers)} brokers, epoch {current.epoch}, {live.sha256[:12]}")
    if output is not None:
        click.echo(f"topology written to {output}", err=True)


async def _read(coord: "Coord", layout: "Layout") -> "tuple[Current, Topology, frozenset[str]]":
    """The record, the topology with the brokers' addresses, and the brokers that have a living agent."""
    from regraft.coord.typed import read
    from regraft.deploy.journal import topology_of
    from regraft.deploy.records import Current, Status

    stored = await read(coord, layout.topology, Current)
    if stored is None:
        raise BadInput(layout.topology, "there is no topology: no overlay has been started here")
    shape = topology_of(stored.value)
    brokers: list[Broker] = []
    agents = set[str]()
    for id in shape.ids:
        status = await read(coord, layout.status(id), Status)
        known = status is not None and status.value.port > 0
        brokers.append(Broker(id, status.value.host, status.value.port) if status and known else Broker(id))
        if await coord.get(layout.alive(id)) is not None:
            agents.add(id)
    return stored.value, Topology(tuple(brokers), shape.links, shape.kind), frozenset(agents)


def _show(live: Topology, agents: frozenset[str]) -> None:
    from rich.table import Table

    from regraft.cli.printing import console, shown

    table = Table("broker", "address", "agent", "neighbours", box=None, pad_edge=False)
    for broker in live.brokers:
        near = " ".join(map(shown, sorted(live.neighbours[broker.id])))
        address = f"{broker.host}:{broker.port}" if broker.port else "-"
        table.add_row(shown(broker.id), address, "runs" if broker.id in agents else "none", near)
    console().print(table)
