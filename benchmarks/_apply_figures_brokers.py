"""Some brokers of an overlay with their agents in one process; several such processes make up the overlay.

`python -m benchmarks._apply_figures_brokers FOLDER`, spoken to in lines of JSON. First the `Share`; answered
with where its brokers listen. Then the addresses of all brokers of all processes; answered when every link
of these is up. Then `look`: how much each broker holds is noted from now on. Then `save`: what was noted is
in FOLDER/NAME.npz. When the input ends, the brokers stop.
"""

import asyncio
import json
import logging
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from regraft.broker.core import Broker
from regraft.broker.io.configuration import Configuration
from regraft.broker.io.running import run, undisturbed
from regraft.broker.io.server import BrokerServer
from regraft.coord import Configuration as Zookeeper
from regraft.coord import Layout
from regraft.deploy.agent_process import Driven
from regraft.deploy.agents import Agents

LOOK_SECONDS = 0.01
LINKING = 120.0
LINE_BYTES = 2**24
TOKEN = "benchmark"


class Share(NamedTuple):
    """`neighbours` of the brokers of this process."""

    name: str
    neighbours: dict[str, list[str]]
    zookeeper: str


class Looks:
    """How many publications each broker holds, again and again."""

    def __init__(self, servers: dict[str, BrokerServer]) -> None:
        self._cores = [server.core for server in servers.values() if isinstance(server.core, Broker)]
        self._times: list[float] = []
        self._held: list[list[int]] = []

    async def look(self) -> None:
        while True:
            self._times.append(time.monotonic())
            self._held.append([_held(core) for core in self._cores])
            await asyncio.sleep(LOOK_SECONDS)

    def save(self, file: Path, ids: list[str]) -> None:
        held = np.array(self._held, np.int64).reshape(-1, len(ids))
        np.savez(file, times=np.array(self._times), held=held, ids=np.array(ids))


def _held(core: Broker) -> int:
    return sum(len(held.run.seqs) for held in core.forwarding.store)


async def main(folder: Path) -> None:
    lines = asyncio.StreamReader(limit=LINE_BYTES)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    share = Share(**json.loads(await lines.readline()))
    addresses: dict[str, tuple[str, int]] = {}
    servers = {
        id: BrokerServer(_configuration(id, tuple(near), folder), addresses)
        for id, near in share.neighbours.items()
    }
    try:
        _say({id: await server.listen() for id, server in servers.items()})
        told = json.loads(await lines.readline())
        addresses.update({id: (host, port) for id, (host, port) in told.items()})
        for server in servers.values():
            await server.start()
        async with asyncio.timeout(LINKING):
            while not all(map(_linked, servers.values())):
                await asyncio.sleep(0.05)
        controls = {id: server.control_address for id, server in servers.items()}
        driven = {id: Driven(control, TOKEN) for id, control in controls.items() if control is not None}
        async with Agents(Zookeeper(share.zookeeper), Layout(), driven):
            _say({})
            await _answer(lines, servers, folder / f"{share.name}.npz")
    finally:
        await asyncio.gather(*[server.stop() for server in servers.values()])


async def _answer(lines: asyncio.StreamReader, servers: dict[str, BrokerServer], file: Path) -> None:
    looks = Looks(servers)
    looking: asyncio.Task[None] | None = None
    while line := (await lines.readline()).decode().strip():
        if line == "look":
            looking = asyncio.create_task(looks.look())
        else:
            if looking is not None:
                looking.cancel()
            looks.save(file, list(servers))
        _say({id: server.fault for id, server in servers.items() if server.fault})


def _configuration(id: str, near: tuple[str, ...], folder: Path) -> Configuration:
    control = ("127.0.0.1", 0)
    return Configuration(id, near, state=folder, control=control, control_token=TOKEN, remembered=True)


def _linked(server: BrokerServer) -> bool:
    if server.core is None:
        return False
    seen = server.core.inspect()
    return seen.ready and all(state == "up" for state in seen.links.values())


def _say(document: object) -> None:
    print(json.dumps(document), flush=True)


if __name__ == "__main__":
    logging.basicConfig(level="WARNING", format="%(name)s: %(message)s")
    run(undisturbed(main(Path(sys.argv[1]))))
