"""The second layer as one node sees it: its own store, its peers, and which of them has what.

Reads are answered from this node's own store; peers are asked for what is missing there. Whatever comes from
a store or a peer is checked; garbage is noted with its reason and counts as no answer.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from regraft.heal.database import store as sql
from regraft.heal.database.metadata import Metadata, RunningDatabase
from regraft.heal.database.placement import asked
from regraft.heal.database.protocol import (
    Ask,
    DatabaseAnswer,
    DatabaseAway,
    DatabaseConnection,
    GetAdaptations,
    GetBrokers,
    GetDocument,
    Keep,
)
from regraft.heal.database.records import (
    Adaptation,
    BrokerRecord,
    Garbled,
    broker_record,
    checked,
    decoded,
    digest,
    encoded,
    merged,
)
from regraft.heal.database.store import Store, StoreFailed

PEER_SECONDS = 0.8


class Replicas:
    """`me` is this node's id."""

    def __init__(self, me: str, store: Store, metadata: Metadata) -> None:
        self.me = me
        self._store = store
        self._metadata = metadata
        self._peers: dict[str, DatabaseConnection] = {}

    # Brokers

    async def brokers(self, ids: Iterable[str]) -> dict[str, BrokerRecord]:
        """Those records that this node, or a peer that answers, has."""
        wanted = tuple(dict.fromkeys(ids))
        here = [id for id in wanted if self.me in self.holders.get(id, (self.me,))]
        found = {self.me: await self.own(here) if here else {}}
        missing = [id for id in wanted if id not in found[self.me]]
        if any(id not in self.holders for id in missing):  # perhaps they were placed a moment ago
            await self._metadata.refresh(self._metadata.placement)
        holders = self.holders
        tried: set[str] = set()
        while missing and (plan := asked(missing, holders, self.me, tried)):
            # Running peers first; the others are not asked, but have to be in `tried` for the loop to end.
            plan = {peer: rest for peer, rest in plan.items() if peer in self._metadata.alive} or plan
            tried |= plan.keys()
            answers = await asyncio.gather(*(self._from_peer(peer, rest) for peer, rest in plan.items()))
            found |= dict(zip(plan, answers, strict=True))
            missing = [id for id in missing if not any(id in answer for answer in answers)]
        result = merged(found, holders)
        await self.keep(result.stale.get(self.me, ()))
        return result.records

    async def newest(self, id: str) -> BrokerRecord | None:
        """The newest record among all its holders, for a writer that needs a higher version."""
        await self._metadata.refresh(self._metadata.placement)
        peers = [each for each in self.holders.get(id, ()) if each != self.me]
        answers = await asyncio.gather(*(self._from_peer(peer, (id,)) for peer in peers))
        found = {self.me: await self.own((id,)), **dict(zip(peers, answers, strict=True))}
        return merged(found, {}).records.get(id)

    async def own(self, ids: Sequence[str]) -> dict[str, BrokerRecord]:
        """The valid records in this node's store; none while the store does not answer.

        Without ids: all of them.
        """
        store = self._store
        try:
            some = store.read(store.some_brokers, store.listed(ids)) if ids else store.read(sql.ALL_BROKERS)
            rows = await some
        except StoreFailed as fault:
            self._metadata.note(str(fault))
            return {}
        found = {}
        for id, text in rows:
            try:
                found[str(id)] = broker_record(str(text), str(id), store.name)
            except Garbled as fault:
                self._metadata.note(str(fault))
        return found

    async def _from_peer(self, peer: str, ids: Sequence[str]) -> dict[str, BrokerRecord]:
        answer = await self.ask(peer, GetBrokers(ids=tuple(ids), here=True))
        records: dict[str, BrokerRecord] = {}
        for record in answer.brokers if answer else ():
            try:
                if record.id not in ids:
                    raise Garbled(f"database {peer}", f"was not asked for {record.id!r}")
                records[record.id] = checked(record, record.id, f"database {peer}")
            except Garbled as fault:
                self._metadata.note(str(fault))
        return records

    async def spread(self, record: BrokerRecord) -> set[str]:
        """Sends the record to all its holders; returns those that have stored it."""
        holders = self.holders.get(record.id, ())
        peers = [each for each in holders if each != self.me]
        answers = await asyncio.gather(*(self.ask(each, Keep(brokers=(record,))) for each in peers))
        have = {peer for peer, answer in zip(peers, answers, strict=True) if answer and not answer.refused}
        return have | ({self.me} if self.me in holders and await self.keep((record,)) else set())

    async def keep(self, records: Iterable[BrokerRecord]) -> bool:
        rows = [(each.id, each.version, each.writer, encoded(each).decode()) for each in records]
        if rows:
            return await self._write(sql.PUT_BROKER, rows)
        return True

    async def sweep(self) -> None:
        """Compares the records here with the other holders', updates all to the newest, and deletes those
        placed elsewhere."""
        mine = [id for id, holders in self.holders.items() if self.me in holders]
        peers = {
            peer for id in mine for peer in self.holders[id] if peer != self.me
        } & self._metadata.alive.keys()
        answers = {peer: await self._from_peer(peer, mine) for peer in sorted(peers)}
        result = merged({**answers, self.me: await self.own(mine)} if mine else {}, self.holders)
        await self.keep(result.stale.get(self.me, ()))
        for peer, records in result.stale.items():
            if peer != self.me:
                await self.ask(peer, Keep(brokers=records))
        known = await self.own(())
        await self._write(
            sql.FORGET_BROKER, [(id,) for id in known if self.me not in self.holders.get(id, (self.me,))]
        )

    @property
    def holders(self) -> Mapping[str, tuple[str, ...]]:
        placement = self._metadata.placement.value
        return placement.holders if placement else {}

    # Documents: every database has them all

    async def document(self, name: str, sha256: str = "") -> bytes | None:
        """From this store or a peer's; with a digest, only content that matches it."""
        own = await self.own_document(name)
        if own is not None and self._genuine(own, sha256, self._store.name):
            return own
        for peer in sorted(self._metadata.alive.keys() - {self.me}):
            answer = await self.ask(peer, GetDocument(name=name))
            data = answer.document.encode() if answer and answer.document is not None else None
            if data is not None and self._genuine(data, sha256, f"database {peer}"):
                await self.keep_documents({name: data.decode()})
                return data
        return None

    def _genuine(self, data: bytes, sha256: str, place: str) -> bool:
        if not sha256 or digest(data) == sha256:
            return True
        self._metadata.note(f"{place}: the content of a document does not match its digest")
        return False

    async def own_document(self, name: str) -> bytes | None:
        try:
            rows = await self._store.read(sql.DOCUMENT, name)
        except StoreFailed as fault:
            self._metadata.note(str(fault))
            return None
        return str(rows[0][0]).encode() if rows else None

    async def keep_documents(self, documents: Mapping[str, str]) -> bool:
        return await self._write(sql.PUT_DOCUMENT, list(documents.items())) if documents else True

    async def everywhere(self, ask: Keep) -> int:
        """Stores this at every running database, including this one; returns how many have it."""
        peers = sorted(self._metadata.alive.keys() - {self.me})
        answers = await asyncio.gather(*(self.ask(peer, ask) for peer in peers))
        own = await self.keep_all(ask)
        return int(own) + sum(answer is not None and not answer.refused for answer in answers)

    async def keep_all(self, ask: Keep) -> bool:
        rows = [(each.id, each.at, encoded(each).decode()) for each in ask.adaptations]
        logged = await self._write(sql.LOG, rows) and await self._write(sql.TRIM, [()]) if rows else True
        return await self.keep(ask.brokers) and await self.keep_documents(ask.documents) and logged

    # Adaptations

    async def adaptations(self, most: int, *, here: bool) -> tuple[Adaptation, ...]:
        """The newest first."""
        found: dict[str, Adaptation] = {}
        if not here:
            for peer in sorted(self._metadata.alive.keys() - {self.me}):
                answer = await self.ask(peer, GetAdaptations(most=most, here=True))
                found |= {each.id: each for each in (answer.adaptations if answer else ())}
        try:
            rows = await self._store.read(sql.LOGGED, most)
        except StoreFailed as fault:
            self._metadata.note(str(fault))
            rows = []
        for (text,) in rows:
            try:
                each = decoded(str(text), Adaptation, f"{self._store.name}: adaptations")
                found[each.id] = each
            except Garbled as fault:
                self._metadata.note(str(fault))
        return tuple(sorted(found.values(), key=lambda each: (-each.at, each.id))[:most])

    # Peers

    async def ask(self, peer: str, ask: Ask) -> DatabaseAnswer | None:
        here = self._metadata.alive.get(peer)
        if here is None:
            return None
        try:
            return await self._connection(peer, here).call(ask, PEER_SECONDS)
        except DatabaseAway as fault:
            self._metadata.note(str(fault))
            return None

    def _connection(self, peer: str, here: RunningDatabase) -> DatabaseConnection:
        known = self._peers.get(peer)
        if known is None or (known.host, known.port) != (here.host, here.port):
            known = self._peers[peer] = DatabaseConnection(here.host, here.port)
        return known

    async def _write(self, statement: str, rows: Sequence[Sequence[object]]) -> bool:
        if not rows:
            return True
        try:
            await self._store.write(statement, rows)
        except StoreFailed as fault:
            self._metadata.note(str(fault))
            return False
        return True

    async def close(self) -> None:
        for connection in self._peers.values():
            connection.close()
