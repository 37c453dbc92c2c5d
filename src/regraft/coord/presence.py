"""Presence: an ephemeral node that exists for as long as its owner lives, across sessions.

On failure: a lost connection changes nothing while the session lives. When the session expires the node is
deleted, every process that watches it sees that, and the node is created again in the next session. `here`
is set while the node is ours, as far as is known. A node of another session in its place, such as that of
our own process before it was killed, is waited for until it is deleted; or, with `replace`, replaced at
once. Only an owner that is sure that the other one is dead may do so: two live ones would replace each other
for ever.
"""

import asyncio
import contextlib
from types import TracebackType

from regraft.coord.client import Coord
from regraft.coord.errors import Conflict, CoordUnreachable
from regraft.coord.values import ConnectionChange, ConnectionState, Create, Delete, Node, Operation
from regraft.coord.writes import parent


class Presence:
    """`async with Presence(coord, path, data) as presence: await presence.established()`"""

    def __init__(self, coord: Coord, path: str, data: bytes = b"", *, replace: bool = False) -> None:
        self.here = asyncio.Event()
        self._coord = coord
        self._path = path
        self._data = data
        self._replace = replace
        self._keeping: asyncio.Task[None] | None = None
        self._session_id: int | None = None

    async def __aenter__(self) -> "Presence":
        self._forget = self._coord.on_state(self._on_state)
        self._keeping = asyncio.create_task(self._keep())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the node, if it is ours and there is a connection. Otherwise it ends with the session."""
        self._forget()
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        if self.here.is_set() and self._coord.state is ConnectionState.CONNECTED:
            with contextlib.suppress(Conflict, CoordUnreachable):
                await self._coord.delete(self._path)
        self.here.clear()

    async def established(self) -> None:
        """Waits until the node is ours, or raises why it can never be (`Denied`)."""
        if self._keeping is None:
            raise RuntimeError("a presence begins with `async with`")
        arriving = asyncio.create_task(self.here.wait())
        await asyncio.wait([arriving, self._keeping], return_when=asyncio.FIRST_COMPLETED)
        arriving.cancel()
        if not self.here.is_set():
            self._keeping.result()
            raise CoordUnreachable(self._coord.configuration.hosts, "the connection was closed")

    async def _keep(self) -> None:
        async for node in self._coord.watch(self._path):
            if node is not None and node.ephemeral_owner == self._coord.session_id:
                self._session_id = node.ephemeral_owner
                self.here.set()
                continue
            self.here.clear()
            if node is None or self._replace:
                await self._make(node)

    async def _make(self, other: Node | None) -> None:
        """Try until the node exists, whoever created it: the watch then shows whose it is."""
        away: list[Operation] = [] if other is None else [Delete(self._path, other.version)]
        while self._coord.state is not ConnectionState.CLOSED:
            try:
                await self._coord.ensure(parent(self._path))
                await self._coord.transaction([*away, Create(self._path, self._data, ephemeral=True)])
                return
            except Conflict:
                return
            except CoordUnreachable:
                continue

    def _on_state(self, change: ConnectionChange) -> None:
        if change.state is not ConnectionState.CONNECTED or change.session_id != self._session_id:
            self.here.clear()
        elif change.session_id == self._session_id:
            self.here.set()
