"""Exclusive ownership of one name, or of several at once, that ends with the owner's session.

On failure: when the holder's session expires, its nodes are deleted and the next in the queue holds the
lease. The holder learns it by `lost`, which is set when the session is lost, when there has been no
connection for so long that the session may have expired, or when the node was deleted. That is only a hint:
a process that was suspended may see it late. `write` makes a late writer harmless: its transaction checks
that the lease's nodes still exist, so it cannot happen after another holder has taken over. Outside
ZooKeeper, compare `token`: it grows from each holder to the next.

Each name has a queue (`queues`), and the first in it holds the name.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from regraft.coord.client import Coord
from regraft.coord.errors import CoordError, CoordUnreachable, LeaseLost, Missing
from regraft.coord.queues import Contender, in_line
from regraft.coord.values import Check, ConnectionChange, ConnectionState, Node, Operation
from regraft.coord.writes import Result

MARGIN = 0.25
"""For which part of the session's timeout a holder without a connection may be sure of the lease. kazoo
notices a silent server after two thirds of the timeout; this is the last third, less the time of a check."""


@dataclass(frozen=True)
class Held:
    """The expected no: another contender (`by`) holds `path`, or is before us in its queue."""

    path: str
    by: str


class Lease:
    """Held until `release`, or until `lost` is set. `async with lease:` releases it at the end."""

    def __init__(self, coord: Coord, who: str, contender: Contender, first: Node) -> None:
        """`first`: our node in the first queue, as it was read when we were at the front."""
        places = contender.places
        self.who = who
        self.token = first.czxid
        """Grows from each holder of a name to the next (the czxid of its node)."""
        self.lost = asyncio.Event()
        self.fence: tuple[Operation, ...] = tuple(Check(place, 0) for place in places)
        """Operations that make a transaction of the caller happen only while the lease is held."""
        self._coord = coord
        self._contender = contender
        self._places = places
        self._session_id = first.ephemeral_owner
        self._released = False
        self._doubt: asyncio.TimerHandle | None = None
        self._forget = coord.on_state(self._on_state)
        self._guards = [asyncio.create_task(self._guard(place)) for place in places]
        self._on_state(
            ConnectionChange(coord.state, coord.session_id, False)
        )  # it may have changed meanwhile

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
        """Leave the queues. Without a connection that happens on reconnecting, or when the session ends."""
        if self._released:
            return
        self._released = True
        self._end_guards()
        await _leave(self._coord, self._contender)

    def _on_state(self, change: ConnectionChange) -> None:
        if self._doubt is not None:
            self._doubt.cancel()
            self._doubt = None
        if change.state is ConnectionState.SUSPENDED:
            sure = self._coord.session_timeout * MARGIN
            self._doubt = asyncio.get_running_loop().call_later(sure, self._lose)
        elif change.state is not ConnectionState.CONNECTED or change.session_id != self._session_id:
            self._lose()

    def _lose(self) -> None:
        if not self._released:
            self.lost.set()
            self._forget()

    async def _guard(self, place: str) -> None:
        """Notice when the node is deleted while the session lives."""
        try:
            async for node in self._coord.watch(place):
                if node is None:
                    break
        except CoordError:
            pass  # we may no longer read the node, so the lease is no longer ours
        self._lose()

    def _end_guards(self) -> None:
        self._forget()
        if self._doubt is not None:
            self._doubt.cancel()
        for guard in self._guards:
            guard.cancel()


async def acquire(coord: Coord, paths: str | Sequence[str], who: str, *, wait: float = 0) -> Lease | Held:
    """The lease on all of `paths`, or who is before us after `wait` seconds (`math.inf`: no limit).

    Fair: first come, first served. If it is cancelled, or fails for want of a connection, its places in the
    queues are removed as soon as there is a connection, or the session ends.
    """
    queues = [paths] if isinstance(paths, str) else sorted(set(paths))
    if not queues:
        raise ValueError("a lease is on at least one name")
    if wait <= 0:
        for queue in queues:  # do not delay others by a place that would be given up at once
            if names := await in_line(coord, queue):
                return await _held(coord, f"{queue}/{names[0]}")
    contender = Contender(coord, queues, who)
    try:
        before = await _advanced(contender, coord, wait)
        if before is not None:
            held = await _held(coord, before)
            await _leave(coord, contender)
            return held
        first = await coord.get(contender.places[0])
        if first is None:
            raise LeaseLost(contender.places[0])
    except BaseException:
        contender.leave()
        raise
    return Lease(coord, who, contender, first)


async def _advanced(contender: Contender, coord: Coord, wait: float) -> str | None:
    try:
        async with asyncio.timeout(wait if 0 < wait < math.inf else None):
            return await contender.advance(patient=wait > 0)
    except TimeoutError:
        if contender.before is None:
            reason = f"no place in the queue within {wait:g} s"
            raise CoordUnreachable(coord.configuration.hosts, reason) from None
        return contender.before


async def _held(coord: Coord, place: str) -> Held:
    node = await coord.get(place)
    by = "a holder that has just left" if node is None else node.data.decode(errors="replace")
    return Held(place.rpartition("/")[0], by)


async def _leave(coord: Coord, contender: Contender) -> None:
    """Leave the queues. Wait no longer than a call may take; the rest continues in the background."""
    await asyncio.wait([contender.leave()], timeout=coord.configuration.timeout)
