"""Requests for grants at one database: they are queued, granted in turn, and released. The order: `grants`.

On failure: without ZooKeeper a request ends with `CoordUnreachable`. An asker that dies with its grant delays
the others by `patience` seconds.
"""

import asyncio
from functools import partial

from regraft.heal.database import grants
from regraft.heal.database.grants import GrantQueue
from regraft.heal.database.group import concerned, grant_of
from regraft.heal.database.metadata import Grants, Metadata
from regraft.heal.database.protocol import DatabaseAnswer, trouble
from regraft.heal.database.records import Map
from regraft.heal.database.replicas import Replicas
from regraft.heal.grant import Grant, GrantRequest

TURN_SECONDS = 0.5
"""A request that has to wait is answered after this time; its asker asks again, here or at another
database."""


class Granting:
    def __init__(self, replicas: Replicas, metadata: Metadata, patience: float) -> None:
        self._replicas = replicas
        self._metadata = metadata
        self._patience = patience
        self._seen: dict[str, float] = {}

    async def grant(self, request: GrantRequest) -> DatabaseAnswer:
        if isinstance(self._concerned(request), str):  # perhaps the topology is new
            await self._metadata.refresh(self._metadata.current)
        map, ids = self._metadata.map, self._concerned(request)
        if map is None:
            return trouble("there is no topology: no overlay has been started here")
        if isinstance(ids, str):
            return DatabaseAnswer(number=0, refused=ids)
        records = await self._replicas.brokers(ids)
        own: list[str] = []

        def queued(kept: Grants) -> Grants | None:
            """Adds the request and, if its turn has come already, its group: a single write."""
            found = grants.requested(kept.queue, request, ids)
            own[:] = [found[1]] if found else []
            if found is None:
                return None
            queue = found[0]
            if grants.before(queue, own[0]) is None:
                group = grant_of(own[0], map, request, records)
                queue = grants.granted(queue, own[0], group) if isinstance(group, Grant) else queue
            return Grants(queue=queue)

        kept = await self._metadata.change(self._metadata.grants, queued)
        if not own:
            return trouble(f"{grants.MOST_WAITING} requests are waiting already")
        entry = grants.entry_of(kept.queue, own[0])
        if entry is not None and entry.grant is not None:
            return DatabaseAnswer(number=0, grant=entry.grant)
        return await self._wait_for_turn(own[0])

    async def _wait_for_turn(self, id: str) -> DatabaseAnswer:
        """Waits until its turn comes; the group is chosen then."""
        deadline = asyncio.get_running_loop().time() + TURN_SECONDS
        while True:
            seen = self._metadata.changes
            entry = grants.entry_of(self._queue, id)
            if entry is None:
                return trouble("the request was dropped while it waited")
            if entry.grant is not None:
                return DatabaseAnswer(number=0, grant=entry.grant)
            ahead = grants.before(self._queue, id)
            if ahead is not None:
                if not await self._metadata.news(seen, deadline):
                    return trouble(f"waits for {ahead.id}")
                continue
            group = await self._group(id, entry.request)
            if isinstance(group, str):
                await self.release(id)
                return DatabaseAnswer(number=0, refused=group)
            await self._metadata.change(self._metadata.grants, partial(_granted, id=id, grant=group))

    async def _group(self, id: str, request: GrantRequest) -> Grant | str:
        """The group as it is now: earlier grants may have changed the overlay."""
        await self._metadata.refresh(self._metadata.current)
        map, ids = self._metadata.map or Map(), self._concerned(request)
        return ids if isinstance(ids, str) else grant_of(id, map, request, await self._replicas.brokers(ids))

    def _concerned(self, request: GrantRequest) -> tuple[str, ...] | str:
        return concerned(self._metadata.map or Map(), request)

    @property
    def _queue(self) -> GrantQueue:
        kept = self._metadata.grants.value
        return kept.queue if kept else GrantQueue()

    async def release(self, id: str) -> None:
        await self._metadata.change(self._metadata.grants, partial(_released, id=id))

    async def expire(self) -> None:
        """Releases the grants of askers that have died: `patience` seconds after their turn began."""
        now = asyncio.get_running_loop().time()
        self._seen = grants.observed(self._queue, self._seen, now)
        for id in grants.overdue(self._queue, self._seen, now, self._patience):
            self._metadata.note(f"the grant {id} was not given back in {self._patience:g} s")
            await self._metadata.change(self._metadata.grants, partial(_released, id=id))


def _released(kept: Grants, id: str) -> Grants:
    return Grants(queue=grants.released(kept.queue, id))


def _granted(kept: Grants, id: str, grant: Grant) -> Grants:
    return Grants(queue=grants.granted(kept.queue, id, grant))
