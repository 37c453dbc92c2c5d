"""A whole overlay of real processes that heals: ZooKeeper, destination databases, nodes."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from regraft.broker.io.configuration import Configuration as BrokerConfiguration
from regraft.coord import Configuration, Coord, Ensemble, Layout
from regraft.coord.typed import read
from regraft.deploy.journal import topology_of
from regraft.deploy.records import Current
from regraft.heal.database.client import DatabaseClient
from regraft.heal.database.records import Adaptation
from regraft.model import Topology
from regraft.node.healing.processes import (
    DatabaseProcesses,
    NodeProcesses,
    put_paper_rules,
    sqlite_stores,
    write_topology,
)
from regraft.node.healing.settings import NodeSettings, reaching


@dataclass
class HealingOverlay:
    coord: Coord
    layout: Layout
    ensemble: Ensemble
    databases: DatabaseProcesses
    nodes: NodeProcesses

    async def topology(self) -> Topology:
        stored = await read(self.coord, self.layout.topology, Current)
        assert stored is not None
        return topology_of(stored.value)

    async def without(self, *ids: str, seconds: float = 30.0) -> Topology:
        """Waits until these brokers have left the overlay."""
        deadline = time.monotonic() + seconds
        while set(ids) & set((topology := await self.topology()).ids):
            assert time.monotonic() < deadline, f"{ids} are still in {topology.links}"
            await asyncio.sleep(0.05)
        return topology

    async def adaptations(self, most: int = 100) -> tuple[Adaptation, ...]:
        """The newest first."""
        client = await DatabaseClient.found(self.coord, self.layout)
        try:
            return await client.adaptations(most)
        finally:
            await client.close()


@asynccontextmanager
async def healing_overlay(
    topology: Topology,
    folder: Path,
    change: Callable[[NodeSettings], NodeSettings] = lambda settings: settings,
    *,
    servers: int = 1,
    databases: int = 2,
    session_timeout: float = 10.0,
) -> AsyncIterator[HealingOverlay]:
    """`change` may alter the settings of each node."""
    layout = Layout()
    async with Ensemble(servers) as ensemble:
        configuration = Configuration(ensemble.hosts, session_timeout=session_timeout)

        def configure(id: str) -> NodeSettings:
            settings = NodeSettings(
                BrokerConfiguration(id), reaching(configuration, layout), token="of all managers"
            )
            return change(settings)

        async with (
            await Coord.open(configuration) as coord,
            DatabaseProcesses(sqlite_stores(folder, databases), configuration, layout) as stores,
        ):
            await write_topology(coord, layout, topology)
            await put_paper_rules(coord, layout)
            async with NodeProcesses(topology.ids, configure) as nodes:
                yield HealingOverlay(coord, layout, ensemble, stores, nodes)
