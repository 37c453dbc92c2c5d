"""`regraft up TOPOLOGY`: runs the brokers of a topology on this machine until it is stopped."""

import json
import secrets
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from regraft.cli.help_headings import Command
from regraft.cli.lock_files import claimed_directory, claimed_state
from regraft.cli.running_directory import directory_option, document
from regraft.cli.up_heal import HealingOverlay, check_options, heal_options
from regraft.cli.up_options import Configure, broker_options, configuring, make_folder
from regraft.cli.watching import stopped_by_signal
from regraft.cli.zookeeper_options import Zookeeper, zookeeper_options
from regraft.model import Topology

if TYPE_CHECKING:
    from regraft.broker.io.broker_processes import BrokerProcesses
    from regraft.broker.io.configuration import Configuration
    from regraft.broker.io.overlay import Overlay
    from regraft.cli.up_agents import StartingTopology
    from regraft.coord import Coord

    AnyOverlay = BrokerProcesses | Overlay | HealingOverlay

FILE = click.Path(path_type=Path)
MANY = 16
"""From this many brokers in one process on, their agents run in a second process."""


@click.command(cls=Command)
@click.argument("topology", metavar="TOPOLOGY", type=FILE)
@click.option("--processes", is_flag=True, help="One process for each broker, instead of one for all.")
@click.option("--host", help="Listen there.  [default: the broker's host in TOPOLOGY, else 127.0.0.1]")
@directory_option("Written when all brokers run, for `regraft pub` and `sub`; removed at the end.")
@broker_options
@click.option("--no-agents", is_flag=True, help="No agents and no ZooKeeper: links stay as they are.")
@click.option("--spare", multiple=True, metavar="ID", help="A broker without links, for a plan to append.")
@heal_options
@zookeeper_options
@click.option("--json", "as_json", is_flag=True, help="When all run, print one JSON object.")
def up(topology: Path, **options: Any) -> int:
    """Run the brokers of TOPOLOGY, a tree or a mesh, until Ctrl-C.

    Each has an agent, through which `regraft apply` changes links. Agents meet in ZooKeeper: one of our own
    (it needs Java), or --zookeeper. With --heal, brokers are nodes, each in a process of its own: when one
    dies, the others take over its clients and links by rules (`regraft rules`), and it joins again.

    A broker listens on the port that TOPOLOGY gives it; else, with --state, on that of the last start with
    the same state; else on a free one. Two overlays cannot share a --directory file or a --state folder.

    \b
    Examples:
      regraft up tree.json
      regraft up tree.json --processes --state state --telemetry out/telemetry
      regraft up tree.json --heal --state state --telemetry s3://bucket/telemetry
      regraft up tree.json --no-agents
      regraft sub "temp > 20"                 # in another terminal
      regraft pub temp=21                     # in a third one
    """
    from regraft.broker.io.running import run, undisturbed
    from regraft.model.topology_files import read_topology

    file = read_topology(topology)
    check_options(file, options)
    configure = configuring(file.kind, options)
    make_folder(options["directory"].parent)
    with (
        claimed_directory(options["directory"]) as one_was_killed,
        claimed_state(options["state"]) as other_was_killed,
    ):
        was_killed = one_was_killed or other_was_killed
        return run(undisturbed(_serve(file, configure, options, was_killed)))


async def _serve(file: Topology, configure: Configure, options: Mapping[str, Any], was_killed: bool) -> int:
    import asyncio

    stop = stopped_by_signal()
    async with AsyncExitStack() as running:
        # A task of its own, so that Ctrl-C also ends a start that takes long.
        starting = asyncio.create_task(_start(running, file, configure, options, was_killed))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait([starting, stopped], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not starting.done():
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            code = 0
        else:
            code = await _announced(starting.result(), stop, options)
    click.echo("stopped", err=True)
    return code


class _Running(NamedTuple):
    overlay: "AnyOverlay"
    rows: dict[str, dict[str, Any]]
    zookeeper: dict[str, str]


async def _start(
    running: AsyncExitStack,
    file: Topology,
    configure: Configure,
    options: Mapping[str, Any],
    was_killed: bool,
) -> _Running:
    """Starts ZooKeeper, the brokers, and their agents, in this order; with --no-agents, only the brokers."""
    from regraft.cli.up_agents import StartingTopology, coordination, starting_topology, write_current
    from regraft.cli.up_heal import start_healing
    from regraft.cli.up_ports import with_ports

    zookeeper: Zookeeper = options["zookeeper"]
    if options["no_agents"]:
        if options["spare"]:
            raise click.UsageError("--spare is for brokers that a plan appends, which takes agents")
        configure = await with_ports(configure, file.ids, file, options, was_killed=was_killed)
        overlay = _overlay(StartingTopology(file), configure, options)
        await running.enter_async_context(overlay)
        return _Running(overlay, _rows(overlay), {})
    coord = await running.enter_async_context(coordination(zookeeper, options["state"]))
    begin = await starting_topology(coord, zookeeper.layout, file, options["spare"])
    if begin.note:
        click.echo(f"regraft: {begin.note}", err=True)
    configure = await with_ports(configure, begin.topology.ids, file, options, was_killed=was_killed)
    where = {"zookeeper": coord.configuration.hosts, "zookeeper_root": zookeeper.layout.root}
    if options["heal"]:
        await write_current(coord, zookeeper.layout, file)
        healing = await start_healing(running, begin.topology, coord, configure, options)
        return _Running(healing, _rows(healing), where)
    tokens = {id: secrets.token_urlsafe(16) for id in begin.topology.ids}
    overlay = _overlay(begin, configure, options, tokens)
    await running.enter_async_context(overlay)
    await _start_agents(running, overlay, file, coord, tokens, options)
    return _Running(overlay, _rows(overlay), where)


def _overlay(
    begin: "StartingTopology",
    configure: Configure,
    options: Mapping[str, Any],
    tokens: Mapping[str, str] | None = None,
) -> "BrokerProcesses | Overlay":
    import dataclasses

    from regraft.broker.io.broker_processes import BrokerProcesses
    from regraft.broker.io.overlay import Overlay

    def driven(id: str, near: tuple[str, ...]) -> "Configuration":
        made = configure(id, near)
        if tokens is None:
            return made
        return dataclasses.replace(
            made, control=("127.0.0.1", 0), control_token=tokens[id], remembered=begin.remembered
        )

    return (BrokerProcesses if options["processes"] else Overlay)(begin.topology, driven)


async def _start_agents(
    running: AsyncExitStack,
    overlay: "BrokerProcesses | Overlay",
    file: Topology,
    coord: "Coord",
    tokens: Mapping[str, str],
    options: Mapping[str, Any],
) -> None:
    from regraft.cli.up_agents import wait_for_agents, write_current
    from regraft.deploy.agent_process import Driven
    from regraft.deploy.agents import Agents, Place

    layout = options["zookeeper"].layout
    await write_current(coord, layout, file)
    driven = {id: Driven(control, tokens[id]) for id, control in overlay.controls.items() if control}
    place: Place = "each" if options["processes"] else "here" if len(driven) < MANY else "beside"
    agents = Agents(coord.configuration, layout, driven, place=place)
    await running.enter_async_context(agents)
    await wait_for_agents(coord, layout, overlay.addresses)


async def _announced(up: _Running, stop: Any, options: Mapping[str, Any]) -> int:
    """Says where everything is, and waits until it is told to stop."""
    from regraft.model.files import write_text

    directory: Path = options["directory"]
    written = ""

    def write() -> None:
        nonlocal written
        written = document(_rows(up.overlay), up.zookeeper)
        write_text(directory, written)

    write()
    if isinstance(up.overlay, HealingOverlay):
        up.overlay.changed = write
    try:
        _show(up, directory, options["as_json"])
        return await _watch(up.overlay, stop)
    finally:
        if directory.is_file():
            directory.unlink()


async def _watch(overlay: "AnyOverlay", stop: Any) -> int:
    """Waits until told to stop. A broker that ends is reported, and makes the exit code 1."""
    import asyncio

    waiting: dict[asyncio.Future[Any], str] = {
        asyncio.create_task(overlay.ended(id)): id for id in overlay.topology.ids
    }
    stopped = asyncio.create_task(stop.wait())
    failed = getattr(overlay, "failed", None)  # of a healing overlay, which watches added nodes by itself
    faults = set() if failed is None else {failed}
    code = 0
    try:
        while True:
            ended, _ = await asyncio.wait({stopped, *faults, *waiting}, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                return code
            for task in ended:
                how = task.result()
                click.echo(f"broker {waiting.pop(task)} has ended ({how})", err=True)
                code = 1
    finally:
        for task in (stopped, *waiting):
            task.cancel()
        await asyncio.gather(stopped, *waiting, return_exceptions=True)


def _rows(overlay: "AnyOverlay") -> dict[str, dict[str, Any]]:
    import os

    processes = getattr(overlay, "running", {})
    rows: dict[str, dict[str, Any]] = {}
    for id in overlay.topology.ids:
        if id not in overlay.addresses:  # out of service
            continue
        metrics = overlay.metrics[id]
        rows[id] = {
            "address": "{}:{}".format(*overlay.addresses[id]),
            "metrics": "http://{}:{}/metrics".format(*metrics) if metrics else None,
            "pid": processes[id].pid if processes else os.getpid(),
            "neighbours": sorted(overlay.topology.neighbours[id]),
        }
    return rows


def _show(up: _Running, directory: Path, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"directory": str(directory), "brokers": up.rows} | up.zookeeper))
    else:
        from rich.table import Table

        from regraft.cli.printing import console, shown

        table = Table("broker", "address", "process", "neighbours", "metrics", box=None, pad_edge=False)
        for id, row in up.rows.items():
            near = " ".join(map(shown, row["neighbours"]))
            table.add_row(shown(id), row["address"], str(row["pid"]), near, row["metrics"] or "-")
        console().print(table)
        if up.zookeeper:
            click.echo(f"Agents at ZooKeeper {up.zookeeper['zookeeper']}: `regraft apply` changes the links.")
        click.echo(f"{len(up.rows)} brokers run; {directory} says where. Ctrl-C stops them.")
    sys.stdout.flush()
