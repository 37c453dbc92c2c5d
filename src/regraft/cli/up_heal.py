"""`regraft up --heal`: destination databases and nodes instead of brokers and agents.

A node that ends is started again.
"""

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.grouped import advanced
from regraft.cli.up_options import Configure, make_folder
from regraft.model import BadInput, Topology

if TYPE_CHECKING:
    from regraft.app.healing.processes import NodeProcesses
    from regraft.app.healing.settings import NodeSettings
    from regraft.coord import Coord

AGAIN_SECONDS = 1.0
"""A node that has ended rests for so long."""


def heal_options(command: Any) -> Any:
    """What is for --heal alone."""
    for option in reversed(
        [
            click.option(
                "--heal",
                is_flag=True,
                help="Heal by rules: nodes and destination databases (a tree only).",
            ),
            click.option(
                "--database",
                "databases",
                multiple=True,
                metavar="URL",
                help="With --heal: sqlite:PATH or postgresql://…, several times.  [default: two of SQLite]",
                **advanced("healing"),
            ),
            click.option(
                "--timer-ms",
                type=click.FloatRange(1.0),
                default=30.0,
                show_default=True,
                metavar="MS",
                help="With --heal: who does not answer for so long is suspected.",
                **advanced("healing"),
            ),
            click.option(
                "--adaptive",
                is_flag=True,
                help="With --heal: a longer timer for who is slow.",
                **advanced("healing"),
            ),
            click.option(
                "--removals",
                type=click.IntRange(0),
                default=8,
                show_default=True,
                metavar="N",
                help="With --heal: brokers that may be removed within a minute.",
                **advanced("healing"),
            ),
            click.option(
                "--demand",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="With --heal: traffic classes; a dead broker's neighbours are joined as is cheapest.",
                **advanced("healing"),
            ),
        ]
    ):
        command = option(command)
    return command


def check_options(file: Topology, options: Mapping[str, Any]) -> None:
    if not options["heal"]:
        if options["databases"] or options["demand"] or options["adaptive"]:
            raise click.UsageError("--database, --demand and --adaptive are for --heal")
        return
    if file.kind != "tree":
        raise BadInput("--heal", "is for trees: in a mesh, fewer than k failures need no repair")
    if options["no_agents"] or options["spare"]:
        raise click.UsageError("--heal has agents in its nodes, and adds brokers by itself")


class Healing:
    """Nodes that run, with the interface of the other overlays."""

    def __init__(self, topology: Topology, nodes: "NodeProcesses") -> None:
        self.topology = topology
        self.nodes = nodes

    @property
    def addresses(self) -> dict[str, tuple[str, int]]:
        return self.nodes.addresses

    @property
    def metrics(self) -> dict[str, tuple[str, int] | None]:
        return self.nodes.metrics

    @property
    def running(self) -> Any:
        return self.nodes.running

    async def ended(self, id: str) -> str:
        """A node that ends is started again; this returns when that can not be."""
        while True:
            how = await self.nodes.ended(id)
            click.echo(f"node {id} has ended ({how}), and is started again", err=True)
            await asyncio.sleep(AGAIN_SECONDS)
            await self.nodes.restart(id)


async def start_healing(
    running: AsyncExitStack,
    topology: Topology,
    coord: "Coord",
    configure: Configure,
    options: Mapping[str, Any],
) -> Healing:
    from regraft.app.healing.processes import (
        DatabaseProcesses,
        NodeProcesses,
        put_seed_rules,
        sqlite_stores,
    )

    layout = options["zookeeper"].layout
    stores = list(options["databases"])
    if not stores:
        folder = _folder(running, options["state"])
        stores = sqlite_stores(folder, 2)
    await running.enter_async_context(DatabaseProcesses(stores, coord.configuration, layout))
    await put_seed_rules(coord, layout)
    token = secrets.token_urlsafe(16)
    nodes = NodeProcesses(topology.ids, lambda id: _settings(id, coord, configure, token, options))
    await running.enter_async_context(nodes)
    return Healing(topology, nodes)


def _folder(running: AsyncExitStack, state: Path | None) -> Path:
    if state is None:
        from regraft.coord.temporary import TemporaryFolder

        return running.enter_context(TemporaryFolder("databases"))
    make_folder(state / "databases")
    return state / "databases"


def _settings(
    id: str, coord: "Coord", configure: Configure, token: str, options: Mapping[str, Any]
) -> "NodeSettings":
    from regraft.app.healing.settings import NodeSettings, reaching
    from regraft.heal.detection import Timing
    from regraft.heal.limits import RemovalLimits

    timer = options["timer_ms"] / 1000
    return NodeSettings(
        configure(id, ()),
        reaching(coord.configuration, options["zookeeper"].layout),
        token=token,
        timing=Timing(timer=timer, adaptive=options["adaptive"], longest=max(2.0, timer)),
        removals=RemovalLimits(removals=options["removals"]),
        traffic=options["demand"],
    )
