"""One node: a broker, its agent and its adaptation manager in one process, `python -m regraft.node`.

Standard input: one line of settings (`healing.settings`); when the input ends the node stops, so it never
outlives the process that started it. Standard output: `{"address": …, "heal": …, "metrics": …, "life": …}`
when its broker runs, `{"joined": true}` when that is in the overlay; or `{"fault": …}`.

How it begins depends on what it finds in ZooKeeper:

| its id | its owner | then |
|---|---|---|
| in the overlay | none yet | it is the broker, with the links of the topology |
| | itself, in an earlier life that is over | it continues with what it remembers |
| | a deputy | it waits until that has left the overlay (or has died, too) |
| not in the overlay | | it begins empty, and asks to be added |
"""

import asyncio
import contextlib
import json
import logging
import signal
import sys
from contextlib import AsyncExitStack
from typing import Any

from regraft.broker.io.garbage import set_aside
from regraft.coord import Coord, CoordUnreachable
from regraft.coord.typed import read
from regraft.deploy.journal import topology_of
from regraft.deploy.records import Current
from regraft.filters.index import load_compiled
from regraft.heal.detection import Evidence
from regraft.heal.owner import NotTaken, Owner, Why
from regraft.heal.ownership import Places, all_owners, look
from regraft.model import BadInput, RegraftError, Topology
from regraft.node.healing.hosting import Hosted
from regraft.node.healing.settings import NodeSettings, from_json
from regraft.node.healing.shell import HealingShell
from regraft.node.healing.whereabouts import examine

log = logging.getLogger("regraft.heal")
LINE_BYTES = 2**26
POLL_SECONDS = 0.1
MANY_FILTERS = 24


class Node:
    """`async with Node(settings) as node`: it runs when its broker does; `ended` says why it has to stop."""

    shell: HealingShell

    def __init__(self, settings: NodeSettings) -> None:
        self.settings = settings
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Node":
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def own(self) -> Hosted:
        return self.shell.hosting.brokers[self.settings.id]

    async def _start(self) -> None:
        coord = await self._stack.enter_async_context(await Coord.open(self.settings.zookeeper.configuration))
        shell = HealingShell(self.settings, coord, self._say_joined, self._end)
        self.shell = await self._stack.enter_async_context(shell)
        shell.start(*await self._begin())
        shell.begin(self._prepare_for_many_filters())

    # Beginning

    async def _begin(self) -> tuple[Hosted, Topology]:
        """Our own broker, as soon as no other process owns it, and the topology that it begins with."""
        said = ""
        while True:
            try:
                begun = await self._once()
            except CoordUnreachable as fault:
                begun = NotTaken(str(fault))
            if not isinstance(begun, NotTaken):
                return begun
            if begun.reason != said:
                said = begun.reason
                log.warning("%s waits: %s", self.settings.id, said)
            await asyncio.sleep(POLL_SECONDS)

    async def _once(self) -> tuple[Hosted, Topology] | NotTaken:
        shell, layout, id = self.shell, self.settings.layout, self.settings.id
        stored = await read(shell.coord, layout.topology, Current)
        if stored is None:
            return NotTaken("there is no topology: no overlay has been started here")
        places = Places(layout, id)
        owner, alive = await read(shell.coord, places.owner, Owner), await shell.coord.get(places.alive)
        why = Why.VACANT
        if alive is not None:
            if owner is None:
                return NotTaken(f"{id} has a presence and no owner")
            evidence = await examine(shell.coord, layout, id, owner.value)
            if evidence is not Evidence.REFUSED:
                by = owner.value.by
                return NotTaken(f"it has a deputy at {by}" if by else "another process is this broker")
            why = Why.PROCESS_GONE
        for other, known in (await all_owners(shell.coord, layout)).items():
            shell.whereabouts.learn(other, known.value)
        topology = topology_of(stored.value)
        near = topology.neighbours.get(id)
        seen = await look(shell.coord, layout, id)
        # `why` is about the owner that was read above: a later one has to be examined itself.
        if owner is not None and (seen.owner is None or seen.owner.node.version != owner.node.version):
            return NotTaken("it has changed meanwhile")
        hosted = await shell.hosting.begin(id, near or (), seen, why, empty=near is None)
        return hosted if isinstance(hosted, NotTaken) else (hosted, topology)

    def _say_joined(self) -> None:
        log.info("%s is in the overlay", self.settings.id)

    async def _prepare_for_many_filters(self) -> None:
        """Loads the code that matches many filters at once only when there are many. It takes a second to
        load, and a process that has it takes longer to die: while the system frees its memory, its neighbours
        cannot notice that it is gone."""
        while (core := self.own.server.core) is None or core.inspect().subscriptions < MANY_FILTERS:
            await asyncio.sleep(1.0)
        await asyncio.to_thread(load_compiled)

    def _end(self, reason: str) -> None:
        if not self.ended.done():
            self.ended.set_result(reason)


class SpeakingNode(Node):
    """Says on standard output how far it is."""

    def _say_joined(self) -> None:
        super()._say_joined()
        _say({"joined": True})


async def main() -> int:
    collecting = asyncio.create_task(set_aside())
    try:
        return await _run()
    finally:
        collecting.cancel()


async def _run() -> int:
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    told = asyncio.create_task(lines.readline())
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lines.feed_eof)
    try:
        node = SpeakingNode(from_json(await told))
        stopped = asyncio.create_task(_end_of(lines))
        starting = asyncio.create_task(node.__aenter__())
        await asyncio.wait([starting, stopped], return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            return 0
        starting.result()
        owner, server = node.own.owner, node.own.server
        heal = (owner.heal_host, owner.heal_port)
        _say({"address": server.address, "heal": heal, "metrics": server.metrics_address, "life": owner.life})
        waiting: list[asyncio.Future[Any]] = [node.ended, stopped]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        await node.__aexit__()
        if node.ended.done():
            log.warning("%s ends: %s", node.settings.id, node.ended.result())
            return 1
    except (RegraftError, OSError) as fault:
        _say({"fault": str(fault), "bad_input": isinstance(fault, BadInput)})
        return 1
    return 0


async def _end_of(lines: asyncio.StreamReader) -> None:
    while await lines.readline():
        pass


def _say(document: dict[str, object]) -> None:
    with contextlib.suppress(OSError):  # the reader is gone
        print(json.dumps(document), flush=True)
