"""A running service on a real ZooKeeper, with agents that pretend and windows that a test makes up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.deploy.fake_agents import FakeAgents, start_overlay

from regraft.app.configuration import Configuration, checked, configured
from regraft.app.measuring import Measurer, Window
from regraft.app.running import running_service
from regraft.app.service import Service
from regraft.app.workloads import Measured
from regraft.coord import Coord, Layout
from regraft.measure.session import SparkFault
from regraft.model import Topology
from regraft.model.snapshot import Counts
from regraft.model.traffic import TrafficClass
from regraft.model.workload import Workload

CHAIN = Topology.of([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])
BUSY = Workload((TrafficClass(frozenset("ae"), 900.0), TrafficClass(frozenset("bd"), 600.0)))
STAYS = Workload((TrafficClass(frozenset("ab"), 900.0),))


class FakeMeasurer(Measurer):
    """Windows without Spark: the `workload` of now, unless it `fails`."""

    def __init__(self, workload: Workload = BUSY) -> None:
        self.workload = workload
        self.fails = ""
        self.measured = 0

    def warm(self) -> None:
        return

    def measure(self, start: float, end: float) -> Window:
        if self.fails:
            raise SparkFault(self.fails)
        self.measured += 1
        return Window(self.read(start, end), Counts(read=10, kept=10))

    def read(self, start: float, end: float) -> Measured:
        total = round(sum(demand for _, demand in self.workload.traffic))
        return Measured(start, end, self.workload, total, total, 2, 1.0, 2.0, 3.0, 0, {})

    def check_disk(self) -> None:
        return

    def abandon(self) -> None:
        return

    def stop(self) -> None:
        return


def settings(hosts: str, root: str, folder: Path, **loop: Any) -> Configuration:
    """Short windows, everything at once."""
    quick = {"window": "300ms", "settle": "0s", "confirm": 1, "cool_down": "1h", "back_off": "100ms"}
    document = {
        "zookeeper": {"hosts": hosts, "root": root},
        "loop": {**quick, **loop},
        "plan": {"time_limit": "20ms"},
        "design": {"time_limit": "100ms"},
        "deploy": {"canaries": 0},
    }
    return configured(checked(document), folder, {})


@asynccontextmanager
async def overlay(hosts: str, root: str, topology: Topology = CHAIN) -> AsyncIterator[FakeAgents]:
    layout = Layout(root)
    async with await Coord.connect(hosts) as coord, FakeAgents(hosts, layout, topology.ids) as agents:
        await start_overlay(coord, layout, topology)
        yield agents


@asynccontextmanager
async def serving(
    configuration: Configuration, measurer: FakeMeasurer | None = None
) -> AsyncIterator[Service]:
    async with running_service(configuration, measurer or FakeMeasurer()) as service:
        yield service


async def until(holds: Callable[[], Any], seconds: float = 20.0) -> Any:
    """What it says as soon as that is true."""
    async with asyncio.timeout(seconds):
        while not (found := holds()):
            await asyncio.sleep(0.02)
        return found


def kinds(service: Service) -> list[str]:
    """Of the decisions, the oldest first."""
    return [each.kind for each in reversed(service.decisions(500))]
