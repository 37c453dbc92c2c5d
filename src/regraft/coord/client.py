"""`Coord`: ZooKeeper for asyncio. Reads, writes that are sent once as far as can be known, and watches.

On failure: every call ends within the configured time limit (a write whose answer was lost, within twice
that). A read, or a write that was never sent, ends with `CoordUnreachable`; a write whose fate could not
be found out ends with `Unknown` (`writes` says how it is found out). A lost connection, or a lost session,
is mended by itself meanwhile; ephemeral nodes do not come back with a new session: listen with `on_state`,
or hold a `Lease`.

A follower may lag behind the leader. The first request of each session is therefore a `sync`, so that
whoever takes over reads all that was acknowledged before; after that, a session never reads backwards.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any

from regraft.coord.access import acl_of, too_open
from regraft.coord.configuration import Auth, Configuration, Tls, World
from regraft.coord.errors import Exists, Missing
from regraft.coord.requests import Requests
from regraft.coord.session import Session
from regraft.coord.values import Change, Create, Delete, Node, Operation, Set, State
from regraft.coord.watches import Watches
from regraft.coord.writes import Result, parent
from regraft.model import BadInput


class Coord:
    """One session on the ensemble: `async with await Coord.connect("127.0.0.1:2181") as coord`."""

    def __init__(self, session: Session) -> None:
        """Not connected; use `connect` or `open`."""
        self._session = session
        self._requests = Requests(session)
        self._watches = Watches(session)
        self._background: set[asyncio.Task[None]] = set()

    @classmethod
    async def connect(
        cls,
        hosts: str,
        *,
        auth: Auth | None = None,
        tls: Tls | None = None,
        world: World = "read",
        timeout: float = 10.0,
        session_timeout: float = 10.0,
    ) -> "Coord":
        return await cls.open(Configuration(hosts, auth, tls, world, timeout, session_timeout))

    @classmethod
    async def open(cls, configuration: Configuration) -> "Coord":
        """Connected, or a fault within the time limit."""
        session = Session(configuration)
        try:
            session.start()
            coord = cls(session)
            if not await coord._requests.exists("/"):
                raise BadInput("ZooKeeper", f"the folder in {configuration.hosts!r} does not exist there")
        except BaseException:
            await session.stop()
            raise
        return coord

    async def __aenter__(self) -> "Coord":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def configuration(self) -> Configuration:
        return self._session.configuration

    @property
    def state(self) -> State:
        return self._session.state

    @property
    def session_id(self) -> int | None:
        """Of the session that is, or was last, connected."""
        return self._session.session_id

    @property
    def session_timeout(self) -> float:
        """Seconds of silence after which the servers let the session expire, as they have granted it."""
        return self._session.negotiated

    def on_state(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """`listener` is called on the loop at each change, until the returned function is called."""
        self._session.listeners.append(listener)

        def forget() -> None:
            if listener in self._session.listeners:
                self._session.listeners.remove(listener)

        return forget

    async def stop(self) -> None:
        """Ends the session: its ephemeral nodes go at once."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._session.stop()

    async def get(self, path: str) -> Node | None:
        return await self._requests.node(path)

    async def children(self, path: str) -> list[str]:
        """Names in sorted order; none if the node does not exist."""
        return await self._requests.children(path) or []

    async def sync(self) -> None:
        """What was acknowledged to anybody before this call is seen by the reads after it.

        For what one has heard of by other ways than ZooKeeper: its server may not have it yet.
        """
        await self._requests.answer(lambda client: client.sync_async("/"), "/")

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequence: bool = False,
        parents: bool = True,
    ) -> str:
        """The path of the new node, or `Exists`. With `sequence`, a guid and a number follow the path."""
        operation = Create(path, data, ephemeral, sequence)
        try:
            return str((await self.transaction([operation]))[0])
        except Missing:
            if not parents:
                raise
        await self.ensure(parent(path))
        return str((await self.transaction([operation]))[0])

    async def ensure(self, path: str) -> None:
        """Makes the node, empty, and those above it, where they are missing."""
        if path == "/" or await self._requests.exists(path):
            return
        await self.ensure(parent(path))
        try:
            await self.transaction([Create(path)])
        except Exists:
            return

    async def set(self, path: str, data: bytes, version: int) -> Node:
        """Compare and set: `Conflict` if the node is not at `version`, `Missing` if there is none.

        Version -1 writes over whatever is there, and after a lost answer does so again.
        """
        node = (await self.transaction([Set(path, data, version)]))[0]
        assert isinstance(node, Node)
        return node

    async def delete(self, path: str, version: int = -1, *, recursive: bool = False) -> bool:
        """Whether there was anything to delete. Recursive: children first, one by one, not atomic."""
        if recursive:
            for child in await self.children(path):
                await self.delete(f"{path.rstrip('/')}/{child}", recursive=True)
        try:
            await self.transaction([Delete(path, version)])
        except Missing:
            return False
        return True

    async def transaction(self, operations: Sequence[Operation], *, tag: str | None = None) -> list[Result]:
        """All or nothing: the result of each operation, or the fault of the first that cannot be.

        `tag` is part of the names of sequential nodes and must be unique; by default it is made up.
        """
        return await self._requests.commit(operations, tag or uuid.uuid4().hex) if operations else []

    async def secure(self, path: str) -> int:
        """Takes from the world what it should not have (`Configuration`), on the node and all below it.

        How many nodes were too open; `Denied` where only somebody else may change that.
        """
        if (acl := acl_of(self.configuration)) is None:
            return 0
        found = await self._requests.answer(lambda client: client.get_acls_async(path), path)
        if found is None:
            return 0
        open_here = too_open(found[0], self.configuration)
        if open_here:
            await self._requests.answer(lambda client: client.set_acls_async(path, acl), path)
        below = [await self.secure(f"{path.rstrip('/')}/{child}") for child in await self.children(path)]
        return int(open_here) + sum(below)

    def watch(self, path: str) -> AsyncIterator[Node | None]:
        """The node now, and after each change; of several quick changes perhaps only the last.

        That there is none is told again after each change: a node may have come and gone in between, and
        whoever made it has to know.
        Lasts through lost connections and sessions (then it reads again) until the iteration is left or
        the client is stopped, which ends it.
        """
        return self._watches.follow(path, self._armed_node, _mark)

    def watch_children(self, path: str) -> AsyncIterator[list[str]]:
        """The names of the children, sorted, now and after each change. Empty while the node is missing."""
        return self._watches.follow(path, self._armed_children, lambda names: names)

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that `stop` cancels; for what must be tidied up when the ensemble is back."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _armed_node(self, path: str, watch: Any) -> Node | None:
        """A watch on data needs a node; a watch on existence does not. It may come in between."""
        while (node := await self._requests.node(path, watch)) is None:
            if not await self._requests.exists(path, watch):
                return None
        return node

    async def _armed_children(self, path: str, watch: Any) -> list[str]:
        while (names := await self._requests.children(path, watch)) is None:
            if not await self._requests.exists(path, watch):
                return []
        return names


def _mark(node: Node | None) -> object:
    return (node.czxid, node.version) if node is not None else object()
