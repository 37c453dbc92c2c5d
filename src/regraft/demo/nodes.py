"""The demo's brokers: nodes that heal (`regraft.node`), each a process of its own, forked."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from regraft.demo.children import run_node
from regraft.demo.forking import Forked, ForkServer, stop_all
from regraft.model import Ends, RegraftError
from regraft.node.healing.settings import NodeSettings, to_json
from regraft.processes.children import kill

Address = tuple[str, int]
START_SECONDS = 120.0


class Nodes:
    """Inside `async with Nodes(...)` all brokers are in the overlay."""

    def __init__(
        self,
        settings: Mapping[str, NodeSettings],
        seconds: Mapping[Ends, float],
        server: ForkServer,
        logs: Path,
    ) -> None:
        """`seconds`: the latency between each two brokers, one way."""
        self.addresses: dict[str, Address] = {}
        self.running: dict[str, Forked] = {}
        self._settings = dict(settings)
        self._seconds = seconds
        self._server = server
        self._logs = logs
        self._joined: set[str] = set()

    async def __aenter__(self) -> "Nodes":
        try:
            async with asyncio.timeout(START_SECONDS):
                await asyncio.gather(*[self._start(id) for id in self._settings])
        except TimeoutError:
            missing = ", ".join(sorted(self._settings.keys() - self._joined))
            await self.stop()
            raise RegraftError(f"not in the overlay after {START_SECONDS:g} s: {missing}") from None
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Stop all at once: brokers that run a moment longer would begin to heal around the others."""
        running, self.running = list(self.running.values()), {}
        await stop_all(running)

    async def kill(self, id: str) -> int:
        """Kill a broker as a crash would, without a goodbye. Returns its process id."""
        process = self.running.pop(id)
        await kill(process)
        process.writer.close()
        return process.pid

    async def restart(self, id: str) -> None:
        """Start a broker that has ended, on the ports that it had; it joins the overlay."""
        if (old := self.running.pop(id, None)) is not None:
            await old.stop()
        await self._start(id)

    async def _start(self, id: str) -> None:
        log = self._logs / f"{id}.log"
        process = await self._server.start(run_node, log, dict(self._seconds))
        self.running[id] = process
        process.writer.write(to_json(self._settings[id]) + b"\n")
        while line := await process.lines.readline():
            said = json.loads(line)
            if "fault" in said:
                raise RegraftError(f"the broker {id} does not start: {said['fault']}")
            if "address" in said:
                self._keep_ports(id, said)
            if "joined" in said:
                self._joined.add(id)
                return
        raise RegraftError(f"the broker {id} has ended before it was in the overlay: see {log}")

    def _keep_ports(self, id: str, said: Mapping[str, Any]) -> None:
        """The ports that it got are its ports at every later start."""
        (host, port), (_, heal) = said["address"], said["heal"]
        self.addresses[id] = (host, port)
        known = self._settings[id]
        self._settings[id] = replace(
            known, broker=replace(known.broker, host=host, port=port), heal_port=heal
        )
