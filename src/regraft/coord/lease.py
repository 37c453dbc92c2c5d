"""Exclusive ownership of one name, or of several at once, that ends with the owner's session.

On failure: when the holder's session expires, its nodes go and the next in the queue holds the lease. The
holder learns it by `lost`, which is set when the session is lost, when the connection has been away for so
long that the session may have expired, or when somebody has deleted the node. That is a prompt: a process
that was asleep may hear of it late. What makes a late writer harmless is `write`: its transaction checks
that the lease's nodes are still there, so it can not happen after another has taken over. Outside
ZooKeeper, compare `token`: it grows from each holder to the next.

Each name has a queue of ephemeral sequential nodes, and the first in it holds the name. Who wants several
names takes a place in all their queues in one transaction; places are thus in the same order in every
queue, so whoever waits, waits only for those who came before: nobody waits in a circle.
"""

import asyncio
import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from regraft.coord.client import Coord
from regraft.coord.errors import CoordError, CoordUnreachable, Corrupt, LeaseLost, Missing
from regraft.coord.layout import corrupt
from regraft.coord.values import Change, Check, Create, Operation, State
from regraft.coord.writes import SEQUENCE_DIGITS, Result, sequence_of

MARGIN = 0.25
"""Of the session's timeout. kazoo notices a silent server after two thirds of it; what is left of the last
third, less the time of a check, is how long a holder without a connection may be sure."""


@dataclass(frozen=True)
class Held:
    """The expected no: somebody else holds `path`, or is before us in its queue."""

    path: str
    by: str


class Lease:
    """Held until `release`, or until `lost` is set. `async with lease:` releases it at the end."""

    def __init__(self, coord: Coord, who: str, places: Sequence[str], token: int, tag: str) -> None:
        self.who = who
        self.token = token
        """Grows from each holder of a name to the next (the czxid of its node)."""
        self.lost = asyncio.Event()
        self.fence: tuple[Operation, ...] = tuple(Check(place, 0) for place in places)
        """For transactions of one's own: they happen only while the lease is held."""
        self._coord = coord
        self._tag = tag
        self._places = places
        self._session_id = coord.session_id
        self._released = False
        self._doubt: asyncio.TimerHandle | None = None
        self._forget = coord.on_state(self._on_state)
        self._guards = [asyncio.create_task(self._guard(place)) for place in places]
        if coord.state is State.SUSPENDED:
            self._on_state(Change(State.SUSPENDED, coord.session_id, False))

    @property
    def held(self) -> bool:
        return not self._released and not self.lost.is_set()

    async def __aenter__(self) -> "Lease":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.release()

    async def write(self, operations: Sequence[Operation]) -> list[Result]:
        """A transaction that happens only while the lease is held; otherwise `LeaseLost`."""
        if not self.held:
            raise LeaseLost(self._places[0])
        try:
            done = await self._coord.transaction([*self.fence, *operations])
        except Missing as fault:
            if fault.path in self._places:
                self.lost.set()
                raise LeaseLost(fault.path) from None
            raise
        return done[len(self.fence) :]

    async def release(self) -> None:
        """Gives the names to the next. Without a connection, as soon as there is one, or with the session."""
        if self._released:
            return
        self._released = True
        self._end_guards()
        await _withdraw(self._coord, [_queue(place) for place in self._places], self._tag)

    def _on_state(self, change: Change) -> None:
        if self._doubt is not None:
            self._doubt.cancel()
            self._doubt = None
        if change.state is State.SUSPENDED:
            sure = self._coord.session_timeout * MARGIN
            self._doubt = asyncio.get_running_loop().call_later(sure, self._lose)
        elif change.state is not State.CONNECTED or change.session_id != self._session_id:
            self._lose()

    def _lose(self) -> None:
        if not self._released:
            self.lost.set()
            self._forget()

    async def _guard(self, place: str) -> None:
        """Somebody may delete the node while the session lives."""
        async for node in self._coord.watch(place):
            if node is None:
                self._lose()
                return

    def _end_guards(self) -> None:
        self._forget()
        if self._doubt is not None:
            self._doubt.cancel()
        for guard in self._guards:
            guard.cancel()


async def acquire(coord: Coord, paths: str | Sequence[str], who: str, *, wait: float = 0) -> Lease | Held:
    """The lease on all of `paths`, or who is before us after `wait` seconds (`math.inf`: no limit).

    Fair: first come, first served. Cancelled, or failed for want of a connection, it leaves no place in
    the queues as soon as there is a connection, or the session ends.
    """
    queues = [paths] if isinstance(paths, str) else sorted(set(paths))
    if not queues:
        raise ValueError("a lease is on at least one name")
    if wait <= 0:
        for queue in queues:  # nobody is held up by a place that is taken only to give it back
            if names := await _in_line(coord, queue):
                return await _held(coord, f"{queue}/{names[0]}")
    contender = _Contender(coord, queues, who)
    try:
        async with asyncio.timeout(None if math.isinf(wait) else max(wait, 0)) as limit:
            if wait <= 0:
                limit.reschedule(None)
            before = await contender.advance(patient=wait > 0)
    except TimeoutError:
        before = contender.before
    except BaseException:
        contender.leave()
        raise
    if before is None:
        return await contender.lease()
    held = await _held(coord, before)
    await _withdraw(coord, queues, contender.tag)
    return held


class _Contender:
    """A place in every queue, on the way to the front."""

    def __init__(self, coord: Coord, queues: Sequence[str], who: str) -> None:
        self.tag = uuid.uuid4().hex
        self.before: str | None = None
        """Who stands before us, as far as we know."""
        self._coord = coord
        self._queues = queues
        self._who = who
        self._places: list[str] = []
        self._session_id: int | None = None

    async def advance(self, *, patient: bool) -> str | None:
        """None when every name is ours; or, without patience, a node that stands before ours."""
        await self._enqueue()
        while True:
            self.before = await self._predecessor()
            if self.before is None or not patient:
                return self.before
            await self._vanished(self.before)

    async def lease(self) -> Lease:
        node = await self._coord.get(self._places[0])
        if node is None:
            raise LeaseLost(self._places[0])
        return Lease(self._coord, self._who, self._places, node.czxid, self.tag)

    def leave(self) -> None:
        """The names of our nodes may be unknown, if the answer was lost; the tag finds them."""
        self._coord.in_background(_withdraw(self._coord, self._queues, self.tag))

    async def _enqueue(self) -> None:
        creates = [Create(f"{queue}/", self._who.encode(), True, True) for queue in self._queues]
        try:
            places = await self._coord.transaction(creates, tag=self.tag)
        except Missing:
            for queue in self._queues:
                await self._coord.ensure(queue)
            places = await self._coord.transaction(creates, tag=self.tag)
        self._places = [str(place) for place in places]
        self._session_id = self._coord.session_id

    async def _predecessor(self) -> str | None:
        """Once first in a queue, always first: nobody comes in before. So one look at each suffices."""
        for queue, place in zip(self._queues, self._places, strict=True):
            names = await _in_line(self._coord, queue)
            own = place.rpartition("/")[2]
            if own not in names:  # gone with the session, or deleted: to the end of the queues
                await _withdraw(self._coord, self._queues, self.tag)
                await self._enqueue()
                return await self._predecessor()
            if names[0] != own:
                return f"{queue}/{names[names.index(own) - 1]}"
        return None

    async def _vanished(self, place: str) -> None:
        """Until the node is gone; or our session is, and our places with it."""
        renewed = asyncio.Event()
        forget = self._coord.on_state(lambda change: renewed.set() if change.new_session else None)
        if self._coord.session_id != self._session_id:
            renewed.set()
        waits = [asyncio.create_task(self._absence(place)), asyncio.create_task(renewed.wait())]
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        finally:
            forget()
            for one in waits:
                one.cancel()

    async def _absence(self, place: str) -> bool:
        async for node in self._coord.watch(place):
            if node is None:
                return True
        raise CoordError(f"{place}: the connection was closed while waiting for the lease")


def in_order(queue: str, names: Sequence[str]) -> list[str]:
    """The queue from its front."""
    for name in names:
        if not (name[-SEQUENCE_DIGITS:].isdecimal() and len(name) > SEQUENCE_DIGITS):
            raise corrupt(f"{queue}/{name}", "is no place in a queue")
    return sorted(names, key=sequence_of)


async def _in_line(coord: Coord, queue: str) -> list[str]:
    try:
        return in_order(queue, await coord.children(queue))
    except Corrupt as fault:
        raise fault.at(coord.configuration.hosts) from None


def _queue(place: str) -> str:
    return place.rpartition("/")[0]


async def _held(coord: Coord, place: str) -> Held:
    node = await coord.get(place)
    return Held(
        _queue(place), "somebody who has just left" if node is None else node.data.decode(errors="replace")
    )


async def _withdraw(coord: Coord, queues: Sequence[str], tag: str) -> None:
    """Takes our places away; tries again while the session, and thus the places, live."""
    session_id = coord.session_id
    while coord.state is not State.CLOSED and coord.session_id == session_id:
        try:
            for queue in queues:
                for name in await coord.children(queue):
                    if tag in name:
                        await coord.delete(f"{queue}/{name}")
            return
        except CoordUnreachable:
            continue
