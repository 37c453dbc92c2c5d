"""The agents of the brokers on this machine: tasks of this process, or processes; one that dies is followed
by another.

A new agent finds in ZooKeeper and in its broker all that the last one knew, so nothing is handed over.
"""

import asyncio
import contextlib
import logging
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from types import TracebackType
from typing import NamedTuple

from regraft.coord import Configuration, Coord, Layout
from regraft.deploy.agent import BrokerAgent
from regraft.deploy.agent_process import settings
from regraft.deploy.driver import Address, ControlDriver

log = logging.getLogger("regraft.deploy")
AGAIN_SECONDS = 0.2
STOP_SECONDS = 10.0


class Driven(NamedTuple):
    """A broker's control endpoint."""

    control: Address
    token: str


class Agents:
    """`async with Agents(configuration, layout, brokers)`; with `processes`, one for each broker."""

    def __init__(
        self,
        configuration: Configuration,
        layout: Layout,
        brokers: Mapping[str, Driven],
        *,
        processes: bool = False,
    ) -> None:
        self.running: dict[str, Process] = {}
        """With `processes`."""
        self._configuration = configuration
        self._layout = layout
        self._brokers = brokers
        self._processes = processes
        self._coord: Coord | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Agents":
        if not self._processes:
            self._coord = await Coord.open(self._configuration)
        self._tasks = [asyncio.create_task(self._keep(id)) for id in self._brokers]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._coord is not None:
            await self._coord.stop()

    async def _keep(self, id: str) -> None:
        while True:
            try:
                await (self._process(id) if self._processes else self._task(id))
            except Exception:
                log.exception("the agent of %s has failed, another follows", id)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _task(self, id: str) -> None:
        assert self._coord is not None
        driver = ControlDriver(*self._brokers[id])
        try:
            await BrokerAgent(id, driver, self._coord, self._layout).run()
        finally:
            await driver.close()

    async def _process(self, id: str) -> None:
        control, token = self._brokers[id]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "regraft.deploy.agent_process", "--settings-from-stdin"),
            *("--broker", id, "--control", "{}:{}".format(*control)),
            stdin=PIPE,
            start_new_session=True,
        )
        self.running[id] = process
        try:
            assert process.stdin is not None
            process.stdin.write(settings(self._configuration, self._layout, token) + b"\n")
            code = await process.wait()
            log.warning("the agent of %s has ended with exit code %s, another follows", id, code)
        finally:
            del self.running[id]
            await _end(process)


async def _end(process: Process) -> None:
    """Ask by ending its input, then insist."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
