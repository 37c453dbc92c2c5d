"""A broker as master of its own neighbourhood, live (OCBR §3): the shell around `design.ocbr.Master`.

Every Δt the shell shows the master what its broker has seen of the traffic. It takes the lease on the
neighbourhood that the master asks for, and has the master's shifts carried out by a deployer like any other
plan: verified, in the journal, with no publication lost. It keeps nothing that cannot be read again, so it
may be killed at any moment: the next master that has a change to make finishes the run that was left.

Masters decide at the same time, but the overlay has one journal, so their runs come one after the other. A
master that waits for its turn keeps its lease, so that its neighbourhood does not change meanwhile. The
states of a master are in `design.ocbr.master`.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from regraft.coord import CoordError, Held, Lease, acquire
from regraft.coord.typed import read, watch
from regraft.deploy.records import Current
from regraft.design.ocbr.master import (
    Command,
    Done,
    Event,
    Granted,
    Linked,
    Lock,
    Lost,
    Master,
    Measured,
    Propose,
    Refused,
    Unlock,
    Wake,
    Woken,
)
from regraft.design.ocbr.rearrange import Costs
from regraft.model import Action, RegraftError
from regraft.protocol.telemetry import AnyRecord
from regraft.rearrange.deploying import POLL_SECONDS, LiveOverlay, deploy_shifts
from regraft.rearrange.segment_views import Segments, Sightings

log = logging.getLogger("regraft.rearrange")
FRESH = 0.1
"""The part of Δt for which what was last read from the store is not read again."""
ENOUGH = 0.5
"""The part of Δt for which links must have stayed the same, so that what was seen counts as a measurement."""


class Rearranged(NamedTuple):
    """A change that a master wanted, and what became of it."""

    broker: str
    actions: tuple[Action, ...]
    saves: float
    """By how much the traffic of one Δt becomes cheaper."""
    ok: bool
    reason: str = ""


@dataclass(frozen=True)
class Pace:
    """`delta_t` is OCBR's Δt. Records are in the store at most `settled` seconds after they were made:
    brokers close a segment every two seconds, and then it has to arrive there. A master waits for its turn
    for at most `patience` seconds."""

    delta_t: float = 60.0
    settled: float = 5.0
    patience: float = 60.0


class Rearranging:
    """The masters of these brokers, in one process; those of other brokers may run anywhere."""

    def __init__(
        self,
        brokers: Iterable[str],
        live: LiveOverlay,
        segments: Segments,
        *,
        costs: Costs = Costs(),  # noqa: B008 — a frozen value
        pace: Pace = Pace(),  # noqa: B008 — a frozen value
        seed: int = 0,
        tell: Callable[[Rearranged], None] = lambda change: None,
    ) -> None:
        self.live, self.pace, self.tell = live, pace, tell
        self._segments = segments
        self._looking = asyncio.Lock()
        self._looked = 0
        """When the store was last asked for what is new, in microseconds since 1970."""
        names = sorted(set(brokers))
        self._sightings = Sightings(names)
        self._shells = [
            MasterShell(self, Master(id, costs, pace.delta_t, random.Random(f"{seed} {id}"))) for id in names
        ]

    async def run(self) -> None:
        """Until `end` is called, or it is cancelled. After a fault a master continues with the next Δt."""
        await asyncio.to_thread(self._segments.skip)
        async with asyncio.TaskGroup() as group:
            for each in self._shells:
                group.create_task(each.run())

    def end(self) -> None:
        """Masters finish the change that is under way, and begin no other."""
        for each in self._shells:
            each.end()

    async def sightings(self) -> tuple[Sightings, int]:
        """What has been seen, and until when nothing is missing, in microseconds since 1970."""
        pace = self.pace
        async with self._looking:  # one look serves many masters
            now = _now()
            if now - self._looked > _micros(pace.delta_t * FRESH):
                found: list[AnyRecord] = []
                try:
                    # A list that is extended keeps what came before a fault.
                    await asyncio.to_thread(lambda: found.extend(self._segments.new()))
                    self._looked = now
                except RegraftError as fault:
                    log.warning("traffic is not seen: %s", fault)
                for record in found:
                    self._sightings.add(record)
        return self._sightings, self._looked - _micros(pace.settled)


class MasterShell:
    """Runs one master: brings it events, and carries out what it commands."""

    def __init__(self, all: Rearranging, master: Master) -> None:
        self._all, self._master = all, master
        self._coord, self._layout = all.live.coord, all.live.layout
        self._who = f"master {master.broker}"
        self._events: asyncio.Queue[Event | Current] = asyncio.Queue()
        self._since = _now()
        """Since then our links are the same, and what was seen has not been used yet."""
        self._lease: Lease | None = None
        self._ended = False

    def end(self) -> None:
        self._ended = True
        self._events.put_nowait(Woken())

    async def run(self) -> None:
        watching = asyncio.create_task(self._watch())
        try:
            while True:
                event = await self._events.get()
                # Only here, between two events: a change that is under way is finished first.
                if self._ended:
                    return
                if isinstance(event, Current):
                    await self._obey(self._links(event))
                elif isinstance(event, Woken):
                    await self._obey([*await self._measure(), *self._master.handle(event)])
        finally:
            watching.cancel()
            await self._release()

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(CoordError):
                async for stored in watch(self._coord, self._layout.topology, Current):
                    if stored is not None and not isinstance(stored, Exception):
                        self._events.put_nowait(stored.value)
            await asyncio.sleep(POLL_SECONDS)

    # What the master is told

    def _links(self, current: Current) -> list[Command]:
        """Tell the master its links, if they have changed. Changes elsewhere do not concern it."""
        broker = self._master.broker
        near = frozenset(
            one if other == broker else other for one, other in current.links if broker in (one, other)
        )
        if near == self._master.neighbours and self._master.epoch >= 0:
            return []
        self._since = _now()
        return self._master.handle(Linked(near, current.epoch))

    async def _measure(self) -> list[Command]:
        """The traffic of the Δt that is over, if our links were the same for long enough."""
        master = self._master
        sightings, until = await self._all.sightings()
        if until - self._since < _micros(ENOUGH * self._all.pace.delta_t):
            return []
        view = sightings.view(master.broker, master.neighbours, self._since, until)
        sightings.forget(master.broker, until)
        self._since = until
        return master.handle(Measured(view, master.epoch))

    # What the master wants

    async def _obey(self, commands: list[Command]) -> None:
        waiting = list(commands)
        while waiting:
            match waiting.pop(0):
                case Wake(after):
                    asyncio.get_running_loop().call_later(after, self._events.put_nowait, Woken())
                case Lock(ticket, brokers):
                    waiting += await self._lock(ticket, brokers)
                case Propose() as propose:
                    waiting += self._master.handle(await self._carry_out(propose))
                case Unlock():
                    await self._release()
        if self._lease is not None and not self._master.wanted:  # after `Lost` there is no `Unlock`
            await self._release()

    async def _lock(self, ticket: int, brokers: frozenset[str]) -> list[Command]:
        """The lease; the master hears its links as they are under the lease before it hears `Granted`.

        Otherwise it could change links that were different when it decided.
        """
        try:
            names = [self._layout.lock("broker", id) for id in sorted(brokers)]
            held = await acquire(self._coord, names, self._who)
            if isinstance(held, Held):
                log.info("%s: %s is held by %s", self._who, held.path, held.by)
                return self._master.handle(Refused(ticket))
            self._lease = held
            await self._coord.sync()
            current = await read(self._coord, self._layout.topology, Current)
        except CoordError as fault:
            log.warning("%s: %s", self._who, fault)
            return self._master.handle(Lost(ticket))
        told = self._links(current.value) if current is not None else []
        return [*told, *self._master.handle(Granted(ticket))]

    async def _release(self) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            with contextlib.suppress(CoordError):
                await lease.release()

    async def _carry_out(self, propose: Propose) -> Event:
        assert self._lease is not None, "a master proposes only under a lease"
        try:
            reason = await deploy_shifts(
                self._all.live, propose.actions, self._lease, self._all.pace.patience
            )
        except CoordError as fault:  # if the run began, it is in the journal, and the next master finishes it
            log.warning("%s: %s", self._who, fault)
            self._tell(propose, str(fault))
            return Lost(propose.ticket)
        except RegraftError as fault:
            reason = str(fault)
        self._tell(propose, reason)
        return Done(propose.ticket, ok=not reason)

    def _tell(self, propose: Propose, reason: str) -> None:
        self._all.tell(Rearranged(self._master.broker, propose.actions, propose.saves, not reason, reason))


def _now() -> int:
    return time.time_ns() // 1000


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)
