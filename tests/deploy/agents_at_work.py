"""Real brokers and agents on a real ZooKeeper, commanded by nodes that a test writes by hand."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from regraft.broker.io.configuration import Configuration, Telemetry
from regraft.broker.io.overlay import Overlay
from regraft.broker.io.server import BrokerServer
from regraft.coord import Coord, Layout, Missing
from regraft.coord.typed import encode, read
from regraft.deploy.agent import BrokerAgent
from regraft.deploy.driver import ControlDriver
from regraft.deploy.records import Command, Doing, Status
from regraft.deploy.states import ActionState, Reported
from regraft.model import Topology

TOKEN = "secret"


@dataclass
class AtWork:
    """Brokers, agents that can be killed and started, and the nodes."""

    coord: Coord
    layout: Layout
    overlay: Overlay
    agents: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    drivers: dict[str, ControlDriver] = field(default_factory=dict)

    def start(self, *ids: str) -> None:
        for id in ids:
            control = self.overlay.controls[id]
            assert control is not None
            driver = self.drivers[id] = ControlDriver(control, TOKEN)
            agent = BrokerAgent(id, driver, self.coord, self.layout)
            self.agents[id] = asyncio.create_task(agent.run())

    async def kill(self, *ids: str) -> None:
        tasks = [self.agents.pop(id) for id in ids]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for id in ids:
            await self.drivers.pop(id).close()

    async def restart_broker(self, id: str) -> None:
        """As after a crash: on the same ports, with its journal."""
        server = self.overlay.servers[id]
        control, (host, port) = server.control_address, server.address
        await server.stop()
        again = replace(server.configuration, host=host, port=port, control=control)
        self.overlay.servers[id] = BrokerServer(again, self.overlay.addresses)
        await self.overlay.servers[id].start()

    async def action(self, *change: str, number: int = 1, **fields: object) -> str:
        """An action that is to be prepared; no broker is commanded yet."""
        path = self.layout.action(1, number)
        doing = Doing(
            action=change, changes=[change], run="r", name=f"1.{number}", state=ActionState.PREPARING
        )
        await self.coord.create(path, encode(msgspec.structs.replace(doing, **fields)))
        return path

    async def command(self, path: str, *ids: str) -> None:
        for id in ids:
            await self.write(self.layout.command(id), encode(Command(actions=(path,))))

    async def write(self, path: str, data: bytes) -> None:
        try:
            await self.coord.set(path, data, -1)
        except Missing:
            await self.coord.create(path, data)

    async def doing(self, path: str) -> Doing:
        stored = await read(self.coord, path, Doing)
        assert stored is not None
        return stored.value

    async def decide(self, path: str, state: ActionState) -> None:
        stored = await read(self.coord, path, Doing)
        assert stored is not None
        await self.coord.set(path, encode(stored.value.become(state)), stored.node.version)

    async def status(self, id: str) -> Status:
        stored = await read(self.coord, self.layout.status(id), Status)
        return stored.value if stored is not None else Status()

    async def reported(self, path: str, stage: Reported, *ids: str) -> None:
        """Waits until all of these brokers' agents have reported the stage."""
        id = (await self.doing(path)).change.id
        for each in ids:
            while (await self.status(each)).stage(id) != stage:
                await asyncio.sleep(0.02)

    async def decided(self, path: str) -> Doing:
        while (doing := await self.doing(path)).state == ActionState.PREPARING:
            await asyncio.sleep(0.02)
        return doing

    async def links(self, links: dict[str, str]) -> None:
        """Waits until the brokers have these links, and they are up; e.g. {"a": "b c"}"""
        for id, near in links.items():
            while self._up(id) != sorted(near.split()):
                await asyncio.sleep(0.02)

    def _up(self, id: str) -> list[str]:
        core = self.overlay.servers[id].core
        assert core is not None
        return sorted(name for name, link in core.links.items() if link.connection is not None)


@asynccontextmanager
async def at_work(
    hosts: str, root: str, topology: Topology, state: Path | None = None, telemetry: Telemetry | None = None
) -> AsyncIterator[AtWork]:
    own: dict[str, Any] = {"control": ("127.0.0.1", 0), "control_token": TOKEN, "telemetry": telemetry}
    base = Configuration("", state=state, kind=topology.kind, **own)
    overlay = Overlay(topology, lambda id, near: replace(base, broker=id, neighbours=near))
    async with await Coord.connect(hosts) as coord, overlay:
        work = AtWork(coord, Layout(root), overlay)
        work.start(*topology.ids)
        try:
            await work.links({id: " ".join(near) for id, near in topology.neighbours.items()})
            yield work
        finally:
            await work.kill(*work.agents)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.02)
