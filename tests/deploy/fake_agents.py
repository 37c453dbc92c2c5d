"""Agents of brokers that only pretend: they decide as real ones do (`agent_core`), and nothing is linked.

A broker is ready as soon as it is told to prepare, unless it is to refuse or to be silent.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from regraft.coord import Conflict, Coord, CoordUnreachable, Corrupt, Create, Layout
from regraft.coord.typed import encode, read
from regraft.deploy.agent_core import (
    Abort,
    Agent,
    AgentView,
    Commit,
    Decide,
    Do,
    KnownAction,
    Prepare,
    Report,
)
from regraft.deploy.records import Command, Current, Doing, Status
from regraft.model import Topology

T = TypeVar("T")


async def start_overlay(coord: Coord, layout: Layout, topology: Topology, epoch: int = 1) -> None:
    links = [link.ends for link in topology.links]
    current = Current(epoch=epoch, kind=topology.kind, brokers=list(topology.ids), links=links)
    await coord.create(layout.topology, encode(current))


def within(scenario: Coroutine[Any, Any, T], seconds: float = 60.0) -> T:
    """Run it with a time limit, so that a deployer that waits for ever fails its test."""

    async def limited() -> T:
        async with asyncio.timeout(seconds):
            return await scenario

    return asyncio.run(limited())


class FakeAgents:
    """`async with FakeAgents(hosts, layout, brokers)`: they live in a session of their own."""

    def __init__(self, hosts: str, layout: Layout, brokers: tuple[str, ...]) -> None:
        self.hosts, self.layout = hosts, layout
        self.agents = {name: Agent(name) for name in brokers}
        self.stages: dict[str, dict[str, str]] = {name: {} for name in brokers}
        self.refuse: dict[str, str] = {}
        """Broker → why it refuses the next changes."""
        self.silent: set[str] = set()
        """Brokers that never become ready."""
        self.slow = 0.0
        """Seconds before each round."""
        self.prepared: list[tuple[str, str]] = []
        """Broker and change, in the order in which they were told."""

    async def __aenter__(self) -> "FakeAgents":
        self.coord = await Coord.connect(self.hosts)
        for name in self.agents:
            await self.coord.create(self.layout.status(name), encode(Status(host="127.0.0.1", port=1)))
            await self.coord.transaction([Create(self.layout.alive(name), ephemeral=True)])
        self.task = asyncio.create_task(self._live())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.coord.stop()

    async def _live(self) -> None:
        while True:
            await asyncio.sleep(0.005 + self.slow)
            for name, agent in self.agents.items():
                try:
                    view = await self._view(name)
                except Corrupt:
                    continue
                if view is not None:
                    for do in agent.react(view, asyncio.get_running_loop().time()):
                        await self._do(name, do)

    async def _view(self, name: str) -> AgentView | None:
        command = await read(self.coord, self.layout.command(name), Command)
        if command is None or not command.value.actions:
            return None
        actions = {}
        for path in command.value.actions:
            doing = await read(self.coord, path, Doing)
            if doing is not None:
                actions[path] = KnownAction(doing.value, doing.node.version)
        concerned = {each for known in actions.values() for each in known.doing.change.brokers} | {name}
        statuses = {}
        for each in concerned:
            status = await read(self.coord, self.layout.status(each), Status)
            statuses[each] = status.value if status else Status()
        ids = [known.doing.change.id for known in actions.values()]
        refused = {id: self.refuse[name] for id in ids if name in self.refuse}
        return AgentView(command.value, actions, statuses, dict(self.stages[name]), refused)

    async def _do(self, name: str, do: Do) -> None:
        if isinstance(do, Prepare):
            self.prepared.append((name, str(do.change)))
            if name not in self.silent:
                self.stages[name][do.change.id] = "ready"
        elif isinstance(do, Commit | Abort):
            self.stages[name].pop(do.id, None)
        elif isinstance(do, Report):
            await self.coord.set(self.layout.status(name), encode(do.status), -1)
        elif isinstance(do, Decide):
            with contextlib.suppress(Conflict, CoordUnreachable):
                await self.coord.set(do.path, encode(do.doing), do.version)
