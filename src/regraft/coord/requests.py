"""Requests, their repetition after a lost answer, and their time limit.

It stands between `Coord` (what is wanted) and `Session` (threads and bytes). A read is repeated until it is
answered. `writes` says how to find out whether a write happened whose answer was lost.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionLoss,
    KazooException,
    NoNodeError,
    OperationTimeoutError,
    SessionExpiredError,
    SessionMovedError,
)

from regraft.coord import writes
from regraft.coord.errors import Conflict, CoordUnreachable, Unknown
from regraft.coord.session import Session
from regraft.coord.values import Create, Node, Operation, Set
from regraft.coord.writes import Result, Seen, parent

ANSWER_LOST = (
    *(ConnectionLoss, SessionExpiredError, SessionMovedError, OperationTimeoutError),
    AuthFailedError,  # if it is final, the session is closed and says so
)
Start = Callable[[KazooClient], Any]
"""Hands a request to kazoo, and returns kazoo's promise of an answer."""


class Requests:
    """The requests of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._loop = asyncio.get_running_loop()
        self._synced: int | None = None
        self._syncing = asyncio.Lock()

    async def answer(self, start: Start, path: str, missing: Any = None) -> Any:
        """A read, repeated until it is answered or the time is over."""
        deadline = self._deadline()
        while True:
            try:
                return await self._once(start, deadline)
            except ANSWER_LOST:
                continue
            except NoNodeError:
                return missing
            except Unknown as fault:
                raise CoordUnreachable(fault.hosts, fault.reason) from None
            except KazooException as fault:
                raise writes.plain_fault(fault, path) from None

    async def node(self, path: str, watch: Any = None) -> Node | None:
        answer = await self.answer(lambda client: client.get_async(path, watch=watch), path)
        return None if answer is None else writes.node_of(*answer)

    async def children(self, path: str, watch: Any = None) -> list[str] | None:
        names = await self.answer(lambda client: client.get_children_async(path, watch=watch), path)
        return None if names is None else sorted(names)

    async def exists(self, path: str, watch: Any = None) -> bool:
        return await self.answer(lambda client: client.exists_async(path, watch=watch), path) is not None

    async def commit(self, operations: Sequence[Operation], tag: str) -> list[Result]:
        """A transaction, as the docstring of `writes` describes it."""
        writes.check_size(operations)
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
                return await self._from_nodes(named, conflict)
            except KazooException as fault:
                raise writes.plain_fault(fault, named[0].path) from None
            if any(isinstance(one, Create) and one.sequence for one in named):
                found = await self._numbered(named, tag)
                if found is not None:
                    return await self._from_nodes(found, None)

    def _deadline(self) -> float:
        return self._loop.time() + self._session.configuration.timeout

    async def _once(self, start: Start, deadline: float, uncertain: bool = False) -> Any:
        """One request on a connection that has been synced. It raises kazoo's faults as they are.

        `Unknown`, if the time is over and this request, or an earlier one (`uncertain`), has been sent.
        """
        sent = uncertain
        try:
            async with asyncio.timeout_at(deadline):
                await self._ready(deadline)
                sent = True
                return await self._session.ask(start)
        except TimeoutError:
            fault = self._session.unreachable("no answer" if sent else "no connection")
        except CoordUnreachable as unreachable:
            fault = unreachable
        if sent and isinstance(fault, CoordUnreachable):
            raise Unknown(fault.hosts, fault.reason) from None
        raise fault from None

    async def _ready(self, deadline: float) -> None:
        """Wait for a connection. Before the first request of a session, `sync` with what others were told."""
        async with self._syncing:
            await self._session.connected(deadline)
            while self._synced != (session_id := self._session.session_id):
                try:
                    await self._session.ask(lambda client: client.sync_async("/"))
                    self._synced = session_id
                except ANSWER_LOST:
                    await self._session.connected(deadline)

    async def _numbered(self, operations: Sequence[Operation], tag: str) -> list[Operation] | None:
        """The operations with the names that their sequential nodes got; None if they have not happened."""
        found: list[Operation] = []
        for one in operations:
            if not (isinstance(one, Create) and one.sequence):
                found.append(one)
                continue
            folder = parent(one.path)
            names = [name for name in await self._after_loss(self.children(folder)) or [] if tag in name]
            if not names:
                return None
            found.append(replace(one, path=f"{folder.rstrip('/')}/{names[0]}", sequence=False))
        return found

    async def _from_nodes(self, operations: Sequence[Operation], conflict: Conflict | None) -> list[Result]:
        """The answer that was lost, from what the nodes hold; or the conflict; or `Unknown`."""
        nodes = [await self._after_loss(self.node(one.path)) for one in operations]
        session_id = self._session.session_id
        pairs = list(zip(operations, nodes, strict=True))
        sight = writes.together([writes.seen(one, node, session_id) for one, node in pairs])
        if sight is Seen.DONE:
            return [
                one.path if isinstance(one, Create) else node if isinstance(one, Set) else None
                for one, node in pairs
            ]
        if sight is Seen.NOT_DONE and conflict is not None:
            raise conflict
        reason = f"the answer to a write of {operations[0].path} was lost, and others have written since"
        raise Unknown(self._session.configuration.hosts, reason)

    async def _after_loss(self, read: Any) -> Any:
        """If this read fails, it stays unknown whether the write before it happened."""
        try:
            return await read
        except Unknown:
            raise
        except CoordUnreachable as fault:
            raise Unknown(fault.hosts, fault.reason) from None


def _unique(one: Operation, tag: str) -> Operation:
    return replace(one, path=f"{one.path}{tag}-") if isinstance(one, Create) and one.sequence else one
