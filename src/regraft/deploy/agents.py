"""The agents of the brokers on this machine: in this process, in one other process, or in a process each.

An agent that dies is replaced. The new one finds in ZooKeeper and in its broker all that the last one knew,
so nothing is handed over.
"""

import asyncio
import logging
import signal
from asyncio.subprocess import Process
from collections.abc import Mapping
from types import TracebackType
from typing import Literal

from regraft.coord import Configuration, Coord, Layout
from regraft.deploy.agent import BrokerAgent
from regraft.deploy.agent_process import Driven, settings
from regraft.deploy.driver import ControlDriver
from regraft.processes.children import close_input, end_all, send, start_module

log = logging.getLogger("regraft.deploy")
AGAIN_SECONDS = 0.2
SILENT_SECONDS = 60.0
"""A process of agents that shows no sign of life for this long is killed: all its brokers depend on it."""


Place = Literal["here", "beside", "each"]
"""Beside: all in one other process. If agents ran in a process that many brokers share, ZooKeeper's client
and the event loop would compete for the interpreter, and every answer of ZooKeeper would take ten times as
long."""


class Agents:
    """`async with Agents(configuration, layout, brokers)`."""

    def __init__(
        self,
        configuration: Configuration,
        layout: Layout,
        brokers: Mapping[str, Driven],
        *,
        place: Place = "here",
    ) -> None:
        self.running: dict[str, Process] = {}
        """The process of each broker's agent, unless it is this process."""
        self._configuration = configuration
        self._layout = layout
        self._brokers = brokers
        self._place = place
        self._coord: Coord | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._over = False

    async def __aenter__(self) -> "Agents":
        if self._place == "here":
            self._coord = await Coord.open(self._configuration)
        groups = [[*self._brokers]] if self._place == "beside" else [[id] for id in self._brokers]
        self._tasks = [asyncio.create_task(self._keep(ids)) for ids in groups]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        processes = set(self.running.values())
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await end_all(processes, close_input)
        if self._coord is not None:
            await self._coord.stop()

    async def _keep(self, ids: list[str]) -> None:
        while True:
            try:
                await (self._task(*ids) if self._place == "here" else self._process(ids))
            except Exception:
                log.exception("the agent of %s has failed, another follows", ", ".join(ids))
            await asyncio.sleep(AGAIN_SECONDS)

    async def _task(self, id: str) -> None:
        assert self._coord is not None
        driver = ControlDriver(*self._brokers[id])
        try:
            await BrokerAgent(id, driver, self._coord, self._layout).run()
        finally:
            await driver.close()

    async def _process(self, ids: list[str]) -> None:
        process = await start_module("regraft.deploy.agent_process", "--settings-from-stdin")
        self.running |= dict.fromkeys(ids, process)
        try:
            assert process.stdin is not None
            brokers = {id: self._brokers[id] for id in ids}
            process.stdin.write(settings(self._configuration, self._layout, brokers=brokers) + b"\n")
            await _until_silent(process, ids)
            code = await process.wait()
            log.warning("the agent of %s has ended with exit code %s, another follows", ", ".join(ids), code)
        finally:
            for id in ids:
                del self.running[id]
            if not self._over:  # otherwise `__aexit__` ends all processes together
                await end_all([process], close_input)


async def _until_silent(process: Process, ids: list[str]) -> None:
    assert process.stdout is not None
    try:
        while True:
            async with asyncio.timeout(SILENT_SECONDS):
                if not await process.stdout.read(4096):
                    return
    except TimeoutError:
        log.warning("the agent of %s hangs for %g s, and is ended", ", ".join(ids), SILENT_SECONDS)
        send(process, signal.SIGKILL)
