"""Carries out what the core asks for: with ZooKeeper, the destination database, the deployer, sockets.

Each request is a task; its answer, or the `RegraftError` that it failed with, is told with its number. The
core decides what is asked, and what follows from the answer.
"""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from regraft.coord import Coord, CoordError, Layout
from regraft.heal.core import requests
from regraft.heal.core.events import Answered, Failed
from regraft.heal.core.tasks import Request
from regraft.heal.detection import Evidence
from regraft.heal.grant import Denied, Grant
from regraft.heal.measured_demand import last_measured
from regraft.heal.owner import NotTaken, Owner, Seen
from regraft.heal.ownership import look
from regraft.model import RegraftError, Topology
from regraft.model.intents import Clone, Migrate
from regraft.node.healing.databases import Databases
from regraft.node.healing.deploy import carry_out, current, finish_others, remove_dead_deployer
from regraft.node.healing.hosting import Hosting
from regraft.node.healing.in_service import ask_to_start, claim, reinstate, retire
from regraft.node.healing.settings import NodeSettings
from regraft.node.healing.whereabouts import Whereabouts, examine

log = logging.getLogger("regraft.heal")
PATIENCE = 5.0
"""How many seconds to wait for a grant."""


class RequestTasks:
    """Runs requests as tasks; `tell` gets the outcome of each before its task ends."""

    def __init__(
        self,
        answer: Callable[[Request[Any]], Awaitable[object]],
        tell: Callable[[Answered | Failed], None],
    ) -> None:
        self._answer = answer
        self._tell = tell
        self._running: dict[int, asyncio.Task[None]] = {}

    def begin(self, number: int, request: Request[Any]) -> None:
        self._running[number] = asyncio.create_task(self._carry_out(number, request))

    def forget(self, number: int) -> None:
        if (task := self._running.pop(number, None)) is not None:
            task.cancel()

    async def stop(self) -> None:
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_out(self, number: int, request: Request[Any]) -> None:
        told: Answered | Failed
        try:
            told = Answered(number, await self._answer(request))
        except RegraftError as fault:
            told = Failed(number, fault)
        except Exception as fault:
            log.exception("%s has failed", request)
            told = Failed(number, RegraftError(f"{type(request).__name__} has failed: {fault!r}"))
        if self._running.pop(number, None) is not None:
            self._tell(told)


class RequestHandlers:
    """How each request is carried out at one node."""

    def __init__(
        self,
        settings: NodeSettings,
        coord: Coord,
        hosting: Hosting,
        whereabouts: Whereabouts,
        databases: Databases,
    ) -> None:
        self._settings = settings
        self._coord, self._layout = coord, settings.layout
        self._hosting = hosting
        self._whereabouts = whereabouts
        self._databases = databases
        self._demand: requests.Demand | None = None
        """The traffic that was measured last; before that, the one of the settings."""
        self.answers: dict[type[Request[Any]], Callable[[Any], Awaitable[object]]] = {
            requests.Examine: self._examine,
            requests.FindOwner: lambda asked: whereabouts.find(asked.broker),
            requests.Look: self._look,
            requests.StandIn: self._stand_in,
            requests.EndDeputy: lambda asked: hosting.end(asked.broker),
            requests.RemoveDeadDeployer: lambda asked: remove_dead_deployer(
                coord, self._layout, asked.session
            ),
            requests.Sync: lambda asked: coord.sync(),
            requests.Start: lambda asked: ask_to_start(coord, self._layout, asked.broker, asked.beside),
            requests.Claim: self._claim,
            requests.Retire: lambda asked: retire(coord, self._layout, asked.broker),
            requests.Reinstate: lambda asked: reinstate(coord, self._layout, asked.broker),
            requests.AskGrant: self._ask_grant,
            requests.Release: self._release,
            requests.WriteBroker: self._put_broker,
            requests.MarkLeft: self._mark_left,
            requests.ReadTopology: self._topology,
            requests.Execute: lambda asked: carry_out(coord, self._layout, asked.plan, asked.limits),
            requests.FinishOthers: lambda asked: finish_others(coord, self._layout, asked.limits),
            requests.ReadDemand: self._read_demand,
            requests.ReadComponents: lambda asked: components_of(coord, self._layout),
            requests.MoveComponents: lambda asked: move_components(coord, self._layout, asked.intent),
        }

    async def answer(self, request: Request[Any]) -> object:
        return await self.answers[type(request)](request)

    # A broker

    async def _examine(self, asked: requests.Examine) -> Evidence:
        return await examine(self._coord, self._layout, asked.broker, asked.owner)

    async def _look(self, asked: requests.Look) -> Seen:
        found = await look(self._coord, self._layout, asked.broker)
        owner = found.owner.value if found.owner is not None else None
        return Seen(owner, found.alive.ephemeral_owner if found.alive is not None else 0, found)

    async def _stand_in(self, asked: requests.StandIn) -> Owner | NotTaken:
        hosted = await self._hosting.begin(asked.broker, asked.neighbours, asked.seen.basis, asked.why)
        if isinstance(hosted, NotTaken):
            return hosted
        self._whereabouts.learn(asked.broker, hosted.owner)
        return hosted.owner

    async def _claim(self, asked: requests.Claim) -> str:
        return await claim(self._coord, self._layout, asked.broker, self._settings.removals, time.time())

    # The destination database

    async def _ask_grant(self, asked: requests.AskGrant) -> Grant | Denied:
        return await (await self._databases.client()).request(asked.request, PATIENCE)

    async def _release(self, asked: requests.Release) -> None:
        adaptation = asked.adaptation
        if adaptation is not None:
            adaptation = msgspec.structs.replace(adaptation, at=time.time())
        await (await self._databases.client()).release(asked.grant, adaptation)

    async def _put_broker(self, asked: requests.WriteBroker) -> None:
        """Not if it has got another owner while we waited for a database: that one's record would be lost."""
        client = await self._databases.client()
        here = self._hosting.brokers.get(asked.record.id)
        if here is not None and here.owner.life == asked.record.life:
            await client.put_broker(asked.record)

    async def _mark_left(self, asked: requests.MarkLeft) -> None:
        record = asked.record
        client = await self._databases.client()
        before = (await client.brokers([record.id])).get(record.id, record)
        if before.state != "up":
            await client.put_broker(
                msgspec.structs.replace(before, state=record.state, heir=record.heir, port=0)
            )

    # Plans

    async def _topology(self, asked: requests.ReadTopology) -> Topology | None:
        return await current(self._coord, self._layout)

    async def _read_demand(self, asked: requests.ReadDemand) -> requests.Demand | None:
        if self._demand is None and self._settings.traffic is not None:
            from regraft.model.traffic_files import read_traffic  # noqa: PLC0415 — few nodes are given any

            traffic = await asyncio.to_thread(read_traffic, self._settings.traffic)
            self._demand = requests.Demand(traffic, {})
        try:
            measured = await last_measured(self._coord, self._layout)
        except CoordError as fault:
            log.warning("%s: the measured traffic cannot be read: %s", self._settings.id, fault)
        else:
            if measured is not None:
                self._demand = requests.Demand(measured.traffic, measured.link_costs)
        return self._demand


# Components of applications (Mimosa Pudica §4.3, rules 3 and 4). Their hosts run beside the brokers and are
# found in ZooKeeper: the leader gives the orders, and needs no host itself. Few overlays have components, so
# their code is loaded when it is needed.


async def components_of(coord: Coord, layout: Layout) -> dict[str, tuple[str, ...]]:
    """The components of each broker; `DirectoryAway` or `Corrupt` if they cannot be read."""
    from regraft.components.directory import ZookeeperDirectory, places  # noqa: PLC0415

    return places(await ZookeeperDirectory(coord, layout).all())


async def move_components(coord: Coord, layout: Layout, intent: Migrate | Clone) -> str:
    """Empty, or which of them have not arrived, and why."""
    from regraft.components.caller import Calls  # noqa: PLC0415
    from regraft.components.directory import ZookeeperDirectory  # noqa: PLC0415
    from regraft.components.intents import carry_out  # noqa: PLC0415

    directory = ZookeeperDirectory(coord, layout)
    async with Calls.from_environment(directory, os.environ) as calls:
        done = await carry_out(intent, calls, directory)
    return "; ".join(f"{name}: {reason}" for name, reason in done.refused)
