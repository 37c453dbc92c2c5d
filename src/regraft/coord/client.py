"""`Coord`: ZooKeeper for asyncio. Reads, writes that are sent once as far as can be known, and watches.

On failure: every call ends within the configured time limit. A read, or a write that was never sent, ends
with `CoordUnreachable`; a write whose fate could not be found out ends with `Unknown` (`writes` says how it
is found out). A lost connection, or a lost session, is mended by itself meanwhile; ephemeral nodes do not
come back with a new session: listen with `on_state`, or hold a `Lease`.

A follower may lag behind the leader. The first request of each session is therefore a `sync`, so that
whoever takes over reads all that was acknowledged before; after that, a session never reads backwards.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    ConnectionLoss,
    KazooException,
    NoNodeError,
    OperationTimeoutError,
    SessionExpiredError,
    SessionMovedError,
)

from regraft.coord import writes
from regraft.coord.configuration import Auth, Configuration, Tls, World
from regraft.coord.errors import Conflict, CoordUnreachable, Exists, Missing, Unknown
from regraft.coord.session import Session
from regraft.coord.values import Change, Create, Delete, Node, Operation, Set, State
from regraft.coord.watches import Watches
from regraft.coord.writes import Result, Seen, parent
from regraft.model import BadInput

ANSWER_LOST = (ConnectionLoss, SessionExpiredError, SessionMovedError, OperationTimeoutError)


class Coord:
    """One session on the ensemble: `async with await Coord.connect("127.0.0.1:2181") as coord`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._loop = asyncio.get_running_loop()
        self._synced: int | None = None
        self._syncing = asyncio.Lock()
        self._watches = Watches(session)
        self._background: set[asyncio.Task[Any]] = set()

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
        coord = cls(session)
        try:
            session.start()
            if await coord._answered(lambda client: client.exists_async("/"), "/") is None:
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
        return await self._read(path, None)

    async def children(self, path: str) -> list[str]:
        """Names in sorted order; none if the node does not exist."""
        found: list[str] = await self._answered(lambda client: client.get_children_async(path), path, [])
        return sorted(found)

    async def sync(self) -> None:
        """What was acknowledged to anybody before this call is seen by the reads after it."""
        await self._answered(lambda client: client.sync_async("/"), "/")

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
        steps = path.strip("/").split("/")
        ancestors = ["/" + "/".join(steps[: depth + 1]) for depth in range(len(steps)) if steps[0]]
        missing = 0
        for depth in range(len(ancestors), 0, -1):
            if await self.get(ancestors[depth - 1]) is not None:
                missing = depth
                break
        for ancestor in ancestors[missing:]:
            try:
                await self.transaction([Create(ancestor)])
            except Exists:
                continue

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
        """All or nothing: the result of each operation, or the fault of the first that can not be.

        `tag` is part of the names of sequential nodes and must be unique; by default it is made up.
        """
        writes.check_size(operations)
        tag = tag or uuid.uuid4().hex
        named = [_unique(one, tag) for one in operations]
        deadline = self._deadline()
        uncertain = False
        while True:
            try:
                answers = await self._once(lambda client: writes.begin(client, named), deadline, uncertain)
                return writes.results(named, answers)
            except ANSWER_LOST:
                uncertain = True
            except Conflict as conflict:
                if not uncertain:
                    raise
                return await self._as_left_behind(named, tag, conflict)
            if any(isinstance(one, Create) and one.sequence for one in named):
                found = await self._numbered(named, tag)
                if found is not None:
                    return await self._as_left_behind(found, tag, None)

    def watch(self, path: str) -> AsyncIterator[Node | None]:
        """The node now, and after each change; of several quick changes perhaps only the last.

        Lasts through lost connections and sessions (then it reads again) until the iteration is left or
        the client is stopped, which ends it.
        """
        return self._watches.follow(path, self._armed_node, lambda node: node and (node.czxid, node.version))

    def watch_children(self, path: str) -> AsyncIterator[list[str]]:
        """The names of the children, sorted, now and after each change. None while the node is missing."""
        return self._watches.follow(path, self._armed_children, lambda names: names)

    def in_background(self, work: Any) -> None:
        """A task that `stop` cancels; for what must be tidied up when the ensemble is back."""
        task = self._loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # From here on: requests and what becomes of them.

    def _deadline(self) -> float:
        return self._loop.time() + self.configuration.timeout

    async def _once(
        self, start: Callable[[KazooClient], Any], deadline: float, uncertain: bool = False
    ) -> Any:
        """One request on a connection that has been synced; kazoo's faults as they are.

        A time limit that passes after the request has been sent is a lost answer of a write: Unknown.
        """
        sent = uncertain
        try:
            async with asyncio.timeout_at(deadline):
                await self._ready(deadline)
                sent = True
                return await self._session.ask(start)
        except TimeoutError:
            fault = self._session.unreachable("no answer")
        except CoordUnreachable as unreachable:
            fault = unreachable
        if sent and isinstance(fault, CoordUnreachable):
            raise Unknown(fault.hosts, fault.reason) from None
        raise fault from None

    async def _answered(self, start: Callable[[KazooClient], Any], path: str, missing: Any = None) -> Any:
        """A read, asked again until it is answered or the time is over."""
        deadline = self._deadline()
        while True:
            try:
                return await self._once(start, deadline)
            except ANSWER_LOST:
                await asyncio.sleep(0)
            except NoNodeError:
                return missing
            except Unknown as fault:
                raise CoordUnreachable(fault.hosts, fault.reason) from None
            except KazooException as fault:
                raise writes.plain_fault(fault, path) from None

    async def _ready(self, deadline: float) -> None:
        """Connected; and, before the first request of a session, level with what others were told."""
        async with self._syncing:
            await self._session.connected(deadline)
            while self._synced != (session_id := self._session.session_id):
                try:
                    await self._session.ask(lambda client: client.sync_async("/"))
                    self._synced = session_id
                except ANSWER_LOST:
                    await self._session.connected(deadline)

    async def _read(self, path: str, watch: Any) -> Node | None:
        answer = await self._answered(lambda client: client.get_async(path, watch=watch), path)
        return None if answer is None else writes.node_of(*answer)

    async def _armed_node(self, path: str, watch: Any) -> Node | None:
        while (node := await self._read(path, watch)) is None:
            if await self._answered(lambda client: client.exists_async(path, watch=watch), path) is None:
                return None
        return node

    async def _armed_children(self, path: str, watch: Any) -> list[str]:
        while True:
            names = await self._answered(lambda client: client.get_children_async(path, watch=watch), path)
            if names is not None:
                return sorted(names)
            if await self._answered(lambda client: client.exists_async(path, watch=watch), path) is None:
                return []

    async def _numbered(self, operations: Sequence[Operation], tag: str) -> list[Operation] | None:
        """The operations with the names that their sequential nodes have got, if they have happened."""
        found: list[Operation] = []
        for one in operations:
            if not (isinstance(one, Create) and one.sequence):
                found.append(one)
                continue
            names = [name for name in await self.children(parent(one.path)) if tag in name]
            if not names:
                return None
            found.append(replace(one, path=f"{parent(one.path).rstrip('/')}/{names[0]}", sequence=False))
        return found

    async def _as_left_behind(
        self, operations: Sequence[Operation], tag: str, conflict: Conflict | None
    ) -> list[Result]:
        """The answer that was lost, from the nodes; or the conflict; or `Unknown`."""
        nodes = [await self.get(one.path) for one in operations]
        sights = [
            writes.seen(one, node, self.session_id) for one, node in zip(operations, nodes, strict=True)
        ]
        sight = writes.together(sights)
        if sight is Seen.DONE:
            return [
                one.path if isinstance(one, Create) else node if isinstance(one, Set) else None
                for one, node in zip(operations, nodes, strict=True)
            ]
        if sight is Seen.NOT_DONE and conflict is not None:
            raise conflict
        reason = f"the answer to a write of {operations[0].path} was lost, and others have written since"
        raise Unknown(self.configuration.hosts, reason)


def _unique(one: Operation, tag: str) -> Operation:
    return replace(one, path=f"{one.path}{tag}-") if isinstance(one, Create) and one.sequence else one
