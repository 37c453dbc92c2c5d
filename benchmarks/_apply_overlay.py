"""A whole overlay for the benchmarks of deploying: broker processes, ZooKeeper, agents, clients, plans."""

import asyncio
import json
import random
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._apply_clients import Brief

from regraft.broker.io.broker_processes import BrokerProcesses
from regraft.broker.io.configuration import Configuration
from regraft.coord import Configuration as Zookeeper
from regraft.coord import Coord, Ensemble, Layout
from regraft.coord.typed import encode, read
from regraft.deploy.agent_process import Driven
from regraft.deploy.agents import Agents, Place
from regraft.deploy.records import Current, Status
from regraft.lab.workload import with_links_changed
from regraft.model import Infeasible, Limits, Plan, Topology
from regraft.model.limits import TREE_OPERATIONS
from regraft.plan import make_plan
from regraft.plan import verify as replay

TOKEN = "benchmark"


def verify(plan: Plan, current: Topology, goal: Topology) -> None:
    replay(plan, current, goal, Limits(operations=frozenset(TREE_OPERATIONS)))


@dataclass
class Running:
    """What can be measured, asked and killed."""

    ensemble: Ensemble
    brokers: BrokerProcesses
    agents: Agents
    coord: Coord
    layout: Layout

    def where(self, id: str) -> str:
        return "{}:{}".format(*self.brokers.addresses[id])

    async def topology(self) -> Topology:
        stored = await read(self.coord, self.layout.topology, Current)
        assert stored is not None
        return Topology.of(stored.value.links, stored.value.brokers)


@asynccontextmanager
async def overlay(
    topology: Topology, folder: Path, *, zookeepers: int = 1, agent_processes: bool = False
) -> AsyncIterator[Running]:
    """Everything runs, and the topology is in ZooKeeper."""
    layout = Layout()

    def configure(id: str, near: tuple[str, ...]) -> Configuration:
        return Configuration(
            id, near, state=folder, control=("127.0.0.1", 0), control_token=TOKEN, remembered=True
        )

    async with Ensemble(zookeepers) as ensemble, BrokerProcesses(topology, configure) as brokers:
        driven = {id: Driven(control, TOKEN) for id, control in brokers.controls.items() if control}
        place: Place = "each" if agent_processes else "here"
        agents = Agents(Zookeeper(ensemble.hosts), layout, driven, place=place)
        async with await Coord.connect(ensemble.hosts) as coord, agents:
            links = [link.ends for link in topology.links]
            first = Current(epoch=1, kind=topology.kind, brokers=list(topology.ids), links=links)
            await coord.create(layout.topology, encode(first))
            running = Running(ensemble, brokers, agents, coord, layout)
            await present(running)
            yield running


async def present(running: Running) -> None:
    """Until every broker has an agent that says where it is."""
    async with asyncio.timeout(120):
        for id in running.brokers.topology.ids:
            while True:
                status = await read(running.coord, running.layout.status(id), Status)
                alive = await running.coord.get(running.layout.alive(id))
                if status is not None and status.value.port and alive is not None:
                    break
                await asyncio.sleep(0.05)


@asynccontextmanager
async def clients(brief: Brief, folder: Path) -> AsyncIterator["Clients"]:
    file = folder / "brief.json"
    file.write_text(json.dumps(brief._asdict()))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks._apply_clients", str(file), str(folder / "rows.npy")),
        stdin=PIPE,
        stdout=PIPE,
    )
    running = Clients(process, folder / "rows.npy")
    try:
        await running.said()
        yield running
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@dataclass
class Clients:
    process: Process
    rows: Path
    """Every delivery, after `verdict`."""

    async def said(self) -> str:
        assert self.process.stdout is not None
        line = (await self.process.stdout.readline()).decode()
        if not line:
            raise RuntimeError("the clients have ended before their time")
        return line

    async def verdict(self) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        found: dict[str, Any] = json.loads(await self.said())
        return found


def next_plan(current: Topology, ratio: float, seed: int, planner: str = "fast") -> Plan:
    """To a tree of which this share of the links is different; the same for the same seed."""
    goal = with_links_changed(current, ratio, random.Random(seed).randrange(2**31))
    found = make_plan(current, goal, Limits(time_limit=1.0), planner)
    if isinstance(found, Infeasible):
        raise RuntimeError(found.reason)
    return found
