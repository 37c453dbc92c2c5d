"""An overlay whose brokers are processes of their own: started, told of each other, killed, started again."""

import asyncio
import contextlib
import json
from asyncio.subprocess import Process
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any

from regraft.broker.io.__main__ import to_json
from regraft.broker.io.configuration import Address, Configuration
from regraft.model import BadInput, RegraftError, Topology
from regraft.processes.children import close_input, end_all, kill, start_module


class BrokerProcesses:
    """`async with BrokerProcesses(topology, configure)`; the brokers stop with their parent."""

    def __init__(
        self, topology: Topology, configure: Callable[[str, tuple[str, ...]], Configuration]
    ) -> None:
        self.topology = topology
        self.addresses: dict[str, Address] = {}
        self.metrics: dict[str, Address | None] = {}
        self.controls: dict[str, Address | None] = {}
        self.running: dict[str, Process] = {}
        self._configurations = {
            id: configure(id, tuple(sorted(topology.neighbours[id]))) for id in topology.ids
        }

    async def __aenter__(self) -> "BrokerProcesses":
        try:
            await asyncio.gather(*[self._spawn(id) for id in self.topology.ids])
            await asyncio.gather(*[self._introduce(id) for id in self.topology.ids])
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def ended(self, id: str) -> str:
        """Waits until the broker's process has ended, and says how."""
        return f"exit code {await self.running[id].wait()}"

    async def stop(self) -> None:
        await end_all(self.running.values(), close_input)
        self.running.clear()

    async def kill(self, id: str) -> None:
        """End the process as a crash does, without a goodbye."""
        await kill(self.running.pop(id))

    async def restart(self, id: str) -> None:
        """After `kill`: on the same ports, with what its journal remembers."""
        host, port = self.addresses[id]
        self._configurations[id] = replace(
            self._configurations[id],
            host=host,
            port=port,
            control=self.controls[id],
            metrics=self.metrics[id],
        )
        await self._spawn(id)
        await self._introduce(id)

    async def _spawn(self, id: str) -> None:
        process = await start_module("regraft.broker.io")
        self.running[id] = process
        await _tell(process, to_json(self._configurations[id]))
        host, port = (await _answer(process, id))["address"]
        self.addresses[id] = (host, port)

    async def _introduce(self, id: str) -> None:
        """Tell it the addresses of all: any of them may have become a neighbour."""
        process = self.running[id]
        await _tell(process, json.dumps(self.addresses))
        answer = await _answer(process, id)
        self.metrics[id] = _address(answer["metrics"])
        self.controls[id] = _address(answer["control"])


def _address(told: list[Any] | None) -> Address | None:
    return (told[0], told[1]) if told else None


async def _tell(process: Process, line: str) -> None:
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):  # `_answer` then reports why, or that the process has ended
        process.stdin.write(line.encode() + b"\n")
        await process.stdin.drain()


async def _answer(process: Process, id: str) -> dict[str, Any]:
    assert process.stdout is not None
    line = await process.stdout.readline()
    answer: dict[str, Any] = json.loads(line) if line else {"fault": "its process has ended"}
    if "fault" in answer:
        reason = f"broker {id!r} does not start: {answer['fault']}"
        raise BadInput("", reason) if answer.get("bad_input") else RegraftError(reason)
    return answer
