"""A running service, on a network in memory or on a real ZooKeeper with fake agents.

A test of the service runs on a `Bench` and does not know which of them it is. Windows are made up.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from tests.deploy.fake_agents import FakeAgents, start_overlay

from regraft.coord import Coord, Ensemble, Layout
from regraft.coord.typed import encode, read
from regraft.deploy.records import Current
from regraft.estate.memory.estate import MadeUpWindows, MemoryEstate
from regraft.estate.memory.network import MemoryNetwork
from regraft.estate.opening import opened
from regraft.estate.protocol import Estate
from regraft.model import Topology
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload
from regraft.serve.configuration import ServeConfiguration
from regraft.serve.configuration_file import configured
from regraft.serve.running import running_service
from regraft.serve.service import Service

CHAIN = Topology.of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
BUSY = Workload((TrafficClass(frozenset("ae"), 900.0), TrafficClass(frozenset("bd"), 600.0)))
STAYS = Workload((TrafficClass(frozenset("ab"), 900.0),))


class Controls(Protocol):
    """`silent` brokers never become ready; `prepared` are the changes that brokers were told to make."""

    silent: set[str]
    prepared: list[tuple[str, str]]


class Bench(Protocol):
    def settings(self, folder: Path, **loop: Any) -> ServeConfiguration:
        """Short windows, everything at once."""
        ...

    def network(self, topology: Topology = CHAIN) -> AbstractAsyncContextManager[Controls]:
        """A network that has been started, and whose links can be changed."""
        ...

    def serving(
        self, configuration: ServeConfiguration, windows: MadeUpWindows | None = None
    ) -> AbstractAsyncContextManager[Service]: ...

    async def set_topology(self, topology: Topology, epoch: int) -> None:
        """Change the topology as somebody else would."""
        ...

    async def go_away(self) -> None: ...
    async def come_back(self) -> None: ...


class InMemory:
    def __init__(self) -> None:
        self._network = MemoryNetwork()

    def settings(self, folder: Path, **loop: Any) -> ServeConfiguration:
        return settings("nowhere", "/none", folder, **{"window": "100ms", **loop})

    @asynccontextmanager
    async def network(self, topology: Topology = CHAIN) -> AsyncIterator[Controls]:
        self._network = MemoryNetwork(topology)
        yield self._network

    @asynccontextmanager
    async def serving(
        self, configuration: ServeConfiguration, windows: MadeUpWindows | None = None
    ) -> AsyncIterator[Service]:
        async with MemoryEstate.opened(self._network, windows or MadeUpWindows(BUSY)) as memory:
            estate: Estate = memory
            async with running_service(configuration, estate) as service:
                yield service

    async def set_topology(self, topology: Topology, epoch: int) -> None:
        self._network.set_topology(topology, epoch)

    async def go_away(self) -> None:
        self._network.go_away()

    async def come_back(self) -> None:
        self._network.come_back()


class OnZooKeeper:
    def __init__(self, hosts: str, root: str) -> None:
        self.hosts, self.root = hosts, root

    def settings(self, folder: Path, **loop: Any) -> ServeConfiguration:
        return settings(self.hosts, self.root, folder, **loop)

    @asynccontextmanager
    async def network(self, topology: Topology = CHAIN) -> AsyncIterator[Controls]:
        layout = Layout(self.root)
        async with (
            await Coord.connect(self.hosts) as coord,
            FakeAgents(self.hosts, layout, topology.ids) as agents,
        ):
            await start_overlay(coord, layout, topology)
            yield agents

    @asynccontextmanager
    async def serving(
        self, configuration: ServeConfiguration, windows: MadeUpWindows | None = None
    ) -> AsyncIterator[Service]:
        async with (
            opened(configuration.estate, windows or MadeUpWindows(BUSY)) as estate,
            running_service(configuration, estate) as service,
        ):
            yield service

    async def set_topology(self, topology: Topology, epoch: int) -> None:
        async with await Coord.connect(self.hosts) as coord:
            path = Layout(self.root).topology
            stored = await read(coord, path, Current)
            assert stored is not None
            links = sorted(topology.by_ends)
            other = Current(epoch=epoch, kind="tree", brokers=list(topology.ids), links=links)
            await coord.set(path, encode(other), stored.node.version)

    async def go_away(self) -> None:
        raise NotImplementedError("other tests use the same ZooKeeper: see OnOwnZooKeeper")

    async def come_back(self) -> None:
        raise NotImplementedError


class OnOwnZooKeeper(OnZooKeeper):
    """A ZooKeeper of the test's own, which can be killed; it runs inside `network`."""

    def __init__(self) -> None:
        super().__init__("", "/test")
        self._ensemble = Ensemble()

    @asynccontextmanager
    async def network(self, topology: Topology = CHAIN) -> AsyncIterator[Controls]:
        async with self._ensemble as ensemble:
            self.hosts = ensemble.hosts
            async with super().network(topology) as controls:
                yield controls

    async def go_away(self) -> None:
        self._ensemble.nodes[0].kill()

    async def come_back(self) -> None:
        await self._ensemble.restart(0)


def settings(hosts: str, root: str, folder: Path, **loop: Any) -> ServeConfiguration:
    """Short windows, everything at once."""
    quick = {"window": "300ms", "settle": "0s", "confirm": 1, "cool_down": "1h", "back_off": "100ms"}
    document = {
        "zookeeper": {"hosts": hosts, "root": root},
        "loop": {**quick, **loop},
        "plan": {"time_limit": "20ms"},
        "design": {"time_limit": "100ms"},
        "deploy": {"canaries": 0},
    }
    return configured(document, folder, {})


async def until(holds: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Waits until `holds` returns something true, and returns it."""
    async with asyncio.timeout(seconds):
        while not (found := holds()):
            await asyncio.sleep(0.02)
        return found


def kinds(service: Service) -> list[str]:
    """The kinds of the decisions, the oldest first."""
    return [each.kind for each in reversed(service.decisions(500))]
