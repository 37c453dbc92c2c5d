"""The running overlay, through ZooKeeper: its topology, its brokers, and the one lease that the loop holds.

On failure: without the lease nothing is changed. Every request may raise `CoordError`; the estate reports it
to the loop, which only observes until `probe` gets the lease again. A second loop on an overlay is refused.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from regraft.coord import (
    Configuration,
    Coord,
    CoordError,
    CoordUnreachable,
    Corrupt,
    Held,
    Layout,
    Lease,
    acquire,
)
from regraft.coord.layout import decoded
from regraft.coord.typed import read, watch
from regraft.deploy.journal import topology_of
from regraft.deploy.records import Current, Status
from regraft.deploy.statistics import Statistics
from regraft.estate.protocol import AnotherLoop, BrokerFacts, Known
from regraft.model import BadInput

LOOP = "loop"
AGAIN_SECONDS = 1.0


class RunningOverlay:
    """`async with RunningOverlay.connected(...)`: the loop's lease is held inside."""

    def __init__(self, coord: Coord, layout: Layout, lease: Lease) -> None:
        self.coord = coord
        self.layout = layout
        self._lease = lease
        self.known: Known | None = None
        self._newest = 0
        """The ZooKeeper transaction that wrote `known`: a watch may report an older topology later."""

    @classmethod
    @asynccontextmanager
    async def connected(cls, configuration: Configuration, layout: Layout) -> AsyncIterator["RunningOverlay"]:
        """`BadInput` if ZooKeeper cannot be reached, no overlay is there, or another loop runs on it."""
        try:
            coord = await Coord.open(configuration)
        except CoordUnreachable as fault:
            raise BadInput("", str(fault)) from None
        async with coord:
            lease = await acquire(coord, layout.lock(LOOP), own_name())
            if isinstance(lease, Held) and _has_died(lease.by):
                # The process is gone; its session, and with it the lease, ends a while later.
                lease = await acquire(coord, layout.lock(LOOP), own_name(), wait=1.5 * coord.session_timeout)
            if isinstance(lease, Held):
                raise BadInput(layout.lock(LOOP), f"another loop runs on this overlay: {lease.by}")
            overlay = cls(coord, layout, lease)
            try:
                await overlay.refresh()
                yield overlay
            finally:
                with contextlib.suppress(CoordError):
                    await overlay._lease.release()

    async def refresh(self) -> Known:
        """The topology as it is now."""
        try:
            stored = await read(self.coord, self.layout.topology, Current)
        except Corrupt as fault:
            raise BadInput("", str(fault)) from None
        if stored is None:
            raise BadInput(self.layout.topology, "there is no topology: no overlay has been started here")
        self._newest = stored.node.mzxid
        self.known = Known(topology_of(stored.value), stored.value.epoch)
        return self.known

    async def probe(self) -> Known:
        """Check that ZooKeeper answers, acquire the lease again if it was lost, and read the topology."""
        if not self._lease.held:
            with contextlib.suppress(CoordError):
                await self._lease.release()
            lease = await acquire(self.coord, self.layout.lock(LOOP), own_name())
            if isinstance(lease, Held) and lease.by == own_name():
                # Our own earlier lease: it ends when its release arrives, or with our earlier session.
                lease = await acquire(
                    self.coord, self.layout.lock(LOOP), own_name(), wait=1.5 * self.coord.session_timeout
                )
            if isinstance(lease, Held):
                raise AnotherLoop(f"another loop runs on this overlay: {lease.by}")
            self._lease = lease
        return await self.refresh()

    async def follow(self, changed: Callable[[Known], None], failed: Callable[[str], None]) -> None:
        """Reports each change of the topology and each loss of the lease, until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_topology(changed, failed))
            group.create_task(self._follow_lease(failed))

    async def _follow_topology(self, changed: Callable[[Known], None], failed: Callable[[str], None]) -> None:
        while True:
            try:
                async for stored in watch(self.coord, self.layout.topology, Current):
                    if isinstance(stored, Corrupt):
                        failed(str(stored))
                    elif stored is not None and stored.node.mzxid >= self._newest:
                        self._newest = stored.node.mzxid
                        self.known = Known(topology_of(stored.value), stored.value.epoch)
                        changed(self.known)
                return
            except CoordError as fault:
                failed(str(fault))
                await asyncio.sleep(AGAIN_SECONDS)

    async def _follow_lease(self, failed: Callable[[str], None]) -> None:
        """Reports the loss of each lease once; `probe` acquires the next one."""
        while True:
            lease = self._lease
            await lease.lost.wait()
            failed("the connection to ZooKeeper is lost, and with it the lease of the loop")
            while self._lease is lease:
                await asyncio.sleep(AGAIN_SECONDS)

    async def brokers(self) -> Mapping[str, BrokerFacts]:
        """The facts of all brokers that have an agent, including those that wait to be appended."""
        layout = self.layout
        names = await self.coord.children(layout.brokers)
        ids = [decoded(name, layout.brokers) for name in names]
        states = await asyncio.gather(*(self._broker(id) for id in ids))
        return dict(zip(ids, states, strict=True))

    async def _broker(self, id: str) -> BrokerFacts:
        alive, status, statistics = await asyncio.gather(
            self.coord.get(self.layout.alive(id)),
            read(self.coord, self.layout.status(id), Status),
            read(self.coord, self.layout.statistics(id), Statistics),
        )
        return facts(
            alive is not None, status.value if status else None, statistics.value if statistics else None
        )


def facts(alive: bool, status: Status | None, figures: Statistics | None) -> BrokerFacts:
    return BrokerFacts(
        alive=alive,
        host=status.host if status else None,
        port=status.port if status else None,
        life=status.life if status else None,
        clients=figures.clients if figures else None,
        sessions=figures.sessions if figures else None,
        queue_bytes=figures.queue_bytes if figures else None,
        publications_per_second=figures.publications_per_second if figures else None,
        bytes_in_per_second=figures.bytes_in_per_second if figures else None,
        bytes_out_per_second=figures.bytes_out_per_second if figures else None,
        links=dict(figures.links) if figures else {},
    )


def own_name() -> str:
    """The name by which the lease shows its holder; `_has_died` parses it."""
    return f"loop on {socket.gethostname()}, process {os.getpid()}"


def _has_died(holder: str) -> bool:
    """Whether the holder was a process of this machine that no longer exists."""
    mine, _, process = holder.rpartition(", process ")
    if mine != f"loop on {socket.gethostname()}" or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
