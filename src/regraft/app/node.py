"""One node: a broker, its agent and its adaptation manager in one process, `python -m regraft.app.node`.

Standard input: one line of settings (`healing.settings`); when the input ends the node stops, so it never
outlives who started it. Standard output: `{"address": …, "heal": …, "metrics": …, "life": …}` when its
broker runs, `{"joined": true}` when that is in the overlay; or `{"fault": …}`.

How it begins depends on what it finds in ZooKeeper:

| its id | its owner | then |
|---|---|---|
| in the overlay | nobody yet | it is the broker, with the links of the topology |
| | itself, in an earlier life that is over | it goes on with what it remembers |
| | a deputy | it waits until that has left the overlay (or has died, too) |
| not in the overlay | | it begins empty, and asks to be added |
"""

import asyncio
import contextlib
import json
import logging
import random
import signal
import sys
from contextlib import AsyncExitStack
from typing import Any

from regraft.app.healing.databases import Databases
from regraft.app.healing.hosting import Hosted, Hosting
from regraft.app.healing.in_service import reinstate
from regraft.app.healing.manager import Manager
from regraft.app.healing.parts import Parts
from regraft.app.healing.settings import NodeSettings, from_json
from regraft.app.healing.watch import examine
from regraft.app.healing.whereabouts import Whereabouts
from regraft.broker.io.garbage import set_aside
from regraft.broker.io.inside import inside
from regraft.broker.io.orphans import end_with_parent
from regraft.broker.io.running import run
from regraft.broker.io.tls import accepting, dialling
from regraft.coord import Coord, CoordError, CoordUnreachable
from regraft.coord.typed import read
from regraft.deploy.journal import topology_of
from regraft.deploy.records import Current
from regraft.filters.index import load_compiled
from regraft.heal.detection import Evidence
from regraft.heal.ownership import NotTaken, Owner, Places, Why, all_owners, look
from regraft.heal.wire import AskJoin, Connections, Message
from regraft.heal.wire.messages import Hello
from regraft.model import BadInput, RegraftError
from regraft.model.process_log import start_logging

log = logging.getLogger("regraft.heal")
LINE_BYTES = 2**26
POLL_SECONDS = 0.1
JOIN_SECONDS = 3.0
ANSWER_SECONDS = 1.0
MANY_FILTERS = 24


class Node:
    """`async with Node(settings) as node`: it runs when its broker does; `ended` says that it has to go."""

    def __init__(self, settings: NodeSettings) -> None:
        self.settings = settings
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why."""
        self.manager: Manager | None = None
        self._stack = AsyncExitStack()
        self._early: list[tuple[str, Message]] = []

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
        return self.parts.hosting.brokers[self.settings.id]

    async def _start(self) -> None:
        settings, layout = self.settings, self.settings.layout
        coord = await self._stack.enter_async_context(await Coord.open(settings.zookeeper.configuration))
        whereabouts = Whereabouts(coord, layout, self._owner_changed)
        tls = settings.broker.tls
        connections = Connections(
            Hello(id=settings.id, life=0, token=settings.token),
            whereabouts.manager,
            self._heard,
            lambda peer: self.manager.watching.up(peer) if self.manager else None,
            lambda peer: self.manager.watching.down(peer) if self.manager else None,
            accepting=accepting(tls) if tls is not None else None,
            dialling=dialling(tls) if tls is not None else None,
        )
        databases = await self._stack.enter_async_context(Databases(coord, layout, settings.region))
        heal = await connections.listen(settings.broker.host, settings.heal_port)
        self._stack.push_async_callback(connections.stop)
        hosting = Hosting(settings, coord, whereabouts.addresses, heal, self._deposed)
        self.parts = Parts(settings, coord, hosting, whereabouts, connections, databases)
        self._stack.push_async_callback(self._end_brokers)
        self._stack.push_async_callback(whereabouts.stop)
        self._stack.push_async_callback(self.parts.stop)
        own = await self._begin()
        self.manager = Manager(self.parts, own)
        self._stack.callback(self._stop_managing)
        await self.manager.start()
        for peer, message in self._early:
            self.manager.heard(peer, message)
        self.parts.begin(self._join())
        self.parts.begin(self._leave())
        self.parts.begin(self._prepare_for_many_filters())

    def _stop_managing(self) -> None:
        """What happens from here on is of our own making."""
        if self.manager is not None:
            self.manager.stop()
            self.manager = None

    async def _end_brokers(self) -> None:
        for id in list(self.parts.hosting.brokers):
            await self.parts.hosting.end(id)

    # Beginning

    async def _begin(self) -> Hosted:
        """Our own broker, as soon as it is nobody else's."""
        said = ""
        while True:
            try:
                begun = await self._once()
            except CoordUnreachable as fault:
                begun = NotTaken(str(fault))
            if isinstance(begun, Hosted):
                return begun
            if begun.reason != said:
                said = begun.reason
                log.warning("%s waits: %s", self.settings.id, said)
            await asyncio.sleep(POLL_SECONDS)

    async def _once(self) -> Hosted | NotTaken:
        parts, id = self.parts, self.settings.id
        stored = await read(parts.coord, parts.layout.topology, Current)
        if stored is None:
            return NotTaken("there is no topology: no overlay has been started here")
        topology = parts.topology = topology_of(stored.value)
        parts.epoch = stored.value.epoch
        places = Places(parts.layout, id)
        owner, alive = await read(parts.coord, places.owner, Owner), await parts.coord.get(places.alive)
        why = Why.VACANT
        if alive is not None:
            if owner is None:
                return NotTaken(f"{id} has a presence and no owner")
            evidence = await examine(parts.coord, parts.layout, id, owner.value)
            if evidence is not Evidence.REFUSED:
                by = owner.value.by
                return NotTaken(f"it has a deputy at {by}" if by else "another process is this broker")
            why = Why.PROCESS_GONE
        for other, known in (await all_owners(parts.coord, parts.layout)).items():
            parts.whereabouts.learn(other, known.value)
        near = topology.neighbours.get(id)
        seen = await look(parts.coord, parts.layout, id)
        if owner is not None and (seen.owner is None or seen.owner.node.version != owner.node.version):
            return NotTaken("it has changed meanwhile")
        return await parts.hosting.begin(id, near or (), seen, why, empty=near is None)

    async def _join(self) -> None:
        """Ask others for an `add` until we are in the overlay."""
        assert self.manager is not None
        await self.manager.log.record(self.manager.own_record())
        outside = not self.manager.joined.is_set()
        while not self.manager.joined.is_set():
            with contextlib.suppress(CoordError):
                await self._ask_to_join()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(JOIN_SECONDS):
                    await self.manager.joined.wait()
        if outside:
            with contextlib.suppress(CoordError):
                await reinstate(self.parts.coord, self.parts.layout, self.settings.id)
        self._say_joined()

    async def _ask_to_join(self) -> None:
        assert self.manager is not None
        parts = self.parts
        if parts.topology is not None and self.settings.id in parts.topology.neighbours:
            return  # the watch will show it
        nodes = [
            id
            for id, owner in parts.whereabouts.owners.items()
            if id != self.settings.id and not owner.by and parts.topology and id in parts.topology.neighbours
        ]
        for node in random.sample(nodes, len(nodes)):
            with contextlib.suppress(TimeoutError):
                if not await self.manager.ask(node, self._wish_to_join, ANSWER_SECONDS):
                    return

    def _wish_to_join(self, number: int) -> Message:
        return AskJoin(number=number, broker=self.settings.id, beside=self.settings.beside)

    def _say_joined(self) -> None:
        log.info("%s is in the overlay", self.settings.id)

    async def _leave(self) -> None:
        assert self.manager is not None
        await self.manager.left.wait()
        self._end("its broker has left the overlay")

    async def _prepare_for_many_filters(self) -> None:
        """What matches many filters at once takes a second to load, and a process that has it takes longer to
        die: as long as the system takes its memory apart, its neighbours can not know that it is gone."""
        while (core := self.own.server.core) is None or inside(core).subscriptions < MANY_FILTERS:
            await asyncio.sleep(1.0)
        await asyncio.to_thread(load_compiled)

    # What happens

    def _heard(self, peer: str, message: Message) -> None:
        if self.manager is not None:
            self.manager.heard(peer, message)
        else:
            self._early = [*self._early[-100:], (peer, message)]

    def _owner_changed(self, id: str, owner: Owner) -> None:
        if self.manager is not None:
            self.manager.moved(id)

    def _deposed(self, id: str, reason: str) -> None:
        if id == self.settings.id:
            self._end(reason)
        elif self.manager is not None:
            self.manager.tidying.drop(id)
            self.parts.begin(self.parts.hosting.end(id))

    def _end(self, reason: str) -> None:
        if not self.ended.done():
            self.ended.set_result(reason)


class SpeakingNode(Node):
    """Says on standard output how far it is."""

    def _say_joined(self) -> None:
        super()._say_joined()
        _say({"joined": True})


async def main() -> int:
    care = asyncio.create_task(set_aside())
    try:
        return await _run()
    finally:
        care.cancel()


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
    with contextlib.suppress(OSError):  # nobody listens any more
        print(json.dumps(document), flush=True)


if __name__ == "__main__":
    start_logging("%(asctime)s %(name)s: %(message)s")
    end_with_parent()
    sys.exit(run(main()))
