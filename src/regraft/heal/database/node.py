"""A destination database: a server that stores and answers, and decides nothing (Mimosa Pudica §3.2).

On failure: without its store it answers from its peers; without ZooKeeper it still answers what it knows, but
grants nothing and stores no rules. When it comes back after a crash it first gets what it missed.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

import msgspec

from regraft.coord import Configuration, Coord, CoordError, CoordUnreachable, Layout
from regraft.heal.database.broker_copies import BrokerCopies
from regraft.heal.database.granting import Granting
from regraft.heal.database.metadata import Metadata, RunningDatabase
from regraft.heal.database.protocol import (
    ASKED,
    Ask,
    Call,
    DatabaseAnswer,
    GetAdaptations,
    GetBrokers,
    GetDocument,
    GetGrant,
    GetRules,
    Keep,
    PutAdaptation,
    PutBroker,
    PutRules,
    ReleaseGrant,
    trouble,
)
from regraft.heal.database.replicas import Replicas
from regraft.heal.database.rule_sets import RuleSets
from regraft.heal.database.store import Store
from regraft.wire.requests import Answering
from regraft.wire.streams import address_of, listen

MOST_CALLS = 1_000
"""How many calls may be open at a time on one connection."""
MOST_ADAPTATIONS = 10_000


@dataclass(frozen=True)
class DatabaseTiming:
    """Seconds. `grant`: how long a grant may be held before its asker is taken for dead."""

    grant: float = 10.0
    sweep: float = 5.0
    lost: float = 5.0
    """How long a database may be away before its records are copied elsewhere."""
    check: float = 0.25


class Answers:
    """Which part of a database answers which request.

    `patience`: seconds for a grant; `grace`: for a database that is away, before it counts as lost.
    """

    def __init__(self, replicas: Replicas, metadata: Metadata, patience: float, grace: float) -> None:
        self.granting = Granting(replicas, metadata, patience)
        self.copies = BrokerCopies(replicas, metadata, grace)
        self._rules = RuleSets(replicas, metadata)
        self._replicas = replicas

    async def to(self, ask: Ask) -> DatabaseAnswer:
        answer = DatabaseAnswer(number=0)
        match ask:
            case GetGrant():
                answer = await self.granting.grant(ask.request)
            case ReleaseGrant():
                await self.granting.release(ask.grant)
            case GetBrokers():
                answer = await self.copies.get(ask)
            case PutBroker():
                answer = await self.copies.put(ask.record)
            case Keep():
                if not await self._replicas.keep_all(ask):
                    answer = trouble("the store of this database does not answer")
            case GetDocument():
                data = await self._replicas.own_document(ask.name)
                answer = DatabaseAnswer(number=0, document=data.decode() if data is not None else None)
            case GetRules():
                answer = await self._rules.get(ask)
            case PutRules():
                answer = await self._rules.put(ask)
            case PutAdaptation():
                copies = await self._replicas.everywhere(Keep(adaptations=(ask.adaptation,)))
                answer = (
                    DatabaseAnswer(number=0, copies=copies)
                    if copies
                    else trouble("no database could store it")
                )
            case GetAdaptations():
                found = await self._replicas.adaptations(min(ask.most, MOST_ADAPTATIONS), here=ask.here)
                answer = DatabaseAnswer(number=0, adaptations=found)
        return answer


class DatabaseNode:
    """`async with DatabaseNode("d1", store_of("sqlite:d1.db"), Configuration(hosts)) as node: node.port`"""

    def __init__(
        self,
        id: str,
        store: Store,
        configuration: Configuration,
        layout: Layout | None = None,
        *,
        address: tuple[str, int] = ("127.0.0.1", 0),
        region: str = "",
        timing: DatabaseTiming | None = None,
    ) -> None:
        self.id = id
        self.host, self.port = address
        self.region = region
        self._store = store
        self._configuration = configuration
        self._layout = layout or Layout()
        self._timing = timing or DatabaseTiming()
        self._stack = contextlib.AsyncExitStack()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._open: set[Answering[Call, DatabaseAnswer]] = set()

    @property
    def faults(self) -> list[str]:
        """The last things that went wrong, each with its reason."""
        return self._metadata.faults

    async def __aenter__(self) -> "DatabaseNode":
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _start(self) -> None:
        coord = await self._stack.enter_async_context(await Coord.open(self._configuration))
        self._metadata = Metadata(coord, self._layout)
        self._stack.push_async_callback(self._metadata.stop)
        self._stack.push_async_callback(self._store.close)
        await self._store.open()
        await self._metadata.start()
        self._replicas = Replicas(self.id, self._store, self._metadata)
        self._stack.push_async_callback(self._replicas.close)
        self._answers = Answers(self._replicas, self._metadata, self._timing.grant, self._timing.lost)
        server = await listen(self._accept, (self.host, self.port))
        self.port = address_of(server)[1]
        self._stack.callback(server.close)
        await self._replicas.sweep()
        here = RunningDatabase(host=self.host, port=self.port, region=self.region, store=self._store.name)
        await self._metadata.announce(self.id, here)
        self._begin(self._regularly(self._timing.sweep, self._replicas.sweep))
        self._begin(self._regularly(self._timing.check, self._answers.granting.expire))
        self._begin(self._regularly(self._timing.sweep, self._answers.copies.copy_lost))

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for asker in list(self._open):
            asker.close()
        await self._stack.aclose()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _regularly(self, seconds: float, work: Any) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()
            except CoordError as fault:
                self._metadata.note(str(fault))

    async def _answer(self, call: Call) -> DatabaseAnswer:
        try:
            answer = await self._answers.to(call.ask)
        except CoordUnreachable as fault:
            answer = trouble(str(fault))
        except CoordError as fault:
            answer = DatabaseAnswer(number=0, refused=str(fault))
        return msgspec.structs.replace(answer, number=call.number)

    def _refuse(self, peer: str, reason: str) -> DatabaseAnswer:
        self._metadata.note(f"caller {peer}: {reason}")
        return DatabaseAnswer(number=0, refused=reason)

    def _accept(self) -> Answering[Call, DatabaseAnswer]:
        return Answering(ASKED, self._open, self._answer, self._begin, self._refuse, MOST_CALLS)
