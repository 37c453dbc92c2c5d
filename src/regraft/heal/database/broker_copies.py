"""Broker records: read, stored at two or more databases, and copied when one of those is lost.

On failure: a holder that cannot be written to is replaced by another at once, if there is one. A database
that is away for more than `grace` seconds is lost: what it held is copied.
"""

import asyncio

import msgspec

from regraft.heal.database.metadata import Metadata, Placement
from regraft.heal.database.placement import REPLICAS, lacking, placed
from regraft.heal.database.protocol import DatabaseAnswer, GetBrokers, Keep, trouble
from regraft.heal.database.records import BrokerRecord, Garbled, checked
from regraft.heal.database.replicas import Replicas


class BrokerCopies:
    def __init__(self, replicas: Replicas, metadata: Metadata, grace: float) -> None:
        self._replicas = replicas
        self._metadata = metadata
        self._grace = grace
        self._missed: dict[str, float] = {}

    async def get(self, ask: GetBrokers) -> DatabaseAnswer:
        if ask.here:
            return DatabaseAnswer(number=0, brokers=tuple((await self._replicas.own(ask.ids)).values()))
        if not ask.ids:
            await self._metadata.refresh(self._metadata.placement)
        ids = ask.ids or tuple(self._replicas.holders)
        return DatabaseAnswer(number=0, brokers=tuple((await self._replicas.brokers(ids)).values()))

    async def put(self, record: BrokerRecord) -> DatabaseAnswer:
        try:
            checked(record, record.id, "put")
        except Garbled as fault:
            return DatabaseAnswer(number=0, refused=str(fault))
        if not record.id:
            return DatabaseAnswer(number=0, refused="a broker has an id")
        failed: set[str] = set()
        have: set[str] = set()
        before = await self._replicas.newest(record.id)
        version = max(record.version, before.version if before else 0) + 1
        record = msgspec.structs.replace(record, version=version, writer=self._replicas.me)
        while len(have) < REPLICAS:
            living = {id: at.region for id, at in self._metadata.alive.items() if id not in failed}
            holders = await self._place(record, living)
            have = await self._replicas.spread(record)
            if not holders - have - failed:
                break
            failed |= holders - have
        if not have:
            return trouble("no database could store it")
        return DatabaseAnswer(number=0, brokers=(record,), copies=len(have))

    async def _place(self, record: BrokerRecord, living: dict[str, str]) -> set[str]:
        """Places the record at two running databases, if there are two; returns its holders."""

        def step(kept: Placement) -> Placement:
            holders = placed({record.id: record.region}, living, kept.holders) if living else {}
            regions = {**kept.regions, record.id: record.region}
            return Placement(holders={**kept.holders, **holders}, regions=regions)

        kept = self._metadata.placement.value
        if kept is None or step(kept) != kept:
            kept = await self._metadata.change(self._metadata.placement, step)
        return set(kept.holders.get(record.id, ()))

    async def copy_lost(self) -> None:
        """Copies records that have too few replicas; the running database with the lowest id does that."""
        now = asyncio.get_running_loop().time()
        alive = self._metadata.alive
        held = {each for holders in self._replicas.holders.values() for each in holders}
        self._missed = {each: self._missed.get(each, now) for each in held - alive.keys()}
        if self._replicas.me != min(alive, default=""):
            return
        lost = {each for each, since in self._missed.items() if now - since > self._grace}
        short = [id for id, holders in self._replicas.holders.items() if _too_few(holders, lost, len(alive))]
        if short:
            await self._copy(short)

    async def _copy(self, ids: list[str]) -> None:
        """Copies the records before it changes the placement, so that every database named there has them."""
        kept = self._metadata.placement.value or Placement()
        before = {id: kept.holders[id] for id in ids}
        living = {id: here.region for id, here in self._metadata.alive.items()}
        moved = placed({id: kept.regions.get(id, "") for id in ids}, living, kept.holders)
        for database, some in lacking(before, moved).items():
            records = await self._replicas.brokers(some)
            keep = Keep(brokers=tuple(records.values()))
            if database == self._replicas.me:
                await self._replicas.keep_all(keep)
            else:
                await self._replicas.ask(database, keep)

        def step(now: Placement) -> Placement:
            still = {id: to for id, to in moved.items() if now.holders.get(id) == before[id]}
            return Placement(holders={**now.holders, **still}, regions=now.regions)

        await self._metadata.change(self._metadata.placement, step)


def _too_few(holders: tuple[str, ...], lost: set[str], alive: int) -> bool:
    return bool(lost & set(holders)) or len(holders) < min(REPLICAS, alive)
