"""The running overlay of the demo: ZooKeeper, destination databases, rules, nodes, clients.

However the block of `staged` ends, no process is left running.
"""

import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from regraft.broker.io.configuration import Configuration as BrokerConfiguration
from regraft.broker.io.configuration import Telemetry
from regraft.coord import Configuration as ZookeeperConfiguration
from regraft.coord import Coord, Ensemble, Layout
from regraft.demo.children import run_clients
from regraft.demo.demands import Workload
from regraft.demo.forking import Forked, ForkServer
from regraft.demo.network import latencies, reachable
from regraft.demo.nodes import Nodes
from regraft.heal.detection import DetectionTiming
from regraft.model import RegraftError, Topology
from regraft.model.topology_files import write_topology as write_file
from regraft.node.healing.processes import DatabaseProcesses, put_paper_rules, sqlite_stores, write_topology
from regraft.node.healing.settings import NodeSettings, reaching
from regraft.serve.configuration import ServeConfiguration
from regraft.serve.configuration_file import configured

Say = Callable[[str], None]
TIMING = DetectionTiming(timer=0.25, adaptive=True, busy=0.25, idle=1.0)
"""Many brokers share few processors here, so slow brokers are not suspected at once; dead ones still are."""


@dataclass
class Stage:
    """Everything that runs. `samples`: (sent, ms) of every delivery; `published`: (at, how many since)."""

    coord: Coord
    layout: Layout
    nodes: Nodes
    configuration: ServeConfiguration
    clients: Forked
    begin: Callable[[], Awaitable[Forked]]
    """Starts new clients."""
    ensemble: Ensemble
    databases: DatabaseProcesses
    samples: list[tuple[float, float]] = field(default_factory=list)
    published: list[tuple[float, int]] = field(default_factory=list)
    so_far: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] | None = None

    async def follow(self) -> None:
        """Take in what the clients report, until they have counted."""
        while self.counts is None:
            if not (line := await self.clients.lines.readline()):
                raise RegraftError("the clients have ended: see clients.log")
            said: dict[str, Any] = json.loads(line)
            if "samples" in said:
                self.samples += [(sent, ms) for sent, ms in said["samples"]]
                self.published.append((said["at"], said["published"]))
                self.so_far = said["so_far"]
            self.counts = said.get("counts")

    def finish(self) -> None:
        """Ask the clients to stop publishing and to count; `follow` ends when they have."""
        self.clients.writer.write(b'{"finish": true}\n')

    def set_rates(self, rates: Mapping[str, float]) -> None:
        """Change how often cities publish (events a second)."""
        self.clients.writer.write(json.dumps({"rates": rates}).encode() + b"\n")

    async def publish_again(self) -> None:
        """Run new clients, whose events are not counted, until this is cancelled."""
        await self.clients.stop()
        self.clients = await self.begin()
        while await self.clients.lines.readline():
            pass


@asynccontextmanager
async def staged(
    net: Topology,
    tree: Topology,
    work: Workload,
    settings: dict[str, Any],
    folder: Path,
    say: Say,
    ready: Awaitable[None],
) -> AsyncIterator[Stage]:
    """Everything runs inside the block. `settings`: of the loop, as sections of a configuration file. The
    clients start when `ready` is done."""
    server, layout = ForkServer(), Layout()
    await server.warm()
    write_file(reachable(net), folder / "network.json")
    async with Ensemble(1) as ensemble:
        say("ZooKeeper runs")
        zookeeper = ZookeeperConfiguration(ensemble.hosts)
        async with (
            await Coord.open(zookeeper) as coord,
            DatabaseProcesses(sqlite_stores(folder, 2), zookeeper, layout) as databases,
        ):
            await write_topology(coord, layout, tree)
            await put_paper_rules(coord, layout)
            token = secrets.token_urlsafe(16)
            nodes = {id: _node(id, zookeeper, layout, folder, token) for id in tree.ids}
            async with Nodes(nodes, latencies(net), server, folder) as running:
                say(f"{len(nodes)} brokers run, each a process of its own, with the latencies of the lines")
                await ready
                begin = partial(_clients, server, folder, running, work)
                configuration = configured(with_places(settings, ensemble.hosts), folder, {})
                clients = await begin()
                stage = Stage(coord, layout, running, configuration, clients, begin, ensemble, databases)
                try:
                    say(_traffic(work))
                    yield stage
                finally:
                    await stage.clients.stop()


def _node(
    id: str, zookeeper: ZookeeperConfiguration, layout: Layout, folder: Path, token: str
) -> NodeSettings:
    # A change of the traffic should be measured soon, so segments are short.
    telemetry = Telemetry(folder / "telemetry", segment_seconds=1.0, health_seconds=2.0)
    broker = BrokerConfiguration(id, telemetry=telemetry)
    return NodeSettings(
        broker,
        reaching(zookeeper, layout),
        token=token,
        timing=TIMING,
        at_once=True,
    )


async def _clients(server: ForkServer, folder: Path, nodes: Nodes, work: Workload) -> Forked:
    process = await server.start(run_clients, folder / "clients.log", dict(nodes.addresses), work)
    if not await process.lines.readline():
        raise RegraftError(f"the clients do not start: see {folder / 'clients.log'}")
    return process


def _traffic(work: Workload) -> str:
    return (
        f"{len(work.rates)} cities publish {work.rate:.0f} events a second, {len(work.wants)} subscribe: "
        "demands of COST 266"
    )


def with_places(settings: dict[str, Any], hosts: str) -> dict[str, Any]:
    """The settings with where ZooKeeper, telemetry and state are, relative to the demo's folder."""
    return {
        **settings,
        "overlay": {"name": "demo", "network": "network.json"},
        "zookeeper": {"hosts": hosts},
        "telemetry": {"folder": "telemetry", **settings.get("telemetry", {})},
        "state": {"folder": "loop", **settings.get("state", {})},
    }
