"""Records each adaptation: cause, rules, leader, view, the times of its four phases, outcome.

Also writes the records of brokers. On failure: a write is tried again for a while; the overlay does not wait
for it.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from regraft.heal.core.knowledge import Knowledge, LocalBroker
from regraft.heal.core.requests import MarkLeft, Release, WriteBroker
from regraft.heal.core.tasks import Request, sleep
from regraft.heal.database.records import Adaptation, BrokerRecord
from regraft.heal.election import Act
from regraft.heal.grant import Grant
from regraft.heal.wire.messages import Cause
from regraft.model import RegraftError

KEPT = 1_000
ATTEMPTS = 20
PAUSE = 0.25


@dataclass
class _Election:
    """What this node knows of one election."""

    begun: float
    cause: Cause | None = None
    reason: str = ""
    election_ms: float = 0.0


class Recording:
    def __init__(self, known: Knowledge) -> None:
        self._known = known
        self._elections: OrderedDict[str, _Election] = OrderedDict()

    def caused(self, cause: Cause) -> None:
        """The cause of an election; the first one that is heard counts."""
        election = self._of(cause.election)
        election.cause = election.cause or cause

    def cause(self, grant: Grant) -> Cause | None:
        return self._of(grant.id).cause

    def judged(self, election: str, reason: str) -> None:
        self._of(election).reason = reason

    def elected(self, act: Act) -> None:
        election = self._of(act.election)
        election.election_ms = 1000 * (self._known.now - election.begun)

    def _of(self, id: str) -> _Election:
        if id not in self._elections:
            self._elections[id] = _Election(self._known.now)
            if len(self._elections) > KEPT:
                self._elections.popitem(last=False)
        return self._elections[id]

    # Adaptations

    async def over(self, grant: Grant, act: Act, spent_ms: float, reasons: list[str]) -> None:
        """The adaptation is over: it is recorded, and the next may begin."""
        election = self._of(grant.id)
        cause = election.cause
        reason = "; ".join(filter(None, [*reasons, election.reason]))
        adaptation = Adaptation(
            id=grant.id,
            kind=grant.kind,
            cause=cause.cause if cause is not None else f"asked for by {grant.asker}",
            at=0.0,
            rules=tuple(dict.fromkeys(intent.rule for intent in act.decision)),
            leader=self._known.id,
            view=act.view,
            intents=act.decision,
            timeout_ms=cause.timeout_ms if cause is not None else 0.0,
            vote_ms=cause.vote_ms if cause is not None else 0.0,
            election_ms=election.election_ms,
            adaptation_ms=spent_ms,
            outcome="failed" if reasons else "done" if act.decision else "nothing",
            reason=reason,
        )
        said = f"{adaptation.outcome} {adaptation.cause}: {act.decision} {reason}"
        self._known.note(f"{grant.id}: {said}")
        await self._written(Release(grant.id, adaptation), f"the end of {grant.id}")

    async def give_back(self, grant: Grant) -> None:
        """Gives the grant back without a record: there was nothing to do."""
        await self._written(Release(grant.id), f"the end of {grant.id}")

    # Brokers

    async def broker(self, id: str, later: float = 0.0) -> None:
        """The record of a broker that runs here; not if it has another owner by then, whose record would be
        lost."""
        here = self._known.here[id]
        record = record_of(id, here, self._known)
        if later:
            await sleep(later)

        def ours() -> bool:
            now = self._known.here.get(id)
            return now is not None and now.owner.life == record.life

        await self._written(WriteBroker(record), f"the record of {id}", ours)

    async def left(self, id: str) -> None:
        """Records that the broker has left the overlay; where it was and its notes stay."""
        record = BrokerRecord(id=id, state="left", heir=self._known.id)
        await self._written(MarkLeft(record), f"the record of {id}")

    async def _written(
        self, request: Request[None], what: str, wanted: Callable[[], bool] = lambda: True
    ) -> None:
        """Tries again for a while, or until the write is not `wanted` any more."""
        reason = ""
        for _ in range(ATTEMPTS):
            if not wanted():
                return
            try:
                return await request
            except RegraftError as fault:
                reason = str(fault)
            await sleep(PAUSE)
        self._known.note(f"{what} was not written: {reason}", warning=True)


def record_of(id: str, here: LocalBroker, known: Knowledge) -> BrokerRecord:
    """`heir`: where a deputy runs, and the clients find it."""
    owner = here.owner
    return BrokerRecord(
        id=id,
        host=owner.host,
        port=owner.port,
        region=known.settings.region,
        life=owner.life,
        state="down" if owner.by else "up",
        heir=owner.by,
    )
