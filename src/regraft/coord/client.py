"""`Coord`: ZooKeeper for asyncio. Reads, writes that happen at most once, and watches.

On failure: every call ends within the configured time limit (a write whose answer was lost, within twice
that). A read, or a write that was never sent, ends with `CoordUnreachable`. A write ends with `Unknown` if
it could not be found out whether it happened (`writes` says how that is done). The client reconnects by
itself after a lost connection or session. Ephemeral nodes do not come back with a new session: listen with
`on_state`, or hold a `Lease`.

A follower may lag behind the leader. The first request of each session is therefore a `sync`, so that a
process that takes over reads all that was acknowledged before. After that, a session never reads older data.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any

from regraft.coord.configuration import Auth, Configuration, Tls, World, acl_of, too_open
from regraft.coord.errors import Exists, Missing
from regraft.coord.requests import Requests
from regraft.coord.session import Session
from regraft.coord.values import ConnectionChange, ConnectionState, Create, Delete, Node, Operation, Set
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
        """A connected client, or a fault within the time limit."""
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
    def state(self) -> ConnectionState:
        return self._session.state

    @property
    def session_id(self) -> int | None:
        """The id of the session that is, or was last, connected."""
        return self._session.session_id

    @property
    def session_timeout(self) -> float:
        """Seconds of silence after which the session expires, as the servers granted it."""
        return self._session.negotiated

    def on_state(self, listener: Callable[[ConnectionChange], None]) -> Callable[[], None]:
        """`listener` is called on the loop at each change, until the returned function is called."""
        self._session.listeners.append(listener)

        def forget() -> None:
            if listener in self._session.listeners:
                self._session.listeners.remove(listener)

        return forget

    async def stop(self) -> None:
        """End the session. The servers delete its ephemeral nodes at once."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._session.stop()

    async def get(self, path: str) -> Node | None:
        return await self._requests.node(path)

    async def children(self, path: str) -> list[str]:
        """Names in sorted order; empty if the node does not exist."""
        return await self._requests.children(path) or []

    async def sync(self) -> None:
        """Later reads see every write that was acknowledged to any client before this call.

        Needed after hearing of a write by other ways than ZooKeeper: our server may not have it yet.
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
        """Create the node, empty, and those above it, where they are missing."""
        if path == "/" or await self._requests.exists(path):
            return
        await self.ensure(parent(path))
        try:
            await self.transaction([Create(path)])
        except Exists:
            return

    async def set(self, path: str, data: bytes, version: int) -> Node:
        """Compare and set: `Conflict` if the node is not at `version`, `Missing` if it does not exist.

        Version -1 overwrites any version. After a lost answer it is sent again, so it may overwrite twice.
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
        """All or nothing: the result of each operation, or the fault of the first that fails.

        `tag` is part of the names of sequential nodes and must be unique; the default is random.
        """
        return await self._requests.commit(operations, tag or uuid.uuid4().hex) if operations else []

    async def secure(self, path: str) -> int:
        """Take from the world what the `Configuration` does not allow it, on the node and all below it.

        Returns how many nodes were too open. `Denied` if this client may not change one of them.
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

        None (the node does not exist) may follow None: the node may have been created and deleted in
        between, and its creator has to notice that. The iteration survives lost connections and sessions (it
        reads again afterwards). It ends when the client is stopped.
        """
        return self._watches.follow(path, self._armed_node, _mark)

    def watch_children(self, path: str) -> AsyncIterator[list[str]]:
        """The names of the children, sorted, now and after each change. Empty while the node is missing."""
        return self._watches.follow(path, self._armed_children, lambda names: names)

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that `stop` cancels; for cleaning up as soon as the ensemble can be reached again."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _armed_node(self, path: str, watch: Any) -> Node | None:
        """A watch on data needs a node, a watch on existence does not. The loop is for a node that is created
        between the two requests."""
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
