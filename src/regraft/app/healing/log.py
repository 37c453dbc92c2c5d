"""What is written down of each adaptation: cause, rules, leader, view, the times of its four phases, outcome.

And the records of brokers. On failure: what can not be written now is tried again for a while; the overlay
does not wait for it.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from regraft.app.healing.facts import Judged
from regraft.app.healing.hosting import Hosted
from regraft.app.healing.parts import Parts
from regraft.heal.database.records import Adaptation, BrokerRecord
from regraft.heal.election import Act
from regraft.heal.grant import Grant
from regraft.heal.wire import Cause
from regraft.model import RegraftError

log = logging.getLogger("regraft.heal")
KEPT = 1_000
ATTEMPTS = 20
PAUSE = 0.25


@dataclass
class _Election:
    """What this node knows of one."""

    begun: float
    cause: Cause | None = None
    reason: str = ""
    election_ms: float = 0.0


class Log:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._known: OrderedDict[str, _Election] = OrderedDict()

    def caused(self, cause: Cause) -> None:
        """The group is known, and what it is about."""
        known = self._of(cause.election)
        known.cause = known.cause or cause

    def cause(self, grant: Grant) -> Cause | None:
        return self._of(grant.id).cause

    def decided(self, election: str, judged: Judged) -> None:
        self._of(election).reason = judged.reason

    def elected(self, act: Act) -> None:
        known = self._of(act.election)
        known.election_ms = 1000 * (time.monotonic() - known.begun)

    def _of(self, election: str) -> _Election:
        if election not in self._known:
            self._known[election] = _Election(time.monotonic())
            if len(self._known) > KEPT:
                self._known.popitem(last=False)
        return self._known[election]

    async def release(self, grant: Grant, act: Act, spent_ms: float, reasons: list[str]) -> None:
        """The adaptation is over: the next may begin."""
        known = self._of(grant.id)
        cause = known.cause
        reason = "; ".join(filter(None, [*reasons, known.reason]))
        adaptation = Adaptation(
            id=grant.id,
            kind=grant.kind,
            cause=cause.cause if cause is not None else f"asked for by {grant.asker}",
            at=time.time(),
            rules=tuple(dict.fromkeys(intent.rule for intent in act.decision)),
            leader=self._parts.id,
            view=act.view,
            intents=act.decision,
            timeout_ms=cause.timeout_ms if cause is not None else 0.0,
            vote_ms=cause.vote_ms if cause is not None else 0.0,
            election_ms=known.election_ms,
            adaptation_ms=spent_ms,
            outcome="failed" if reasons else "done" if act.decision else "nothing",
            reason=reason,
        )
        log.info("%s: %s %s: %s %s", grant.id, adaptation.outcome, adaptation.cause, act.decision, reason)
        await self._written(lambda: self._release(grant.id, adaptation), f"the end of {grant.id}")

    async def give_back(self, grant: Grant) -> None:
        """Nothing is to be done any more."""
        await self._written(lambda: self._release(grant.id, None), f"the end of {grant.id}")

    async def _release(self, grant: str, adaptation: Adaptation | None) -> None:
        await (await self._parts.databases.client()).release(grant, adaptation)

    async def record(self, record: BrokerRecord, later: float = 0.0) -> None:
        await asyncio.sleep(later)
        await self._written(lambda: self._put(record), f"the record of {record.id}")

    async def _put(self, record: BrokerRecord) -> None:
        """Unless it has become another's meanwhile, whose record would be lost."""
        client = await self._parts.databases.client()
        here = self._parts.hosting.brokers.get(record.id)
        if here is not None and here.owner.life == record.life:
            await client.put_broker(record)

    async def left(self, record: BrokerRecord) -> None:
        """It is out of the overlay; where it was and its notes stay."""

        async def put() -> None:
            client = await self._parts.databases.client()
            before = (await client.brokers([record.id])).get(record.id, record)
            if before.state != "up":
                left = msgspec.structs.replace(before, state="left", heir=record.heir, port=0)
                await client.put_broker(left)

        await self._written(put, f"the record of {record.id}")

    async def _written(self, write: Callable[[], Awaitable[None]], what: str) -> None:
        reason = ""
        for _ in range(ATTEMPTS):
            try:
                await write()
                return
            except RegraftError as fault:
                reason = str(fault)
                await asyncio.sleep(PAUSE)
        log.warning("%s: %s was not written: %s", self._parts.id, what, reason)


def record_of(hosted: Hosted, heir: str = "") -> BrokerRecord:
    """`heir`: it is a deputy, and there its clients find it."""
    owner = hosted.owner
    return BrokerRecord(
        id=hosted.id,
        host=owner.host,
        port=owner.port,
        region=hosted.region,
        life=owner.life,
        state="down" if heir else "up",
        heir=heir,
    )
