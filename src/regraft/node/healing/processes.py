"""Nodes and destination databases as processes of this machine: for `regraft up --heal`, tests, benchmarks.

On failure: a node that does not start says why; one that ends later is reported by `ended`, and may be
started again on the same ports. All end with the process that started them.
"""

import asyncio
import contextlib
import json
from asyncio.subprocess import Process
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regraft.coord import Configuration, Coord, Exists, Layout
from regraft.coord.typed import write
from regraft.deploy.records import Current
from regraft.heal.database.client import DatabaseClient
from regraft.heal.grant import Denied
from regraft.heal.rules import PAPER_RULES, parse
from regraft.model import BadInput, RegraftError, Topology
from regraft.node.healing.settings import NodeSettings, to_json
from regraft.processes.children import close_input, end_all, kill, start_module

Address = tuple[str, int]
START_SECONDS = 60.0
OPEN = "User Defined"
"""The bound that the paper's fourth rule leaves to the user: brokers to which components may go at once."""


async def write_topology(coord: Coord, layout: Layout, topology: Topology) -> None:
    """Writes the first topology of an overlay; one that is there stays."""
    links = sorted(topology.by_ends)
    current = Current(epoch=1, kind=topology.kind, brokers=sorted(topology.ids), links=links)
    with contextlib.suppress(Exists):
        await write(coord, layout.topology, current, None)


async def put_paper_rules(coord: Coord, layout: Layout, bound: float = 3.0) -> None:
    """Stores the rules of Mimosa Pudica §4.3, if there are none yet."""
    client = await DatabaseClient.found(coord, layout)
    try:
        if not (await client.rules()).rules:
            rules = {rule.name: rule.source for rule in parse(PAPER_RULES)}
            stored = await client.put_rules(rules, {OPEN: bound})
            if isinstance(stored, Denied):
                raise RegraftError(f"the paper's rules are not stored: {stored.reason}")
    finally:
        await client.close()


class DatabaseProcesses:
    """`async with DatabaseProcesses(["sqlite:a.db", …], configuration, layout)`; their ids are d1, d2, …"""

    def __init__(self, stores: Iterable[str], configuration: Configuration, layout: Layout) -> None:
        self.running: dict[str, Process] = {}
        self._stores = {f"d{number}": store for number, store in enumerate(stores, 1)}
        self._configuration = configuration
        self._layout = layout

    async def __aenter__(self) -> "DatabaseProcesses":
        try:
            await asyncio.gather(*[self.start(id) for id in self._stores])
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self, id: str) -> None:
        process = self.running[id] = await start_module(
            *("regraft.heal.database", "--guarded", "--id", id, "--store", self._stores[id]),
            *("--zookeeper", self._configuration.hosts, "--root", self._layout.root),
        )
        assert process.stdout is not None
        if not await process.stdout.readline():
            raise RegraftError(f"the destination database {id} does not start")

    async def kill(self, id: str) -> None:
        await kill(self.running.pop(id))

    async def stop(self) -> None:
        await end_all(self.running.values(), close_input)
        self.running.clear()


@dataclass
class _Started:
    """The process of a node, and what it has said on its standard output."""

    process: Process
    said: dict[str, Any] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    reading: asyncio.Task[None] | None = None


class NodeProcesses:
    """`async with NodeProcesses(ids, configure)`: inside it, all are in the overlay."""

    def __init__(self, ids: Iterable[str], configure: Callable[[str], NodeSettings]) -> None:
        self.settings = {id: configure(id) for id in ids}
        self._configure = configure
        self.addresses: dict[str, Address] = {}
        self.metrics: dict[str, Address | None] = {}
        self._running: dict[str, _Started] = {}

    async def __aenter__(self) -> "NodeProcesses":
        try:
            await asyncio.gather(*[self._begin(id) for id in self.settings])
            async with asyncio.timeout(START_SECONDS):
                await asyncio.gather(*[self.joined(id) for id in self.settings])
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def running(self) -> Mapping[str, Process]:
        return {id: started.process for id, started in self._running.items()}

    async def stop(self) -> None:
        """Ends all at once: nodes that are left for a moment would begin to heal."""
        started = list(self._running.values())
        self._running.clear()
        await end_all((each.process for each in started), close_input)
        for each in started:
            if each.reading is not None:
                each.reading.cancel()

    async def kill(self, id: str) -> None:
        """Kills it, as a crash does."""
        await kill(self._running.pop(id).process)

    async def restart(self, id: str) -> None:
        """Starts it on the same ports, unless it runs; `joined` waits until it is in the overlay."""
        known = self._running.get(id)
        if known is None or known.process.returncode is not None:
            await self._begin(id)

    async def start(self, id: str, beside: tuple[str, ...] = ()) -> None:
        """Starts a node that was not among the first, or has left; it asks to join beside these."""
        known = self.settings[id] if id in self.settings else self._configure(id)
        self.settings[id] = replace(known, beside=beside)
        await self.restart(id)

    async def joined(self, id: str) -> None:
        """Waits until its broker is in the overlay."""
        await self._said(id, "joined")

    async def ended(self, id: str) -> str:
        return f"exit code {await self._running[id].process.wait()}"

    async def _said(self, id: str, word: str) -> Any:
        started = self._running[id]
        while word not in started.said:
            if "fault" in started.said:
                reason = f"node {id!r} does not start: {started.said['fault']}"
                raise BadInput("", reason) if started.said.get("bad_input") else RegraftError(reason)
            if started.process.returncode is not None and started.reading and started.reading.done():
                raise RegraftError(f"node {id!r} has ended with exit code {started.process.returncode}")
            started.changed.clear()
            await started.changed.wait()
        return started.said[word]

    async def _begin(self, id: str) -> None:
        process = await start_module("regraft.node")
        started = self._running[id] = _Started(process)
        started.reading = asyncio.create_task(self._read(id, started))
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write(to_json(self.settings[id]) + b"\n")
            await process.stdin.drain()

    async def _read(self, id: str, started: _Started) -> None:
        """Reads what it says until it ends; it keeps the ports that it got."""
        assert started.process.stdout is not None
        while line := await started.process.stdout.readline():
            said = json.loads(line)
            started.said |= said
            if "address" in said:
                (host, port), (_, heal) = said["address"], said["heal"]
                self.addresses[id] = (host, port)
                self.metrics[id] = tuple(said["metrics"]) if said["metrics"] else None
                known = self.settings[id]
                broker = replace(known.broker, host=host, port=port, metrics=self.metrics[id])
                self.settings[id] = replace(known, broker=broker, heal_port=heal)
            started.changed.set()
        await started.process.wait()
        started.changed.set()


def sqlite_stores(folder: Path, count: int) -> list[str]:
    return [f"sqlite:{folder / f'd{number}.db'}" for number in range(1, count + 1)]
